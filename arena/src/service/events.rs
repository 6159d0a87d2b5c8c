//! The event stream: events of the arena, and the moves of the game that is shown live.

use std::sync::Arc;

use ouro_proto::arena::v1;
use ouro_proto::arena::v1::event::Kind;
use ouro_rating::RatingTable;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::{Stream, StreamExt};
use tonic::Status;

use super::{Answers, Handlers, convert};
use crate::event::ArenaEvent;
use crate::figures::StreamKind;
use crate::showcase::LiveEvent;
use crate::store::MatchSums;

type Answer = Result<v1::WatchEventsResponse, Status>;

impl Handlers {
    /// Events from now on, with moves if `moves` is set.
    pub(super) fn events(&self, moves: bool) -> Answers<v1::WatchEventsResponse> {
        let this = self.clone();
        let events = BroadcastStream::new(self.state.events());
        // A client that fell behind continues with the oldest buffered event.
        let watching = self.state.figures().watch(StreamKind::Events);
        let events = events.filter_map(Result::ok).filter_map(move |event| {
            let _ = &watching;
            this.event(&event)
        });
        if !moves {
            return self.until_stopped(events);
        }
        let (so_far, live) = self.state.matches().live().subscribe();
        let live =
            tokio_stream::iter(so_far).chain(BroadcastStream::new(live).filter_map(Result::ok));
        self.until_stopped(events.merge(self.moves(live)))
    }

    fn moves<S>(&self, live: S) -> impl Stream<Item = Answer> + Send + use<S>
    where
        S: Stream<Item = LiveEvent> + Send + 'static,
    {
        let this = self.clone();
        live.map(move |event| {
            let (kind, text) = match &event {
                LiveEvent::Started(game) => {
                    let players: Vec<String> =
                        game.players.iter().map(ToString::to_string).collect();
                    let text = format!("Showing a game of {}.", players.join(" and "));
                    (Kind::GameStarted(convert::game_started(game)), text)
                }
                LiveEvent::Moved { key, ply, actions } => {
                    let (id, actions) = (Some(convert::game_id(*key)), convert::actions(actions));
                    let moved = v1::MovePlayed { id, ply: *ply, actions };
                    (Kind::MovePlayed(moved), format!("Turn {ply} was played."))
                }
                LiveEvent::Ended { key, outcomes } => {
                    let outcomes = outcomes.iter().map(|&outcome| outcome.into()).collect();
                    let ended = v1::GameEnded { id: Some(convert::game_id(*key)), outcomes };
                    (Kind::GameEnded(ended), "The game that was shown is over.".to_owned())
                }
            };
            this.wrap(kind, text)
        })
    }

    /// An event in its wire form; `None` if another event carries the same information.
    fn event(&self, event: &ArenaEvent) -> Option<Answer> {
        let kind = match event {
            ArenaEvent::Published(checkpoint) => Kind::Published(checkpoint.into()),
            ArenaEvent::MatchStarted(info) => {
                let known = self.state.matches().index().get(info.number).cloned();
                let row = known.unwrap_or_else(|| (info.clone(), MatchSums::default()));
                Kind::MatchStarted(convert::of_match(&row))
            }
            ArenaEvent::GateProgress { info, report } => {
                Kind::GateProgress(convert::gate_in_progress(info, report))
            }
            ArenaEvent::Decided(decision) => Kind::Decided(convert::decision(decision)),
            ArenaEvent::Overtaken(_) | ArenaEvent::Promoted(_) => return None,
            ArenaEvent::Rated(table) => Kind::RatingsChanged(ratings_changed(table)),
        };
        Some(self.wrap(kind, event.to_string()))
    }

    fn wrap(&self, kind: Kind, text: String) -> Answer {
        let event = v1::Event { at: self.state.now(), text, kind: Some(kind) };
        Ok(v1::WatchEventsResponse { event: Some(event) })
    }
}

fn ratings_changed(table: &Arc<RatingTable>) -> v1::RatingsChanged {
    let best = table.ratings.first();
    v1::RatingsChanged {
        games: table.games,
        best: best.map(|best| best.player.clone()).unwrap_or_default(),
        best_elo: best.map_or(0.0, |best| best.elo),
    }
}
