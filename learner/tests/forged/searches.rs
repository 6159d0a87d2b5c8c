//! Forgeries of the search targets of a game of tic-tac-toe, with the refusal of each.

use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::RefusalReason as Reason;

use super::forgeries::{Forgery, forgery, search};

/// Search targets that no search can return.
pub(crate) const SEARCHES: &[Forgery] = &[
    forgery(
        "a value above 1",
        |g| search(g).values[0] = 1.5,
        Reason::Search,
        "search at ply 0 has value 1.5; it must be -1 to 1",
    ),
    forgery(
        "a value that is no number",
        |g| search(g).values[3] = f32::NAN,
        Reason::Search,
        "search at ply 3 has value NaN; it must be -1 to 1",
    ),
    forgery(
        "an infinite value",
        |g| search(g).values[0] = f32::NEG_INFINITY,
        Reason::Search,
        "search at ply 0 has value -inf; it must be -1 to 1",
    ),
    forgery(
        "a negative surprise",
        |g| search(g).surprises[0] = -0.5,
        Reason::Search,
        "search at ply 0 has surprise -0.5; it must be 0 to 104",
    ),
    forgery(
        "a surprise as large as a number gets",
        |g| search(g).surprises[0] = f32::MAX,
        Reason::Search,
        "search at ply 0 has surprise 340282350000000000000000000000000000000; it must be 0 to 104",
    ),
    forgery(
        "an infinite surprise",
        |g| search(g).surprises[4] = f32::INFINITY,
        Reason::Search,
        "search at ply 4 has surprise inf; it must be 0 to 104",
    ),
    forgery(
        "a surprise that is no number",
        |g| search(g).surprises[0] = f32::NAN,
        Reason::Search,
        "search at ply 0 has surprise NaN; it must be 0 to 104",
    ),
    forgery(
        "a target that adds up to less",
        |g| search(g).policy_probabilities[0] = 0.5,
        Reason::Search,
        "search at ply 0 has a policy that adds up to 0.75, not 1",
    ),
    forgery(
        "a target that adds up to more",
        |g| search(g).policy_probabilities[1] = 0.5,
        Reason::Search,
        "search at ply 0 has a policy that adds up to 1.25, not 1",
    ),
    forgery(
        "a share that is no number",
        |g| search(g).policy_probabilities[0] = f32::NAN,
        Reason::Search,
        "search at ply 0 gives action 0 a share of NaN",
    ),
    forgery(
        "a negative share",
        |g| search(g).policy_probabilities[0] = -0.75,
        Reason::Search,
        "search at ply 0 gives action 0 a share of -0.75",
    ),
    forgery(
        "a share of 0",
        |g| search(g).policy_probabilities[1] = 0.0,
        Reason::Search,
        "search at ply 0 gives action 1 a share of 0",
    ),
    forgery(
        "a share of 2",
        |g| search(g).policy_probabilities[2] = 2.0,
        Reason::Search,
        "search at ply 4 gives action 6 a share of 2",
    ),
    forgery(
        "an action named twice",
        |g| search(g).policy_actions[1] = 0,
        Reason::Search,
        "search at ply 0 names action 0 twice",
    ),
    forgery(
        "a target off the board",
        |g| search(g).policy_actions[1] = 9,
        Reason::Search,
        "search at ply 0 gives illegal action 9 a share of 0.25",
    ),
    forgery(
        "a target far off the board",
        |g| search(g).policy_actions[1] = u32::MAX,
        Reason::Search,
        "search at ply 0 gives illegal action 4294967295 a share of 0.25",
    ),
    forgery(
        "a target on a stone",
        |g| search(g).policy_actions[2] = 0,
        Reason::Search,
        "search at ply 4 gives illegal action 0 a share of 1",
    ),
    forgery(
        "no search",
        |g| g.search = None,
        Reason::NothingToLearn,
        "no move of a learning seat can be trained on; AlphaZero needs policy targets",
    ),
    forgery(
        "targets of a seat that does not learn",
        |g| {
            *search(g) = wire::SearchResults {
                policy_lengths: vec![0, 1, 0, 0, 0],
                policy_actions: vec![1],
                policy_probabilities: vec![1.0],
                values: vec![0.0; 5],
                surprises: vec![0.0; 5],
            }
        },
        Reason::NothingToLearn,
        "no move of a learning seat can be trained on; AlphaZero needs policy targets",
    ),
];
