//! Games that contradict themselves, the rules or the run.

use std::collections::BTreeMap;

use ouro_game::GameConfig;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::RefusalReason as Reason;

use super::actor::{Actor, Running, config, hello, won_game};
use super::forgeries::{Forgery, LENGTHS, RULES, SEATS};
use super::searches::SEARCHES;

/// Pushes every forgery of an honest game, each followed by the honest game itself. Returns the
/// number of refusals for each reason.
pub(crate) async fn push_all<'a>(
    actor: &mut Actor,
    honest: &wire::Trajectory,
    forgeries: impl Iterator<Item = &'a Forgery>,
) -> BTreeMap<Reason, u32> {
    let mut counts = BTreeMap::new();
    for Forgery { name, forge, reason, says } in forgeries {
        let mut forged = honest.clone();
        forge(&mut forged);
        let refusal = actor.push(forged).await.unwrap_or_else(|| panic!("{name} was accepted"));
        assert_eq!(refusal.reason(), *reason, "{name}: {refusal:?}");
        let whole = says.ends_with(' ') || refusal.detail == *says;
        assert!(whole && refusal.detail.starts_with(says), "{name}: {}", refusal.detail);
        assert_eq!(refusal.detail.lines().count(), 1, "{name}: {}", refusal.detail);
        *counts.entry(*reason).or_insert(0) += 1;
        actor.push_honest(honest.clone(), name).await;
    }
    counts
}

/// The number of refusals for each reason in the learner's status.
pub(crate) fn refused(status: &wire::GetStatusResponse) -> BTreeMap<Reason, u32> {
    status.refused.iter().map(|count| (count.reason(), count.games)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_forged_game_is_refused_by_its_reason_and_honest_ones_go_on() {
    let directory = tempfile::tempdir().expect("a scratch folder");
    let config = config(directory.path());
    let game: GameConfig = config.game.clone();
    let running = Running::start(config.clone()).await;
    let (mut actor, welcome) = Actor::welcomed(&running, hello("forger", None, &game)).await;
    assert_eq!((welcome.epoch, welcome.watermark), (1, 0));

    let tables = [LENGTHS, SEATS, RULES, SEARCHES];
    let cases: usize = tables.iter().map(|table| table.len()).sum();
    assert!(cases >= 60, "{cases} forgeries");
    let counts = push_all(&mut actor, &won_game(), tables.into_iter().flatten()).await;
    let status = running.status().await;
    assert_eq!(refused(&status), counts);
    // Two positions of each game have a policy target.
    assert_eq!((status.games, status.positions), (cases as f64, 2.0 * cases as f64));
    assert_eq!((status.newest_generation, status.actors), (0, 1));
    drop(actor);
    running.stop().await;

    // After a restart all decisions stand, and the accepted games are in the replay.
    let running = Running::start(config).await;
    let (_actor, welcome) = Actor::welcomed(&running, hello("forger", Some(1), &game)).await;
    assert_eq!((welcome.epoch, welcome.watermark), (1, 2 * cases as u64));
    let status = running.status().await;
    assert_eq!((status.games, status.positions), (cases as f64, 2.0 * cases as f64));
    running.stop().await;
}
