//! Forgeries of a game of tic-tac-toe, with the refusal of each.

use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::RefusalReason as Reason;

/// A change to an honest game, with the expected refusal.
pub(crate) struct Forgery {
    pub(crate) name: &'static str,
    pub(crate) forge: fn(&mut wire::Trajectory),
    pub(crate) reason: Reason,
    /// The expected detail, or its start if it ends with a space. Fingerprints follow a start.
    pub(crate) says: &'static str,
}

pub(crate) const fn forgery(
    name: &'static str,
    forge: fn(&mut wire::Trajectory),
    reason: Reason,
    says: &'static str,
) -> Forgery {
    Forgery { name, forge, reason, says }
}

pub(crate) fn search(game: &mut wire::Trajectory) -> &mut wire::SearchResults {
    game.search.as_mut().expect("the game was searched")
}

/// Replaces the plies by one ply per action, without search targets.
fn replay(game: &mut wire::Trajectory, actions: &[u32]) {
    let plies = actions.len();
    game.actions = actions.to_vec();
    (game.ply_lengths, game.behaviour) = (vec![1; plies], vec![0.5; plies]);
    game.digests.resize(plies + 1, 0);
    game.search = None;
}

fn seat(generation: Option<u32>, learns: bool) -> wire::Seat {
    wire::Seat { generation, learns }
}

/// Lists that cannot be decoded into a game.
pub(crate) const LENGTHS: &[Forgery] = &[
    forgery(
        "nothing at all",
        |g| *g = wire::Trajectory::default(),
        Reason::Malformed,
        "seats has 0 entries; 1 to 16 are possible",
    ),
    forgery(
        "more plies than are read",
        |g| g.ply_lengths = vec![0; 65_537],
        Reason::Malformed,
        "ply_lengths has 65537 entries; at most 65536 are read",
    ),
    forgery(
        "a ply of nobody",
        |g| g.ply_lengths = vec![2, 0, 1, 1, 1],
        Reason::Malformed,
        "ply 1 has no actions",
    ),
    forgery(
        "lengths that add up to more",
        |g| g.ply_lengths[0] = 2,
        Reason::Malformed,
        "plies hold 6 actions, but actions has 5 entries",
    ),
    forgery(
        "lengths beyond 32 bits",
        |g| g.ply_lengths = vec![u32::MAX; 2],
        Reason::Malformed,
        "plies hold 8589934590 actions, but actions has 5 entries",
    ),
    forgery(
        "no lengths",
        |g| g.ply_lengths.clear(),
        Reason::Malformed,
        "plies hold 0 actions, but actions has 5 entries",
    ),
    forgery(
        "an action missing",
        |g| g.actions.truncate(4),
        Reason::Malformed,
        "plies hold 5 actions, but actions has 4 entries",
    ),
    forgery(
        "an action too many",
        |g| g.actions.push(8),
        Reason::Malformed,
        "plies hold 5 actions, but actions has 6 entries",
    ),
    forgery(
        "a probability missing",
        |g| g.behaviour.truncate(4),
        Reason::Malformed,
        "behaviour has 4 entries for 5 actions",
    ),
    forgery(
        "a probability too many",
        |g| g.behaviour.push(0.5),
        Reason::Malformed,
        "behaviour has 6 entries for 5 actions",
    ),
    forgery(
        "no probabilities",
        |g| g.behaviour.clear(),
        Reason::Malformed,
        "behaviour has 0 entries for 5 actions",
    ),
    forgery(
        "nobody sat",
        |g| g.seats.clear(),
        Reason::Malformed,
        "seats has 0 entries; 1 to 16 are possible",
    ),
    forgery(
        "a crowd sat",
        |g| g.seats = vec![seat(Some(0), true); 17],
        Reason::Malformed,
        "seats has 17 entries; 1 to 16 are possible",
    ),
    forgery(
        "an outcome missing",
        |g| g.outcomes.truncate(1),
        Reason::Malformed,
        "outcomes has 1 entries for 2 seats",
    ),
    forgery(
        "an outcome too many",
        |g| g.outcomes.push(0.0),
        Reason::Malformed,
        "outcomes has 3 entries for 2 seats",
    ),
    forgery(
        "an empty search",
        |g| g.search = Some(wire::SearchResults::default()),
        Reason::Malformed,
        "search.policy_lengths has 0 entries; 5 are due",
    ),
    forgery(
        "a search of too few moves",
        |g| search(g).policy_lengths.truncate(4),
        Reason::Malformed,
        "search.policy_lengths has 4 entries; 5 are due",
    ),
    forgery(
        "a target of billions",
        |g| search(g).policy_lengths[1] = u32::MAX,
        Reason::Malformed,
        "search.policy_actions has 3 entries; 4294967298 are due",
    ),
    forgery(
        "a target action missing",
        |g| search(g).policy_actions.truncate(2),
        Reason::Malformed,
        "search.policy_actions has 2 entries; 3 are due",
    ),
    forgery(
        "a share too many",
        |g| search(g).policy_probabilities.push(0.0),
        Reason::Malformed,
        "search.policy_probabilities has 4 entries; 3 are due",
    ),
    forgery(
        "no root values",
        |g| search(g).values.clear(),
        Reason::Malformed,
        "search.values has 0 entries; 5 are due",
    ),
    forgery(
        "a surprise too many",
        |g| search(g).surprises.push(0.0),
        Reason::Malformed,
        "search.surprises has 6 entries; 5 are due",
    ),
    forgery("a game without moves", |g| replay(g, &[]), Reason::Malformed, "game has no plies"),
    forgery(
        "a game too long",
        |g| replay(g, &[0; 9]),
        Reason::Oversize,
        "game has 9 plies; this run accepts 8",
    ),
];

/// Impossible seats, generations and probabilities.
pub(crate) const SEATS: &[Forgery] = &[
    forgery(
        "one seat of two",
        |g| {
            g.seats.truncate(1);
            g.outcomes.truncate(1);
        },
        Reason::Seats,
        "trajectory has 1 seats or outcomes; the game has 2 players",
    ),
    forgery(
        "a third seat",
        |g| {
            g.seats.push(seat(None, false));
            g.outcomes.push(0.0);
        },
        Reason::Seats,
        "trajectory has 3 seats or outcomes; the game has 2 players",
    ),
    forgery("nobody learns", |g| g.seats[0].learns = false, Reason::Seats, "no seat learns"),
    forgery(
        "weights unnamed",
        |g| g.seats[0].generation = None,
        Reason::Seats,
        "seat 0 learns but names no generation",
    ),
    forgery(
        "weights unnamed at the other seat",
        |g| g.seats[1] = seat(None, true),
        Reason::Seats,
        "seat 1 learns but names no generation",
    ),
    forgery(
        "weights from the future",
        |g| g.seats[0].generation = Some(1),
        Reason::UnknownGeneration,
        "seat 0 played generation 1; the newest published is 0",
    ),
    forgery(
        "an opponent from the far future",
        |g| g.seats[1].generation = Some(u32::MAX),
        Reason::UnknownGeneration,
        "seat 1 played generation 4294967295; the newest published is 0",
    ),
    forgery(
        "a behaviour of 0",
        |g| g.behaviour[2] = 0.0,
        Reason::Behaviour,
        "ply 2 has probability 0.0; it must be 1e-30 to 1",
    ),
    forgery(
        "a behaviour of -0",
        |g| g.behaviour[2] = -0.0,
        Reason::Behaviour,
        "ply 2 has probability -0.0; it must be 1e-30 to 1",
    ),
    forgery(
        "a negative behaviour",
        |g| g.behaviour[0] = -0.5,
        Reason::Behaviour,
        "ply 0 has probability -0.5; it must be 1e-30 to 1",
    ),
    forgery(
        "a behaviour that no generator draws",
        |g| g.behaviour[0] = 1e-40,
        Reason::Behaviour,
        "ply 0 has probability 1e-40; it must be 1e-30 to 1",
    ),
    forgery(
        "a behaviour above 1",
        |g| g.behaviour[4] = 1.5,
        Reason::Behaviour,
        "ply 4 has probability 1.5; it must be 1e-30 to 1",
    ),
    forgery(
        "a behaviour that is no number",
        |g| g.behaviour[2] = f32::NAN,
        Reason::Behaviour,
        "ply 2 has probability NaN; it must be 1e-30 to 1",
    ),
    forgery(
        "an infinite behaviour",
        |g| g.behaviour[2] = f32::INFINITY,
        Reason::Behaviour,
        "ply 2 has probability inf; it must be 1e-30 to 1",
    ),
];

/// Moves, fingerprints and outcomes that contradict the rules.
pub(crate) const RULES: &[Forgery] = &[
    forgery("another first state", |g| g.digests[0] ^= 1, Reason::Replay, "ply -1: state is "),
    forgery(
        "another state on the way",
        |g| g.digests[3] ^= 1 << 63,
        Reason::Replay,
        "ply 2: state is ",
    ),
    forgery("another last state", |g| g.digests[5] = 0, Reason::Replay, "ply 4: state is "),
    forgery(
        "a fingerprint missing",
        |g| g.digests.truncate(5),
        Reason::Replay,
        "record has 5 digests for 5 plies; it needs one more than plies",
    ),
    forgery(
        "a fingerprint too many",
        |g| g.digests.push(0),
        Reason::Replay,
        "record has 7 digests for 5 plies; it needs one more than plies",
    ),
    forgery(
        "no fingerprints",
        |g| g.digests.clear(),
        Reason::Replay,
        "record has 0 digests for 5 plies; it needs one more than plies",
    ),
    forgery(
        "a move on a stone",
        |g| g.actions[2] = 0,
        Reason::Replay,
        "ply 2: action 0 of player 0 is illegal",
    ),
    forgery(
        "a move off the board",
        |g| g.actions[2] = 9,
        Reason::Replay,
        "ply 2: action 9 of player 0 is illegal",
    ),
    forgery(
        "a move far off the board",
        |g| g.actions[2] = u32::MAX,
        Reason::Replay,
        "ply 2: action 4294967295 of player 0 is illegal",
    ),
    forgery("another legal move", |g| g.actions[2] = 5, Reason::Replay, "ply 2: state is "),
    forgery(
        "a move after the end",
        |g| replay(g, &[0, 1, 3, 4, 6, 2]),
        Reason::Replay,
        "ply 5: the game is over",
    ),
    forgery(
        "two moves at once",
        |g| {
            g.ply_lengths = vec![2, 1, 1, 1];
            g.digests.truncate(5);
        },
        Reason::Replay,
        "ply 0 has 2 actions; 1 players are to move",
    ),
    forgery(
        "a loser's draw",
        |g| g.outcomes[1] = 0.0,
        Reason::Outcome,
        "seat 1 claims outcome 0; the rules say -1",
    ),
    forgery(
        "the other one won",
        |g| g.outcomes.swap(0, 1),
        Reason::Outcome,
        "seat 0 claims outcome -1; the rules say 1",
    ),
    forgery(
        "two winners",
        |g| g.outcomes[1] = 1.0,
        Reason::Outcome,
        "seat 1 claims outcome 1; the rules say -1",
    ),
    forgery(
        "an outcome beyond winning",
        |g| g.outcomes[0] = 2.0,
        Reason::Outcome,
        "seat 0 claims outcome 2; the rules say 1",
    ),
    forgery(
        "an outcome that is no number",
        |g| g.outcomes[0] = f32::NAN,
        Reason::Outcome,
        "seat 0 claims outcome NaN; the rules say 1",
    ),
    forgery(
        "an infinite outcome",
        |g| g.outcomes[1] = f32::NEG_INFINITY,
        Reason::Outcome,
        "seat 1 claims outcome -inf; the rules say -1",
    ),
    forgery(
        "a win before the last move",
        |g| replay(g, &[0, 1, 3, 4]),
        Reason::Outcome,
        "seat 0 claims outcome 1; the rules say 0",
    ),
];
