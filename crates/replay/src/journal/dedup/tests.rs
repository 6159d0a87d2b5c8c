//! Tests of deduplication against a simple reference model.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// A reference model that keeps the full history and searches it.
#[derive(Default)]
struct Reference {
    decided: BTreeSet<(u8, u64, u64)>,
    epochs: BTreeMap<u8, u64>,
    issued: u64,
}

impl Reference {
    fn judge(&self, actor: u8, epoch: u64, sequence: u64) -> Verdict {
        let current = self.epochs.get(&actor).copied();
        if current != Some(epoch) {
            return Verdict::Fenced { current };
        }
        let count = self.decided.range((actor, epoch, 0)..=(actor, epoch, u64::MAX)).count();
        let expected = count as u64 + 1;
        if sequence == 0 || self.decided.contains(&(actor, epoch, sequence)) {
            Verdict::Duplicate
        } else if sequence == expected {
            Verdict::New
        } else {
            Verdict::Gap { expected }
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Begin { actor: u8 },
    Decide { actor: u8, back: u64, ahead: i64 },
    Restart,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let actor = 0_u8..4;
    let event = prop_oneof![
        2 => actor.clone().prop_map(|actor| Event::Begin { actor }),
        12 => (actor, prop_oneof![6 => Just(0_u64), 1 => 1_u64..4], prop_oneof![5 => Just(0_i64), 1 => -4_i64..4])
            .prop_map(|(actor, back, ahead)| Event::Decide { actor, back, ahead }),
        1 => Just(Event::Restart),
    ];
    proptest::collection::vec(event, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn no_order_of_events_and_restarts_decides_a_record_twice(events in events()) {
        let (mut dedup, mut reference) = (Dedup::default(), Reference::default());
        for event in events {
            match event {
                Event::Begin { actor } => {
                    reference.issued += 1;
                    reference.epochs.insert(actor, reference.issued);
                    prop_assert!(dedup.begin(&actor.to_string(), reference.issued));
                    prop_assert!(!dedup.begin(&actor.to_string(), reference.issued));
                }
                Event::Decide { actor, back, ahead } => {
                    let name = actor.to_string();
                    let epoch = dedup.issued().saturating_sub(back);
                    let epoch = match (back, dedup.watermark(&name)) {
                        (0, Some((current, _))) => current,
                        _ => epoch,
                    };
                    let next = dedup.watermark(&name).map_or(0, |(_, watermark)| watermark) + 1;
                    let sequence = next.saturating_add_signed(ahead);
                    let verdict = dedup.decide(&name, epoch, sequence);
                    prop_assert_eq!(verdict, reference.judge(actor, epoch, sequence));
                    if verdict == Verdict::New {
                        prop_assert!(reference.decided.insert((actor, epoch, sequence)));
                    }
                }
                Event::Restart => {
                    let bytes = dedup.encode();
                    dedup = Dedup::decode(&bytes).expect("it reads what it wrote");
                    prop_assert_eq!(dedup.encode(), bytes);
                }
            }
        }
        let marks: BTreeMap<String, u64> =
            dedup.watermarks().into_iter().map(|(name, epoch, _)| (name.to_owned(), epoch)).collect();
        let epochs = reference.epochs.iter().map(|(actor, &epoch)| (actor.to_string(), epoch));
        prop_assert_eq!(marks, epochs.collect::<BTreeMap<_, _>>());
    }
}

#[test]
fn the_longest_silent_actor_is_forgotten_and_cannot_come_back_under_its_old_epoch() {
    let mut dedup = Dedup::default();
    for number in 1..=MAX_ACTORS as u64 {
        assert_eq!(dedup.forgets("new"), None);
        assert!(dedup.begin(&number.to_string(), number));
    }
    assert_eq!(dedup.decide("1", 1, 1), Verdict::New);
    assert_eq!((dedup.forgets("new"), dedup.forgets("2")), (Some("2"), None));
    assert!(dedup.begin("new", MAX_ACTORS as u64 + 1));
    assert_eq!(dedup.watermark("1"), Some((1, 1)));
    assert_eq!(dedup.judge("2", 2, 1), Verdict::Fenced { current: None });
    assert_eq!(dedup.watermarks().len(), MAX_ACTORS);
    assert_eq!(dedup.watermarks()[0].0, "3");
    let restarted = Dedup::decode(&dedup.encode()).expect("reads back");
    assert_eq!(restarted.watermarks(), dedup.watermarks());
}

#[test]
fn a_state_that_contradicts_itself_is_not_read() {
    let mut dedup = Dedup::default();
    assert!(dedup.begin("a", 1) && dedup.begin("b", 2));
    let bytes = dedup.encode();
    assert!(Dedup::decode(&bytes).is_some());
    for cut in 0..bytes.len() {
        // A cut between two actors gives a valid state; only the entry's checksum detects it.
        let read = Dedup::decode(&bytes[..cut]);
        assert_eq!(read.is_some(), cut == 8 || cut == 8 + 18, "cut at {cut}");
    }
    let never_issued = [&1_u64.to_le_bytes()[..], &bytes[8..]].concat();
    assert!(Dedup::decode(&never_issued).is_none());
    let twice = [&bytes[..], &bytes[8..26]].concat();
    assert!(Dedup::decode(&twice).is_none());
}
