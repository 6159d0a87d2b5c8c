//! The faults that are planted in the processes of a cluster.

use std::fmt;

use super::super::replay::edit;
use super::super::table::Edit;

/// A planted fault.
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) edits: &'static [Edit],
    pub(super) by: By,
}

/// What catches a fault.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// One of the unit tests whose names contain a text fails.
    Tests(&'static str),
    /// One of the unit tests whose names contain a text does not end: it waits for what the fault
    /// prevents.
    Hang(&'static str),
    /// One of this many simulations.
    Simulation(u32),
    /// A cluster in which this program has the fault, with these options of `cargo xtask chaos`.
    Chaos(&'static str, &'static [&'static str]),
}

impl By {
    /// Whether two checks run the same without a fault.
    pub(super) fn is_same_run(self, other: Self) -> bool {
        match (self, other) {
            (Self::Tests(own) | Self::Hang(own), Self::Tests(other) | Self::Hang(other)) => {
                own == other
            }
            (Self::Simulation(own), Self::Simulation(other)) => own == other,
            (Self::Chaos(_, own), Self::Chaos(_, other)) => own == other,
            _ => false,
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tests(filter) | Self::Hang(filter) => write!(f, "tests {filter}"),
            Self::Simulation(seeds) => write!(f, "{seeds} simulations"),
            Self::Chaos(_, options) => write!(f, "chaos {}", options.join(" ")),
        }
    }
}

const STORE: &str = "arena/src/store/redis.rs";
const LOGGED: &str = "arena/src/store/logged.rs";
const RUNNER: &str = "arena/src/match_runner.rs";
const STATES: &str = "learner/src/training_state.rs";
const FILES: &str = "learner/src/training_state/files.rs";
pub(super) const JOURNAL: &str = "crates/replay/src/journal.rs";
pub(super) const OUTBOX: &str = "actor/src/outbox.rs";
const PUSH: &str = "actor/src/push.rs";

/// One round of all kinds of faults.
const ROUND: &[&str] = &["--seed", "3", "--faults", "16", "--no-truncation"];

/// A rival of the arena, and a store that is away for longer than the arena repeats a command.
const ARENA: &[&str] = &["--seed", "50", "--faults", "3", "--no-truncation"];

/// Every fault that is known to be caught.
pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "two arenas write to one store",
        edits: &[
            edit(
                STORE,
                "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'fenced' end\n    local length",
                "local length",
            ),
            edit(STORE, "if length == expected then\n", "if length >= expected then\n"),
        ],
        by: By::Chaos("ouro-arena", ARENA),
    },
    Fault {
        name: "an append of a replaced arena is accepted",
        edits: &[edit(
            STORE,
            "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'fenced' end\n    local length",
            "local length",
        )],
        by: By::Tests("store::redis"),
    },
    Fault {
        name: "an append whose answer is lost is written again",
        edits: &[edit(STORE, "if length == expected then\n", "if length >= expected then\n")],
        by: By::Tests("store::redis"),
    },
    Fault {
        name: "an arena does not take a higher epoch",
        edits: &[edit(STORE, "math.max(last + 1, now)", "last")],
        by: By::Tests("store::redis"),
    },
    Fault {
        name: "an epoch that the server lost is given again",
        edits: &[edit(STORE, "math.max(last + 1, now)", "last + 1")],
        by: By::Tests("store::redis"),
    },
    Fault {
        name: "entries that are lost during a start are not missed",
        edits: &[edit(
            STORE,
            "log.check_known_file()?;\n        // Noted only now",
            "// Noted only now",
        )],
        by: By::Tests("store::redis"),
    },
    Fault {
        name: "a store that lost entries is accepted",
        edits: &[edit(
            STORE,
            "Some(found) if found == known => Ok(()),",
            "_ if path.len() < 9_999 => Ok(()),",
        )],
        by: By::Tests("store::redis"),
    },
    Fault {
        name: "a store that lost entries is accepted, in a cluster",
        edits: &[edit(
            STORE,
            "Some(found) if found == known => Ok(()),",
            "_ if path.len() < 9_999 => Ok(()),",
        )],
        by: By::Chaos("ouro-arena", &["--seed", "3", "--faults", "1"]),
    },
    Fault {
        name: "a server that loads a truncated log is accepted",
        edits: &[edit(
            "arena/src/store/redis/server.rs",
            "(\"aof-load-truncated\", \"no\", \"a truncated log is loaded without an error\")",
            "(\"maxmemory-policy\", \"noeviction\", \"a truncated log is loaded without an error\")",
        )],
        by: By::Tests("store::redis"),
    },
    Fault {
        name: "a promotion is not compared with the champion",
        edits: &[edit(
            LOGGED,
            "Some(promotion) if promotion.beat != champion => {",
            "Some(promotion) if promotion.beat != champion && false => {",
        )],
        by: By::Tests("store::"),
    },
    Fault {
        name: "a promotion counts again when it is repeated",
        edits: &[edit(
            LOGGED,
            "if let Some(stored) = tables.decisions.get(&generation) {",
            "if let Some(stored) = tables.decisions.get(&generation).filter(|_| false) {",
        )],
        by: By::Tests("store::"),
    },
    Fault {
        name: "games that were stored count again",
        edits: &[edit(
            LOGGED,
            "!table.clusters.contains(&cluster) && new.insert(cluster)",
            "new.insert(cluster)",
        )],
        by: By::Tests("store::"),
    },
    Fault {
        name: "a recovered store hides what a lost answer stored",
        edits: &[edit(
            LOGGED,
            "parts.backend.recover()?;\n        // What the tables lack would be missing from everything that is computed from them now.\n        parts.settle()",
            "parts.backend.recover()",
        )],
        by: By::Tests("store::redis"),
    },
    Fault {
        name: "an arena ends when its store is away",
        edits: &[edit(
            RUNNER,
            "Err(ArenaError::Store(error)) if error.is_passing() => {",
            "Err(ArenaError::Store(error @ StoreError::Exhausted { .. })) => {",
        )],
        by: By::Hang("match_runner"),
    },
    Fault {
        name: "an arena that was replaced stays",
        edits: &[edit(
            RUNNER,
            "if let Some(error) = self.state.take_end() {",
            "if let Some(error) = self.state.take_end().filter(|_| false) {",
        )],
        by: By::Hang("match_runner"),
    },
    Fault {
        name: "a training state is visible before it is whole",
        edits: &[
            edit(
                STATES,
                "(self.root.join(format!(\"{TEMPORARY}{name}\")), self.root.join(&name));",
                "(self.root.join(&name), self.root.join(&name));",
            ),
            edit(
                STATES,
                "remove_if_there(&path)?;\n        fs::rename(&temporary, &path).map_err(at(&path))?;",
                "",
            ),
            // A slow disk.
            edit(
                STATES,
                "write_synced(&temporary.join(name), bytes)?;",
                "write_synced(&temporary.join(name), bytes)?;\n            \
                 std::thread::sleep(std::time::Duration::from_millis(100));",
            ),
        ],
        by: By::Chaos("ouro-learner", ROUND),
    },
    Fault {
        name: "a damaged training state is loaded",
        edits: &[edit(
            FILES,
            "if manifest.files.get(name) != Some(&entry) {",
            "if manifest.files.get(name) != Some(&entry) && false {",
        )],
        by: By::Tests("training_state"),
    },
    Fault {
        name: "games are acknowledged before they are written",
        edits: &[edit(JOURNAL, "self.durable.watermark(actor)", "self.staged.watermark(actor)")],
        by: By::Tests("journal::tests"),
    },
    Fault {
        name: "an acknowledgement names games beyond those that were written",
        edits: &[edit(
            "learner/src/service/stream.rs",
            "let ack = wire::Ack { watermark, refusals,",
            "let watermark = self.received.max(watermark);\n        let ack = wire::Ack { watermark, refusals,",
        )],
        by: By::Chaos("ouro-learner", ROUND),
    },
    Fault {
        name: "an actor's epoch is ignored",
        edits: &[edit(
            "learner/src/journal_writer.rs",
            "let (epoch, is_new) = match self.journal.greet(&actor, claim)? {",
            "let (epoch, is_new) = match self.journal.greet(&actor, None)? {",
        )],
        by: By::Tests("journal_writer"),
    },
    Fault {
        name: "an actor loses its outbox with the connection",
        edits: &[edit(
            OUTBOX,
            "let decided = self.take_through(watermark);",
            "let decided = self.take_through(u64::MAX - 1);",
        )],
        by: By::Tests("outbox"),
    },
    Fault {
        name: "an actor takes a new epoch for games that it sent before",
        edits: &[edit(
            PUSH,
            "epoch: self.progress.epoch,\n            answered",
            "epoch: None,\n            answered",
        )],
        by: By::Tests("push"),
    },
    Fault {
        name: "a failed sync is ignored",
        edits: &[edit(
            "learner/src/journal_writer.rs",
            "Err(error) => return Err(error.into()),\n        }\n        if self.group.is_paused() {",
            "Err(_) => {}\n        }\n        if self.group.is_paused() {",
        )],
        by: By::Hang("journal_writer"),
    },
];
