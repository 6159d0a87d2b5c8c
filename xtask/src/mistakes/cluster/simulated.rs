//! The faults that simulations of a cluster look for.

use super::super::replay::edit;
use super::table::{By, Fault, JOURNAL, OUTBOX};

const DEDUP: &str = "crates/replay/src/journal/dedup.rs";
const PUSH: &str = "actor/src/push.rs";

/// The faults that simulations look for. `docs/gaps.md` says which of them were run.
pub(super) const SIMULATED: &[Fault] = &[
    Fault {
        name: "simulated: games are acknowledged without a sync",
        edits: &[edit(
            JOURNAL,
            "self.tail.sync().map_err(|error| self.fatal(self.tail_segment().name(), \"sync\", &error))?;",
            "",
        )],
        by: By::Simulation(50),
    },
    Fault {
        name: "simulated: a game that arrives again is written again",
        edits: &[edit(
            DEDUP,
            "next if sequence < next => Verdict::Duplicate,",
            "next if sequence < next => Verdict::New,",
        )],
        by: By::Simulation(500),
    },
    Fault {
        name: "simulated: an actor's epoch is ignored",
        edits: &[edit(
            "learner/src/journal_writer.rs",
            "let (epoch, is_new) = match self.journal.greet(&actor, claim)? {",
            "let (epoch, is_new) = match self.journal.greet(&actor, None)? {",
        )],
        by: By::Simulation(20),
    },
    Fault {
        name: "simulated: an actor loses its outbox with the connection",
        edits: &[edit(
            OUTBOX,
            "let decided = self.take_through(watermark);",
            "let decided = self.take_through(u64::MAX - 1);",
        )],
        by: By::Simulation(20),
    },
    Fault {
        name: "simulated: an actor does not notice that its learner is gone",
        edits: &[edit(PUSH, ".http2_keep_alive_interval(KEEPALIVE)", "")],
        by: By::Simulation(50),
    },
    Fault {
        name: "simulated: the arena acknowledges without a sync",
        edits: &[edit(
            "arena/src/store/line_file.rs",
            "write_all(&mut self.file, offset, bytes)?;\n        self.file.sync()",
            "write_all(&mut self.file, offset, bytes)",
        )],
        by: By::Simulation(50),
    },
];
