//! The mistakes that people make with the rules of Battlesnake, as edits of our engine.

/// One mistake.
pub(super) struct Mistake {
    /// What is wrong.
    pub(super) name: &'static str,
    /// The edits that plant it.
    pub(super) edits: &'static [Edit],
}

/// A piece of the engine and what to put in its place.
pub(super) struct Edit {
    /// Path from the root.
    pub(super) file: &'static str,
    /// Text that occurs once.
    pub(super) old: &'static str,
    /// What replaces it.
    pub(super) new: &'static str,
}

const STEP: &str = "crates/game/src/battlesnake/step.rs";
const MOVES: &str = "crates/game/src/battlesnake/moves.rs";
const RULES: &str = "crates/game/src/battlesnake/rules.rs";

const fn edit(file: &'static str, old: &'static str, new: &'static str) -> Edit {
    Edit { file, old, new }
}

/// Every mistake that the recordings are known to catch.
pub(super) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "equal-length heads survive",
        edits: &[edit(
            STEP,
            "(state.lengths[snake] <= state.lengths[rival])",
            "(state.lengths[snake] < state.lengths[rival])",
        )],
    },
    Mistake {
        name: "collisions are judged one after another",
        edits: &[
            edit(STEP, "            collisions[snake] = self.collision(state, heads, snake);\n", ""),
            edit(
                STEP,
                "if let Some((cause, by)) = collisions[snake] {",
                "collisions[snake] = self.collision(state, heads, snake);
                 if let Some((cause, by)) = collisions[snake] {",
            ),
        ],
    },
    Mistake {
        name: "the first head is to blame instead of the longest",
        edits: &[edit(
            STEP,
            "if state.lengths[other] > state.lengths[best] { other } else { best }",
            "if other < best { other } else { best }",
        )],
    },
    Mistake {
        name: "a hazard hurts a snake that eats in it",
        edits: &[edit(
            STEP,
            "            eaten.insert(cell);\n            return None;",
            "            eaten.insert(cell);
                         if self.hazards_on(state, cell) == 0 { return None; }",
        )],
    },
    Mistake {
        name: "stacked hazards hit once",
        edits: &[edit(STEP, "let damage = stack *", "let damage = stack.min(1) *")],
    },
    Mistake {
        name: "the wall is judged before starvation",
        edits: &[edit(
            STEP,
            "Some(if *health == 0 { Cause::OutOfHealth } else { Cause::WallCollision })",
            "Some(Cause::WallCollision)",
        )],
    },
    Mistake {
        name: "starved and walled snakes still block",
        edits: &[
            edit(
                STEP,
                "        for snake in members(dead) {
            self.remove_body(state, snake, moves[snake], observer);
        }
        let mut claimed = Bits::EMPTY;
        let mut clash = false;
        for snake in state.living() {
            let head",
                "        let mut claimed = Bits::EMPTY;
        let mut clash = false;
        let gone = dead;
        for snake in state.living().filter(|&snake| gone >> snake & 1 == 0) {
            if let Some((cause, by)) = self.collision(state, &heads, snake) {
                state.deaths[snake] = Some(Death { cause, by: Some(by as u8), on });
                dead |= 1 << snake;
            }
        }
        for snake in members(dead) {
            self.remove_body(state, snake, moves[snake], observer);
        }
        for snake in state.living() {
            let head",
            ),
            edit(STEP, "        if clash {\n", "        if clash && dead == 0 {\n"),
        ],
    },
    Mistake {
        name: "heads are judged before bodies",
        edits: &[
            edit(
                STEP,
                "        if hits_body(snake) {\n",
                "        let lost = state.living().any(|other| {
            other != snake && meets(other) && state.lengths[snake] <= state.lengths[other]
        });
        if hits_body(snake) && !lost {\n",
            ),
            edit(
                STEP,
                "others().filter(|&other| hits_body(other))",
                "others().filter(|&other| !lost && hits_body(other))",
            ),
        ],
    },
    Mistake {
        name: "only one of two heads on a food eats",
        edits: &[edit(
            STEP,
            "if state.food.contains(cell) {",
            "if state.food.contains(cell) && !eaten.contains(cell) {",
        )],
    },
    Mistake {
        name: "growth comes one turn late",
        edits: &[
            edit(
                STEP,
                "            state.lengths[snake] = state.lengths[snake].saturating_add(foods);
            state.stacks[snake] = state.stacks[snake].saturating_add(foods);\n",
                "            let _ = foods;\n",
            ),
            edit(
                STEP,
                "        if state.stacks[snake] > 0 {\n",
                "        if state.health[snake] == 100 && state.turn > 0 {
                     state.lengths[snake] += 1;
                 } else if state.stacks[snake] > 0 {\n",
            ),
        ],
    },
    Mistake {
        name: "stacked food feeds once",
        edits: &[edit(STEP, "state.food_on(cell);", "state.food_on(cell).min(1);")],
    },
    Mistake {
        name: "snakes starve before they eat",
        edits: &[edit(
            STEP,
            "if state.food.contains(cell) {",
            "if *health > 0 && state.food.contains(cell) {",
        )],
    },
    Mistake {
        name: "health falls below 0",
        edits: &[
            edit(STEP, " - damage).clamp(0, 100);", " - damage).min(100);"),
            edit(STEP, "if left == 0 {", "if left <= 0 {"),
        ],
    },
    Mistake {
        name: "dead constrictors stay as they are",
        edits: &[
            edit(STEP, "            observer.snakes_grew();\n", "            let _ = observer;\n"),
            edit(
                STEP,
                "state.health[..self.config.snakes.into()].fill(100);",
                "for snake in state.living() { state.health[snake] = 100; }",
            ),
        ],
    },
    Mistake {
        name: "an invalid move means up",
        edits: &[edit(
            MOVES,
            "neck.map_or(0, |neck| state.direction(neck) as u8)",
            "neck.map_or(0, |_| 0)",
        )],
    },
    Mistake {
        name: "a royale board closes in one turn early",
        edits: &[edit(
            STEP,
            "on.is_multiple_of(self.config.shrink_every_n_turns)",
            "(on + 1).is_multiple_of(self.config.shrink_every_n_turns)",
        )],
    },
    Mistake {
        name: "the default move turns back across a wrapped edge",
        edits: &[edit(
            MOVES,
            "neck.map_or(0, |neck| state.direction(neck) as u8)",
            "neck.map_or(0, |neck| {
                let (from, to) = (self.geometry.point(neck), self.geometry.point(state.head(snake)));
                match (to.x - from.x, to.y - from.y) {
                    (1.., _) => 3,
                    (..0, _) => 2,
                    (_, ..0) => 1,
                    _ => 0,
                }
            })",
        )],
    },
    Mistake {
        name: "a snake's own tail is always deadly",
        edits: &[
            edit(
                STEP,
                "            self.move_body(state, snake, old, direction);\n",
                "            let tail: usize = state.tails[snake].into();
            self.move_body(state, snake, old, direction);\n",
            ),
            edit(
                STEP,
                "                dead |= 1 << snake;\n            }\n",
                "                dead |= 1 << snake;
            } else if usize::from(head) == tail {
                let (cause, by) = (Cause::SnakeSelfCollision, Some(snake as u8));
                state.deaths[snake] = Some(Death { cause, by, on });
                dead |= 1 << snake;
            }\n",
            ),
        ],
    },
    Mistake {
        name: "deaths are dated one turn early",
        edits: &[
            edit(STEP, "Death { cause, by: None, on }", "Death { cause, by: None, on: on - 1 }"),
            edit(STEP, "by: Some(by as u8), on }", "by: Some(by as u8), on: on - 1 }"),
        ],
    },
    Mistake {
        name: "a game with one survivor goes on",
        edits: &[edit(
            RULES,
            "if self.solo { state.alive == 0 } else { state.alive & state.alive.wrapping_sub(1) == 0 }",
            "state.alive == 0",
        )],
    },
];
