//! Facts about a cluster without a fault, for the tests of the checks.

use ouro_arena::store::ServerReport;
use ouro_net::Generation;
use ouro_proto::{
    AccessReport, ArenaReport, ConnectedActor, LearnerReport, ProcessReport, RoleTokens,
};

use super::super::facts::{Answer, ArenaFacts, Facts, LearnerFacts, Service};
use super::super::finding::{Finding, Level};
use super::findings;

/// Unix time of the facts.
pub(super) const NOW: f64 = 1.8e9;

fn process(service: &str, roles: &[&str]) -> ProcessReport {
    let role = |role: &&str| RoleTokens { role: (*role).to_owned(), tokens: 1, expires_at: None };
    ProcessReport {
        service: service.to_owned(),
        version: "1.2.3".to_owned(),
        run: "00112233aabbccdd".to_owned(),
        game: "tic_tac_toe".to_owned(),
        unix_seconds: NOW,
        disk_free_bytes: Some(50e9),
        access: Some(AccessReport {
            roles: roles.iter().map(role).collect(),
            missing: 3,
            ..AccessReport::default()
        }),
    }
}

/// An actor that plays the newest weights.
pub(super) fn actor(name: &str) -> ConnectedActor {
    ConnectedActor {
        name: name.to_owned(),
        program: "ouro-actor/1.2.3".to_owned(),
        seconds: 600.0,
        games: 1_000,
        positions: 9_000.0,
        positions_per_second: 15.0,
        refused: 1,
        generation: Some(Generation(7)),
        address: "10.0.0.3".to_owned(),
        moves: 0,
    }
}

fn arena() -> ArenaFacts {
    let report = ArenaReport {
        process: Some(process("arena", &["actor", "learner", "reader"])),
        store: "redis".to_owned(),
        candidates_waiting: 1,
        pool_watchers: 3,
        ..ArenaReport::default()
    };
    ArenaFacts {
        before: report.clone(),
        now: report,
        run: "00112233aabbccdd".to_owned(),
        published: (0..=7)
            .map(|number| (Generation(number), NOW - 80.0 + f64::from(number)))
            .collect(),
        missing: Vec::new(),
        at_gate: Some((Generation(7), 12, 40)),
    }
}

fn learner() -> LearnerFacts {
    let before = LearnerReport {
        device: "NVIDIA L4 (wgpu vulkan)".to_owned(),
        device_kind: Some(ouro_proto::DeviceKind::Gpu),
        step: 100,
        generation: Generation(7),
        positions: 10_000.0,
        sampled: 20_000.0,
        actors: 2,
        connected: vec![actor("fleet.a"), actor("fleet.b")],
        process: Some(process("learner", &["actor", "reader"])),
        training_waited: vec![("games".to_owned(), 10.0), ("batches".to_owned(), 4.0)],
        intake_waited: vec![("training".to_owned(), 1.0), ("disk".to_owned(), 0.0)],
        published: Some(Generation(7)),
        max_actors: 64,
        ..LearnerReport::default()
    };
    let now = LearnerReport {
        step: 120,
        positions: 10_150.0,
        sampled: 20_600.0,
        training_waited: vec![("games".to_owned(), 11.0), ("batches".to_owned(), 4.5)],
        intake_waited: vec![("training".to_owned(), 2.0), ("disk".to_owned(), 0.0)],
        ..before.clone()
    };
    LearnerFacts { before, now }
}

/// A cluster without a fault.
pub(super) fn healthy() -> Facts {
    Facts {
        version: "1.2.3".to_owned(),
        game: Some("tic_tac_toe".to_owned()),
        arena: Service {
            address: "10.0.0.1:50061".to_owned(),
            answer: Ok(Answer { ahead: 0.1, error: 0.01, seconds: 5.0, facts: arena() }),
        },
        learner: Service {
            address: "10.0.0.2:50062".to_owned(),
            answer: Ok(Answer { ahead: -0.2, error: 0.01, seconds: 5.0, facts: learner() }),
        },
        objects: None,
        redis: Some(Ok(ServerReport {
            name: "redis at 10.0.0.4:6379".to_owned(),
            version: "7.0.15".to_owned(),
            has_log: true,
            last_write: "ok".to_owned(),
            last_rewrite: "ok".to_owned(),
            memory_bytes: 2 << 20,
            memory_limit: 1 << 30,
            entries: 40,
            ..ServerReport::default()
        })),
    }
}

/// The arena of the facts, to change it.
pub(super) fn of_arena(facts: &mut Facts) -> &mut Answer<ArenaFacts> {
    facts.arena.answer.as_mut().expect("it answered")
}

/// The learner of the facts, to change it.
pub(super) fn of_learner(facts: &mut Facts) -> &mut Answer<LearnerFacts> {
    facts.learner.answer.as_mut().expect("it answered")
}

/// The findings that are not as they should be, after a change of the healthy facts. Each must have
/// a remedy.
pub(super) fn after(change: impl FnOnce(&mut Facts)) -> Vec<Finding> {
    let mut facts = healthy();
    change(&mut facts);
    let mut bad = findings(&facts);
    bad.retain(|finding| finding.level != Level::Ok);
    assert!(bad.iter().all(|finding| finding.remedy.is_some()), "{bad:?}");
    bad
}

/// Asserts that a change of the healthy facts gives this one finding, whose line has all `parts`.
pub(super) fn assert_one(
    level: Level,
    check: &str,
    subject: &str,
    parts: &[&str],
    change: impl FnOnce(&mut Facts),
) {
    let found = after(change);
    let [finding] = &found[..] else { panic!("{check} of {subject}: {found:#?}") };
    assert_eq!((finding.level, finding.check, finding.subject), (level, check, subject));
    let line = finding.to_string();
    for part in parts {
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
}
