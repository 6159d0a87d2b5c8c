//! A slow reference implementation of Battlesnake: lists of cells, one stage after another, dead
//! snakes kept in the list. The engine must agree with it in every cell.

use ouro_game::battlesnake::{Cause, Config, Death, Map, Point, Position, Ruleset, Snake};

/// A game in progress.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) config: Config,
    pub(crate) position: Position,
}

impl Reference {
    fn wrapped(&self) -> bool {
        matches!(self.config.ruleset, Ruleset::Wrapped | Ruleset::WrappedConstrictor)
    }

    fn constrictor(&self) -> bool {
        matches!(self.config.ruleset, Ruleset::Constrictor | Ruleset::WrappedConstrictor)
    }

    fn royale(&self) -> bool {
        self.config.ruleset == Ruleset::Royale || self.config.map == Map::Royale
    }

    pub(crate) fn living(&self) -> Vec<usize> {
        (0..self.position.snakes.len())
            .filter(|&snake| self.position.snakes[snake].death.is_none())
            .collect()
    }

    pub(crate) fn is_over(&self) -> bool {
        let solo = self.config.solo || self.config.ruleset == Ruleset::Solo;
        self.living().len() <= usize::from(!solo)
    }

    /// Whether a side shrinks in the next turn.
    pub(crate) fn shrinks_next(&self) -> bool {
        self.royale() && (self.position.turn + 1).is_multiple_of(self.config.shrink_every_n_turns)
    }

    /// The pipeline up to new food. `side` is the side that shrinks, if any.
    pub(crate) fn step(&mut self, moves: &[u8], side: Option<usize>) {
        self.move_snakes(moves);
        for snake in self.living() {
            self.position.snakes[snake].health -= 1;
        }
        self.damage();
        self.feed();
        self.eliminate();
        if self.royale() {
            self.close_in(side);
        }
        if self.constrictor() {
            self.grow();
        }
        self.position.turn += 1;
    }

    fn move_snakes(&mut self, moves: &[u8]) {
        let (width, height) = (i32::from(self.position.width), i32::from(self.position.height));
        for snake in self.living() {
            let wrapped = self.wrapped();
            let body = &mut self.position.snakes[snake].body;
            let (dx, dy) = [(0, 1), (0, -1), (-1, 0), (1, 0)][usize::from(moves[snake])];
            let mut head = Point { x: body[0].x + dx, y: body[0].y + dy };
            if wrapped {
                head = Point { x: (head.x + width) % width, y: (head.y + height) % height };
            }
            body.insert(0, head);
            body.pop();
        }
    }

    fn damage(&mut self) {
        for snake in self.living() {
            let head = self.position.snakes[snake].body[0];
            if self.position.food.contains(&head) {
                continue;
            }
            let stack = self.position.hazards.iter().filter(|&&hazard| hazard == head).count();
            for _ in 0..if self.on_board(head) { stack } else { 0 } {
                let damage = i32::from(self.config.hazard_damage_per_turn);
                let health = &mut self.position.snakes[snake].health;
                *health = (*health - damage).clamp(0, 100);
                if *health == 0 {
                    self.die(snake, Cause::Hazard, None);
                    break;
                }
            }
        }
    }

    fn feed(&mut self) {
        let mut left = Vec::new();
        for food in self.position.food.clone() {
            let mut eaten = false;
            for snake in self.living() {
                let snake = &mut self.position.snakes[snake];
                if snake.body[0] == food {
                    eaten = true;
                    snake.health = 100;
                    let last = snake.body[snake.body.len() - 1];
                    snake.body.push(last);
                }
            }
            if !eaten {
                left.push(food);
            }
        }
        self.position.food = left;
    }

    fn eliminate(&mut self) {
        for snake in self.living() {
            if self.position.snakes[snake].health <= 0 {
                self.die(snake, Cause::OutOfHealth, None);
            } else if self.position.snakes[snake].body.iter().any(|&cell| !self.on_board(cell)) {
                self.die(snake, Cause::WallCollision, None);
            }
        }
        let verdicts: Vec<_> =
            self.living().into_iter().map(|snake| (snake, self.collision(snake))).collect();
        for (snake, verdict) in verdicts {
            if let Some((cause, by)) = verdict {
                self.die(snake, cause, Some(by as u8));
            }
        }
    }

    fn collision(&self, snake: usize) -> Option<(Cause, usize)> {
        let body = |snake: usize| &self.position.snakes[snake].body;
        let head = body(snake)[0];
        if body(snake)[1..].contains(&head) {
            return Some((Cause::SnakeSelfCollision, snake));
        }
        let mut others = self.living();
        others.retain(|&other| other != snake);
        others.sort_by_key(|&other| std::cmp::Reverse(body(other).len()));
        if let Some(&other) = others.iter().find(|&&other| body(other)[1..].contains(&head)) {
            return Some((Cause::SnakeCollision, other));
        }
        others
            .into_iter()
            .find(|&other| body(other)[0] == head && body(snake).len() <= body(other).len())
            .map(|other| (Cause::HeadCollision, other))
    }

    fn close_in(&mut self, side: Option<usize>) {
        let position = &mut self.position;
        if position.turn + 1 < self.config.shrink_every_n_turns {
            position.shrunk = [0; 4];
        }
        if let Some(side) = side {
            position.shrunk[side] += 1;
        }
        let [left, right, bottom, top] = position.shrunk.map(i32::from);
        let columns = left..i32::from(position.width) - right;
        let rows = bottom..i32::from(position.height) - top;
        position.hazards.clear();
        for x in 0..i32::from(position.width) {
            for y in 0..i32::from(position.height) {
                if !(columns.contains(&x) && rows.contains(&y)) {
                    position.hazards.push(Point { x, y });
                }
            }
        }
    }

    fn grow(&mut self) {
        self.position.food.clear();
        for Snake { health, body, .. } in &mut self.position.snakes {
            *health = 100;
            let count = body.len();
            if count > 1 && body[count - 1] != body[count - 2] {
                body.push(body[count - 1]);
            }
        }
    }

    fn die(&mut self, snake: usize, cause: Cause, by: Option<u8>) {
        let on = self.position.turn + 1;
        self.position.snakes[snake].death = Some(Death { cause, by, on });
    }

    pub(crate) fn on_board(&self, cell: Point) -> bool {
        (0..i32::from(self.position.width)).contains(&cell.x)
            && (0..i32::from(self.position.height)).contains(&cell.y)
    }

    /// Cells that may get food, by row and column.
    pub(crate) fn legal_food(&self) -> Vec<Point> {
        let living = self.living();
        let free = |cell: &Point| {
            !self.position.food.contains(cell)
                && living.iter().all(|&snake| {
                    let body = &self.position.snakes[snake].body;
                    let distance = body[0].x.abs_diff(cell.x) + body[0].y.abs_diff(cell.y);
                    distance > 1 && !body.contains(cell)
                })
        };
        let (width, height) = (i32::from(self.position.width), i32::from(self.position.height));
        let cells = (0..height).flat_map(|y| (0..width).map(move |x| Point { x, y }));
        cells.filter(free).collect()
    }

    /// Fewest and most foods that may appear now.
    pub(crate) fn food_range(&self) -> (usize, usize) {
        let missing =
            usize::from(self.config.minimum_food).saturating_sub(self.position.food.len());
        let free = self.legal_food().len();
        match self.config.map {
            Map::Empty => (0, 0),
            _ if missing > 0 => (missing.min(free), missing.min(free)),
            _ if self.config.food_spawn_chance > 1 => (0, free.min(1)),
            _ => (0, 0),
        }
    }
}
