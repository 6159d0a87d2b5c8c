//! One recorded game, checked turn by turn.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Fault;
use super::difference::{Difference, compare};
use super::engine::{Engine, engines};
use super::placement::check_placement;
use super::spawn::check_spawn;
use super::trace::{EndLine, GameLine, Mode, TurnLine};
use crate::battlesnake::config::Config;
use crate::battlesnake::position::{Position, Snake};
use crate::grid::DIRECTIONS;

/// A game whose check is in progress.
pub(super) struct Recording {
    game: GameLine,
    config: Config,
    ids: Vec<String>,
    turns: usize,
    /// The state before the next turn, and whether the last one ended the game.
    next: Option<(Position, bool)>,
    /// Engines that play from the first turn to the last.
    carried: Vec<Box<dyn Engine>>,
}

impl Recording {
    pub(super) fn new(game: GameLine) -> Result<Self, Fault> {
        let (config, ids) = (game.config()?, game.ids());
        if let Some(twin) = (1..ids.len()).find(|&index| ids[..index].contains(&ids[index])) {
            let problem = format!("setup.snakes[{twin}].id is {:?}, as is another", ids[twin]);
            return Err(problem.into());
        }
        Ok(Self { game, config, ids, turns: 0, next: None, carried: Vec::new() })
    }

    /// Name of the game.
    pub(super) fn name(&self) -> &str {
        &self.game.game
    }

    /// Checks a turn; returns whether a set-up was checked with it.
    pub(super) fn turn(&mut self, line: &TurnLine) -> Result<bool, Fault> {
        let before = self.game.position(&line.before, line.turn)?;
        let after = self.game.position(&line.after, line.turn.saturating_add(1))?;
        let side = self.game.closing_side(line.turn)?;
        let moves = self.moves(line, &before)?;
        // Taken out, since `self` is borrowed by `context`. After an error the check ends, so
        // they need not be put back.
        let mut carried = std::mem::take(&mut self.carried);
        let context = TurnContext {
            game: self.name(),
            turn: line.turn,
            moves: line.moves.iter().map(|(id, step)| format!("{id} {step:?}")).collect(),
            before: &before,
            after: &after,
        };
        let config = Config { start: Some(before.clone()), ..self.config.clone() };
        let open = || engines(&config).map_err(|error| Fault::Damage(error.to_string()));
        let mut fresh = open()?;
        let mut placed = false;
        match &self.next {
            None => {
                carried = open()?;
                placed = self.check_setup(&context)?;
            }
            Some((_, true)) => return Err("a turn follows the end of the game".into()),
            Some((expected, false)) => {
                context.same("the recorded state before the moves", expected, &before)?;
            }
        }
        for engine in carried.iter_mut().chain(&mut fresh) {
            let name = engine.name();
            context.same(
                &format!("the state before the moves, {name}"),
                &before,
                &engine.position(),
            )?;
            engine.play(&moves, side).map_err(|error| {
                context.differs(&format!("the turn, {name}"), vec![error], Some(engine.position()))
            })?;
            context.same(
                &format!("the state after the moves, {name}"),
                &after,
                &engine.position(),
            )?;
            context.ends(name, line.over, engine.is_over())?;
        }
        check_spawn(&self.config, &after, &line.spawned)
            .map_err(|error| context.differs("the recorded new food", vec![error], None))?;
        for engine in carried.iter_mut().chain(&mut fresh) {
            let name = engine.name();
            engine.spawn(&line.spawned).map_err(|error| {
                context.differs(&format!("new food, {name}"), vec![error], None)
            })?;
        }
        self.carried = carried;
        self.turns += 1;
        let mut next = after;
        next.food.extend(&line.spawned);
        self.next = Some((next, line.over));
        Ok(placed)
    }

    /// Checks the last line of a game; returns whether a set-up was checked with it.
    pub(super) fn end(&self, line: &EndLine) -> Result<bool, Fault> {
        if line.game != self.name() {
            return Err(format!("game is {:?}; {:?} has started", line.game, self.name()).into());
        }
        if line.turns != self.turns {
            return Err(format!("turns is {}; {} were read", line.turns, self.turns).into());
        }
        let (last, placed) = match &self.next {
            Some((last, over)) if line.over == *over => (Cow::Borrowed(last), false),
            Some((_, over)) => {
                return Err(format!("over is {}; the last turn says {over}", line.over).into());
            }
            None => self.unplayed(line)?,
        };
        let living = |(id, snake): (_, &Snake)| snake.death.is_none().then_some(id);
        let alive: BTreeSet<&String> =
            self.ids.iter().zip(&last.snakes).filter_map(living).collect();
        if line.alive.iter().collect::<BTreeSet<_>>() != alive {
            return Err(format!("alive is {:?}; {alive:?} are", line.alive).into());
        }
        Ok(placed)
    }

    /// Checks a game that was over before its first turn. Returns its only state and whether a
    /// set-up was checked.
    fn unplayed(&self, line: &EndLine) -> Result<(Cow<'_, Position>, bool), Fault> {
        let first = self.first()?;
        let context = TurnContext {
            game: self.name(),
            turn: first.turn,
            moves: Vec::new(),
            before: &first,
            after: &first,
        };
        let config = Config { start: Some(first.clone()), ..self.config.clone() };
        let opened = engines(&config).map_err(|error| Fault::Damage(error.to_string()))?;
        let placed = self.check_setup(&context)?;
        for engine in &opened {
            let name = engine.name();
            context.same(&format!("the first state, {name}"), &first, &engine.position())?;
            context.ends(name, line.over, engine.is_over())?;
        }
        if line.over {
            Ok((Cow::Owned(first), placed))
        } else {
            Err("the game has no turns, and it is not over".into())
        }
    }

    /// The first state: the set-up after the ruleset's first pass, which removes food from
    /// constrictor games.
    fn first(&self) -> Result<Position, Fault> {
        let mut first = self.game.setup()?;
        if self.config.ruleset.is_constrictor() {
            first.food.clear();
        }
        Ok(first)
    }

    /// Checks the set-up of a game that was recorded from its start, and the first state.
    fn check_setup(&self, context: &TurnContext<'_>) -> Result<bool, Fault> {
        if self.game.mode == Mode::Scenario {
            return Ok(false);
        }
        let setup = self.game.setup()?;
        check_placement(self.config.map, &setup)
            .map_err(|error| context.differs("the set-up", vec![error], Some(setup.clone())))?;
        context.same("the first state", &self.first()?, context.before)?;
        Ok(true)
    }

    /// Direction of every snake by seat; `None` for a dead snake or an unknown move.
    fn moves(&self, line: &TurnLine, before: &Position) -> Result<Vec<Option<u8>>, Fault> {
        let mut moves = vec![None; self.ids.len()];
        let mut answered = vec![false; self.ids.len()];
        for (id, step) in &line.moves {
            let seat = self.ids.iter().position(|known| known == id);
            let seat = seat.ok_or_else(|| format!("moves names {id:?}, which is not a snake"))?;
            if std::mem::replace(&mut answered[seat], true) || before.snakes[seat].death.is_some() {
                return Err(format!("moves names {id:?} twice, or after its death").into());
            }
            moves[seat] = (0..4).find(|&action| DIRECTIONS[usize::from(action)] == step);
        }
        let missing = |&seat: &usize| !answered[seat] && before.snakes[seat].death.is_none();
        match (0..answered.len()).find(missing) {
            Some(seat) => Err(format!("moves lacks {:?}, which is alive", self.ids[seat]).into()),
            None => Ok(moves),
        }
    }
}

/// The turn that a difference is reported with.
struct TurnContext<'a> {
    game: &'a str,
    turn: u32,
    moves: Vec<String>,
    before: &'a Position,
    after: &'a Position,
}

impl TurnContext<'_> {
    /// Builds a difference; `got` is drawn beside the recorded state after the moves.
    fn differs(&self, check: &str, fields: Vec<String>, got: Option<Position>) -> Fault {
        Fault::Differs(Box::new(Difference {
            file: String::new(),
            line: 0,
            game: self.game.to_owned(),
            turn: self.turn,
            check: check.to_owned(),
            fields,
            moves: self.moves.clone(),
            before: Some(self.before.clone()),
            expected: Some(self.after.clone()),
            got,
        }))
    }

    /// Checks that two positions are equal.
    fn same(&self, check: &str, expected: &Position, got: &Position) -> Result<(), Fault> {
        if expected == got {
            return Ok(());
        }
        let mut fault = self.differs(check, compare(expected, got), Some(got.clone()));
        if let Fault::Differs(difference) = &mut fault {
            difference.expected = Some(expected.clone());
        }
        Err(fault)
    }

    /// Checks that the engine called `name` and the recording agree on the end of the game.
    fn ends(&self, name: &str, expected: bool, got: bool) -> Result<(), Fault> {
        if expected == got {
            return Ok(());
        }
        let field = format!("over: expected {expected}, got {got}");
        Err(self.differs(&format!("the end of the game, {name}"), vec![field], None))
    }
}
