//! Games through the wire and back, messages that do not fold, and their sizes.

use ouro_game::GameConfig;
use prost::Message;

use super::*;

fn hello() -> Hello {
    let config = GameConfig::by_name("tic_tac_toe").expect("it is in the box");
    let (actor, config) = ("a".to_owned(), Arc::new(config));
    Hello { actor, epoch: None, answered: 0, config, version: 1, run: None }
}

fn played(action: u32, behaviour: f32, policy: &[(u32, f32)], value: f32) -> Move {
    let policy = policy.iter().map(|&(action, share)| (Action(action), share)).collect();
    let search = Some(SearchTarget { policy, value, surprise: 0.5 });
    Move { action: Action(action), behaviour, search }
}

fn trajectory() -> Trajectory {
    let seat = |generation, learns, outcome| Seat { generation, learns, outcome };
    Trajectory {
        record: RecordHeader {
            version: 1,
            config: hello().config,
            seed: 3,
            digests: vec![1, 2, 3],
        },
        seats: vec![seat(Some(Generation(0)), true, 1.0), seat(None, false, -1.0)],
        plies: vec![
            Ply { moves: vec![played(4, 0.25, &[(4, 0.75), (0, 0.25)], 0.5)] },
            Ply { moves: vec![played(0, 0.5, &[], -0.5), played(8, 1.0, &[(8, 1.0)], 1.0)] },
        ],
    }
}

fn unsearched() -> Trajectory {
    let mut game = trajectory();
    game.plies.iter_mut().flat_map(|ply| &mut ply.moves).for_each(|one| one.search = None);
    game
}

#[test]
fn a_trajectory_comes_back_from_the_wire_as_it_went() {
    let sent = to_wire(7, &trajectory());
    assert_eq!(sent.actions, [4, 0, 8]);
    assert_eq!(sent.ply_lengths, [1, 2]);
    assert_eq!(from_wire(sent, &hello()), Ok((7, trajectory())));
}

#[test]
fn a_game_without_a_search_carries_no_results() {
    let sent = to_wire(7, &unsearched());
    assert_eq!(sent.search, None);
    assert_eq!(from_wire(sent, &hello()), Ok((7, unsearched())));
}

#[test]
fn the_size_of_a_message_is_known_without_making_it() {
    let mut large = trajectory();
    large.record.seed = u64::MAX;
    large.seats[1].generation = Some(Generation(u32::MAX));
    large.plies[0].moves[0].action = Action(1 << 21);
    large.plies.extend(std::iter::repeat_n(large.plies[1].clone(), 300));
    let mut small = unsearched();
    (small.record.seed, small.record.digests) = (0, Vec::new());
    small.plies.clear();
    for game in [trajectory(), unsearched(), large, small] {
        for sequence in [0, 1, 127, 128, u64::MAX] {
            let sent = to_wire(sequence, &game);
            assert_eq!(message_bytes(sequence, &game), sent.encoded_len() + 16);
        }
    }
}

#[test]
fn messages_that_do_not_fold_are_refused_by_field() {
    type Spoil = fn(&mut wire::Trajectory);
    fn search(message: &mut wire::Trajectory) -> &mut wire::SearchResults {
        message.search.get_or_insert_default()
    }
    let cases: [(Spoil, &str); 14] = [
        (|m| m.sequence = 0, "sequence"),
        (|m| m.ply_lengths = vec![0; MAX_PLIES + 1], "ply_lengths"),
        (|m| m.ply_lengths = vec![3, 0], "ply 1"),
        (|m| m.ply_lengths = vec![u32::MAX; 4], "plies"),
        (|m| m.behaviour.truncate(2), "behaviour"),
        (|m| m.seats.clear(), "seats"),
        (|m| m.seats = vec![wire::Seat::default(); 17], "seats"),
        (|m| m.outcomes.truncate(1), "outcomes"),
        (|m| search(m).policy_lengths.truncate(1), "search.policy_lengths"),
        (|m| search(m).policy_lengths[0] = u32::MAX, "search.policy_actions"),
        (|m| search(m).policy_actions.truncate(1), "search.policy_actions"),
        (|m| search(m).policy_probabilities.push(0.0), "search.policy_probabilities"),
        (|m| search(m).values.clear(), "search.values"),
        (|m| search(m).surprises.push(0.0), "search.surprises"),
    ];
    for (spoil, field) in cases {
        let mut message = to_wire(7, &trajectory());
        spoil(&mut message);
        let error = from_wire(message, &hello()).expect_err(field).to_string();
        assert!(error.starts_with(field), "{error}");
    }
}
