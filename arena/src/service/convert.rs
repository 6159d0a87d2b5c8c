//! Converts domain types to their wire forms.

use ouro_net::Generation;
use ouro_proto::arena::v1;
use ouro_rating::gate::{Reason, Verdict};
use ouro_rating::{Estimate, GateReport};

use crate::player_id::{MatchKind, PlayerId};
use crate::showcase::LiveGame;
use crate::store::{Decision, GameKey, MatchInfo, MatchSums, Outcome, StoredGame};

pub(super) fn of_match((info, sums): &(MatchInfo, MatchSums)) -> v1::Match {
    let (score, share) = (sums.score(), sums.share());
    let kind = match info.key.kind {
        MatchKind::Gate => v1::MatchKind::Gate,
        MatchKind::Rating => v1::MatchKind::Rating,
    };
    v1::Match {
        number: info.number,
        kind: kind.into(),
        first: info.key.first.to_string(),
        second: info.key.second.to_string(),
        games: sums.games,
        wins: score.wins,
        draws: score.draws,
        losses: score.losses,
        score: share.value,
        score_low: share.low,
        score_high: share.high,
        opened_at: info.opened_at,
        player: info.player.clone(),
    }
}

pub(super) fn elo_difference(Estimate { value, low, high }: Estimate) -> v1::EloDifference {
    v1::EloDifference { elo: value, elo_low: low, elo_high: high }
}

pub(super) fn game_id(key: GameKey) -> v1::GameId {
    v1::GameId { r#match: key.number, cluster: key.cluster, game: key.game }
}

pub(super) fn game_key(id: v1::GameId) -> GameKey {
    GameKey { number: id.r#match, cluster: id.cluster, game: id.game }
}

pub(super) fn game(key: GameKey, stored: &StoredGame) -> v1::Game {
    let record = &stored.record;
    let results = stored.outcomes.iter().zip(&stored.scores);
    let seats = stored.players.iter().zip(results).map(|(player, (&outcome, &score))| {
        let (outcome, score) = (outcome.into(), score.into());
        v1::GameSeat { player: player.to_string(), outcome, score }
    });
    let plies = record.plies.iter().map(|ply| v1::Ply { actions: actions(ply) });
    v1::Game {
        id: Some(game_id(key)),
        name: record.config.name().to_owned(),
        config_json: config_json(&record.config),
        record_version: record.version,
        seed: record.seed.to_string(),
        seats: seats.collect(),
        plies: plies.collect(),
        digests: record.digests.iter().map(|digest| format!("{digest:016x}")).collect(),
        truncated: stored.truncated,
    }
}

pub(super) fn actions(ply: &[ouro_game::Action]) -> Vec<u32> {
    ply.iter().map(|action| action.0).collect()
}

fn config_json(config: &ouro_game::GameConfig) -> String {
    // Serialisation cannot fail: every configuration came from JSON.
    serde_json::to_string(config).unwrap_or_default()
}

pub(super) fn game_started(game: &LiveGame) -> v1::GameStarted {
    v1::GameStarted {
        id: Some(game_id(game.key)),
        name: game.config.name().to_owned(),
        config_json: config_json(&game.config),
        seed: game.seed.to_string(),
        players: game.players.iter().map(ToString::to_string).collect(),
    }
}

/// The wire form of the match at the gate.
pub(super) fn gate_in_progress(info: &MatchInfo, report: &GateReport) -> v1::Gate {
    let candidate = &info.key.first;
    v1::Gate {
        candidate: candidate.generation().unwrap_or(Generation(0)).0,
        champion: info.key.second.to_string(),
        r#match: Some(info.number),
        state: v1::GateState::InProgress.into(),
        reason: v1::GateReason::Unspecified.into(),
        explanation: report.explain(&candidate.to_string(), &info.key.second.to_string()),
        decided_at: 0.0,
        score: Some(gate_score(report)),
    }
}

/// The wire form of a past decision.
pub(super) fn decision(decision: &Decision) -> v1::Gate {
    let gate = v1::Gate {
        candidate: decision.generation.0,
        explanation: decision.explanation.clone(),
        decided_at: decision.decided_at,
        ..v1::Gate::default()
    };
    let Outcome::Ruled { number, champion, report } = &decision.outcome else {
        return v1::Gate { state: v1::GateState::Dropped.into(), ..gate };
    };
    let state = match report.ruling.map(|ruling| ruling.verdict) {
        Some(Verdict::Promote) => v1::GateState::Promoted,
        Some(Verdict::Reject) | None => v1::GateState::Rejected,
    };
    let reason = match report.ruling.map(|ruling| ruling.reason) {
        Some(Reason::AllPlayed) => v1::GateReason::AllPlayed,
        Some(Reason::Certain) => v1::GateReason::Certain,
        Some(Reason::Sequential) => v1::GateReason::Sequential,
        Some(Reason::TooFewDistinct) => v1::GateReason::TooFewDistinct,
        None => v1::GateReason::Unspecified,
    };
    v1::Gate {
        champion: PlayerId::to_string(champion),
        r#match: Some(*number),
        state: state.into(),
        reason: reason.into(),
        score: Some(gate_score(report)),
        ..gate
    }
}

fn gate_score(report: &GateReport) -> v1::GateScore {
    let margin = |figure: fn(Estimate) -> f64| report.margin.map(figure);
    let test = report.sprt.as_ref().map(|test| {
        let clusters = test.clusters.iter();
        let clusters =
            clusters.map(|&(half_points, count)| v1::ClusterCount { half_points, count });
        v1::SequentialTest {
            log_likelihood_ratio: test.ratio,
            lower: test.lower,
            upper: test.upper,
            low: test.low,
            high: test.high,
            clusters: clusters.collect(),
        }
    });
    v1::GateScore {
        threshold: report.threshold,
        max_games: report.max_games,
        games: report.games,
        duplicates: report.duplicates,
        wins: report.score.wins,
        draws: report.score.draws,
        losses: report.score.losses,
        score: report.share,
        score_low: report.low,
        score_high: report.high,
        margin: margin(|margin| margin.value),
        margin_low: margin(|margin| margin.low),
        margin_high: margin(|margin| margin.high),
        test,
    }
}
