//! The arena service: ratings, matches, games, decisions, status.

use std::sync::atomic::Ordering;

use ouro_net::Generation;
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::arena_service_server::ArenaService;
use ouro_settings::process_report;
use tonic::{Request, Response, Status};

use super::{Answers, Handlers, ProcessView, answer, convert};
use crate::error::CallError;
use crate::figures::StreamKind;
use crate::state::ArenaState;
use crate::store::GameKey;

/// Default number of matches in a response.
const USUAL_MATCHES: u32 = 100;
/// Maximum number of matches in a response.
const MOST_MATCHES: u32 = 1_000;

#[tonic::async_trait]
impl ArenaService for Handlers {
    async fn get_ratings(
        &self,
        _: Request<v1::GetRatingsRequest>,
    ) -> Result<Response<v1::GetRatingsResponse>, Status> {
        let ratings = self.state.ratings().table().borrow().clone();
        let rows = ratings.ratings.iter().map(|row| v1::Rating {
            player: row.player.clone(),
            elo: row.elo,
            elo_low: row.elo_low,
            elo_high: row.elo_high,
            games: row.games,
            score: row.score,
            to_champion: row.to_champion.map(convert::elo_difference),
        });
        answer(Ok(v1::GetRatingsResponse {
            ratings: rows.collect(),
            anchor: ratings.anchor.clone(),
            games: ratings.games,
            champion: ratings.champion.clone().unwrap_or_default(),
        }))
    }

    async fn compare_players(
        &self,
        request: Request<v1::ComparePlayersRequest>,
    ) -> Result<Response<v1::ComparePlayersResponse>, Status> {
        let v1::ComparePlayersRequest { first, second } = request.into_inner();
        answer(compare(&self.state, &first, &second))
    }

    async fn list_checkpoints(
        &self,
        _: Request<v1::ListCheckpointsRequest>,
    ) -> Result<Response<v1::ListCheckpointsResponse>, Status> {
        answer(self.blocking(|state| state.store().checkpoints()).await.map(|rows| {
            v1::ListCheckpointsResponse { checkpoints: rows.iter().map(Into::into).collect() }
        }))
    }

    async fn list_matches(
        &self,
        request: Request<v1::ListMatchesRequest>,
    ) -> Result<Response<v1::ListMatchesResponse>, Status> {
        answer(Ok(matches(&self.state, request.get_ref())))
    }

    async fn get_match(
        &self,
        request: Request<v1::GetMatchRequest>,
    ) -> Result<Response<v1::GetMatchResponse>, Status> {
        let number = request.get_ref().number;
        answer(
            self.blocking(move |state| {
                let row = state.matches().index().get(number).map(convert::of_match);
                let row = row.ok_or(CallError::NoMatch(number))?;
                let games = state.store().game_keys(number)?;
                let games = games.into_iter().map(convert::game_id).collect();
                Ok::<_, CallError>(v1::GetMatchResponse { r#match: Some(row), games })
            })
            .await,
        )
    }

    async fn get_game(
        &self,
        request: Request<v1::GetGameRequest>,
    ) -> Result<Response<v1::GetGameResponse>, Status> {
        let id = request.get_ref().id;
        answer(
            self.blocking(move |state| {
                let key = convert::game_key(id.ok_or(CallError::Missing("id"))?);
                let GameKey { number, cluster, game } = key;
                let gone = CallError::NoGame { number, cluster, game };
                let stored = state.store().game(key)?.ok_or(gone)?;
                Ok::<_, CallError>(v1::GetGameResponse { game: Some(convert::game(key, &stored)) })
            })
            .await,
        )
    }

    async fn get_gate(
        &self,
        request: Request<v1::GetGateRequest>,
    ) -> Result<Response<v1::GetGateResponse>, Status> {
        let generation = request.get_ref().generation.map(Generation);
        answer(
            self.blocking(move |state| gate(state, generation))
                .await
                .map(|gate| v1::GetGateResponse { gate: Some(gate) }),
        )
    }

    type WatchEventsStream = Answers<v1::WatchEventsResponse>;

    async fn watch_events(
        &self,
        request: Request<v1::WatchEventsRequest>,
    ) -> Result<Response<Self::WatchEventsStream>, Status> {
        answer(Ok(self.events(request.get_ref().moves)))
    }

    async fn get_status(
        &self,
        _: Request<v1::GetStatusRequest>,
    ) -> Result<Response<v1::GetStatusResponse>, Status> {
        answer(Ok(status(&self.state, &self.process)))
    }
}

/// The status of the process. Does not wait for the store, which may wait for Redis.
fn status(state: &ArenaState, view: &ProcessView) -> v1::GetStatusResponse {
    let (figures, learner) = (state.figures(), view.learner.borrow());
    let pool = &figures.streams[StreamKind::Pool as usize];
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let unasked = learner.report.is_none().then(|| "it has not answered yet".to_owned());
    let process = process_report(state.clock().unix(), &view.folder, view.guard.as_ref());
    v1::GetStatusResponse {
        process: Some(process.into()),
        condition: state.conditions().borrow().describe().unwrap_or_default(),
        store: state.store().append_times().0.to_owned(),
        candidates_waiting: small(figures.candidates.load(Ordering::Relaxed)),
        pool_watchers: small(pool.load(Ordering::Relaxed)),
        learner_problem: learner.error.clone().or(unasked).unwrap_or_default(),
    }
}

fn compare(
    state: &ArenaState,
    first: &str,
    second: &str,
) -> Result<v1::ComparePlayersResponse, CallError> {
    let model = state.ratings().current();
    for name in [first, second] {
        if model.elo(name).is_none() {
            // Cut, because the name comes from an untrusted client.
            return Err(CallError::NoPlayer(name.chars().take(80).collect()));
        }
    }
    let missing = || CallError::NoPlayer(first.to_owned());
    let difference = model.compare(first, second).ok_or_else(missing)?;
    Ok(v1::ComparePlayersResponse {
        elo: difference.elo.value,
        elo_low: difference.elo.low,
        elo_high: difference.elo.high,
        superiority: difference.superiority,
        // Above two seats, a game ranks two players unless both share the last place.
        expected_score: difference.share,
    })
}

fn matches(state: &ArenaState, request: &v1::ListMatchesRequest) -> v1::ListMatchesResponse {
    let limit = match request.limit {
        0 => USUAL_MATCHES,
        limit => limit.min(MOST_MATCHES),
    };
    let index = state.matches().index();
    let matches = index
        .matches()
        .rev()
        .filter(|(info, _)| request.before.is_none_or(|before| info.number < before))
        .filter(|(info, _)| {
            let player = &request.player;
            let is = |name: &crate::player_id::PlayerId| name.to_string() == *player;
            player.is_empty() || is(&info.key.first) || is(&info.key.second)
        })
        .take(limit as usize)
        .map(convert::of_match)
        .collect();
    v1::ListMatchesResponse { matches, total: index.len() as u32 }
}

/// The state of the gate for a generation. Without a generation, the match in progress or else the
/// last decision.
fn gate(state: &ArenaState, generation: Option<Generation>) -> Result<v1::Gate, CallError> {
    if let Some((info, report)) = state.matches().at_gate()
        && generation.is_none_or(|asked| info.key.first == asked.into())
    {
        return Ok(convert::gate_in_progress(&info, &report));
    }
    let store = state.store();
    let found = match generation {
        Some(generation) => store.decisions()?.into_iter().find(|one| one.generation == generation),
        None => store.last_decisions(1)?.pop(),
    };
    let nothing = || {
        CallError::NoGate(match generation {
            Some(generation) => {
                format!(
                    "{generation} is not at the gate and has no decision; choose another generation"
                )
            }
            None => "no candidate is decided yet; try again later".to_owned(),
        })
    };
    Ok(convert::decision(&found.ok_or_else(nothing)?))
}

#[cfg(test)]
mod tests {
    use ouro_replay::testing::MemoryDisk;

    use super::*;
    use crate::config::MatchConfig;
    use crate::store::{Decision, Outcome};

    #[test]
    fn the_last_decision_is_the_last_one_made_also_if_the_clock_was_set_back() {
        let folder = tempfile::tempdir().unwrap();
        let (state, _) =
            crate::testing::state(folder.path(), &MemoryDisk::new(), &MatchConfig::default());
        assert!(matches!(gate(&state, None), Err(CallError::NoGate(_))));
        for (generation, decided_at) in [(0, 9.0), (1, 5.0)] {
            crate::testing::offer(&state, generation).unwrap();
            let (generation, explanation) = (Generation(generation), String::new());
            let outcome = Outcome::Dropped { reason: "test".to_owned(), overtaken_by: None };
            let decision = Decision { generation, decided_at, explanation, outcome };
            state.store().decide(&decision).unwrap();
        }
        let last = gate(&state, None).unwrap();
        assert_eq!((last.candidate, last.decided_at), (1, 5.0));
        assert_eq!(gate(&state, Some(Generation(0))).unwrap().candidate, 0);
    }
}
