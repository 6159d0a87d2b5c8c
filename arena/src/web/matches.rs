//! Matches and their kept games.

use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use serde::Deserialize;

use super::Site;
use super::games::path;
use super::page::{Refused, page};
use super::text::{percent, time};
use crate::error::CallError;
use crate::player_id::MatchKind;
use crate::state::ArenaState;
use crate::store::{MatchInfo, MatchSums};

/// Matches on a page.
const PAGE: usize = 50;
/// Games of a match in its list.
const GAMES: usize = 200;

/// Query of a list.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Before {
    /// Lists matches with lower numbers than this; without it, lists the newest matches.
    before: Option<u32>,
}

/// Matches with numbers below `before`, newest first.
pub(super) fn newest(
    state: &ArenaState,
    before: Option<u32>,
    limit: usize,
) -> Vec<(MatchInfo, MatchSums)> {
    let index = state.matches().index();
    let wanted = |info: &MatchInfo| before.is_none_or(|before| info.number < before);
    index.matches().rev().filter(|(info, _)| wanted(info)).take(limit).cloned().collect()
}

/// Matches as a table, labelled by the element `title`.
pub(super) fn table(rows: &[(MatchInfo, MatchSums)], title: &str) -> Markup {
    // All matches of a run have the same number of seats.
    let compares = rows.iter().any(|(info, _)| info.shape.opponents() > 1);
    let heading = if compares { "Comparisons ahead, level, behind" } else { "Won, drawn, lost" };
    html! {
        div.wide tabindex="0" role="region" aria-labelledby=(title) { table {
            thead { tr {
                th scope="col" { "Match" }
                th scope="col" { "Players" }
                th scope="col" { "Purpose" }
                th scope="col" { "Games" }
                th scope="col" { (heading) }
                th scope="col" { "Points" }
            } }
            tbody { @for (info, sums) in rows {
                @let score = sums.score();
                tr {
                    th scope="row" {
                        a href=(format!("/matches/{}", info.number)) { (info.number) }
                    }
                    td { (info.key.first) " – " (info.key.second) }
                    td { (purpose(info)) }
                    td { (sums.games) }
                    td { (score.wins) " · " (score.draws) " · " (score.losses) }
                    td { @if sums.games > 0 { (percent(score.share())) } @else { "–" } }
                }
            } }
        } }
    }
}

fn purpose(info: &MatchInfo) -> &'static str {
    match info.key.kind {
        MatchKind::Gate => "gate",
        MatchKind::Rating => "rating",
    }
}

/// The list of matches.
pub(super) async fn list(
    State(site): State<Site>,
    Query(Before { before }): Query<Before>,
) -> Result<Markup, Refused> {
    site.blocking(move |state| {
        let rows = newest(state, before, PAGE);
        let older = rows.last().map(|(info, _)| info.number).filter(|&last| last > 0);
        let content = html! {
            h1 #title { "Matches" }
            @if rows.is_empty() {
                p.quiet { "No match has started." }
            } @else {
                (table(&rows, "title"))
            }
            @if let Some(last) = older {
                p { a rel="next" href=(format!("/matches?before={last}")) { "Older matches" } }
            }
        };
        Ok(page("Matches", content))
    })
    .await
}

/// A match.
pub(super) async fn show(
    State(site): State<Site>,
    Path(number): Path<u32>,
) -> Result<Markup, Refused> {
    site.blocking(move |state| {
        let known = state.matches().index().get(number).cloned();
        let (info, sums) = known.ok_or(CallError::NoMatch(number))?;
        let keys = state.store().game_keys(number)?;
        let share = sums.share();
        let title = format!("{} against {}", info.key.first, info.key.second);
        let seats = info.shape.seats;
        let content = html! {
            h1 { (title) }
            p.quiet {
                "Match " (number) ", " (purpose(&info)) ", started " (time(info.opened_at)) " UTC. "
                "Networks play as " code { (info.player) } "."
            }
            @if sums.games == 0 {
                p { "No game counts yet." }
            } @else {
                p {
                    (info.key.first) " took " (percent(share.value)) " of the points over "
                    (sums.games) " games: " (info.shape.in_words(sums.score()))
                    "; 95 % interval " (percent(share.low)) " to " (percent(share.high)) "."
                }
            }
            h2 { "Games" }
            @if keys.is_empty() {
                p.quiet {
                    "No game of this match is kept. Only games of promotions and of the latest "
                    "matches are."
                }
            }
            // Games are listed newest first: in a long match the newest games are those of the
            // current networks.
            ul.games { @for &key in keys.iter().rev().take(GAMES) {
                li { a href=(path(key)) {
                    "Seed " (key.cluster) ", "
                    @if seats > 1 { (info.key.first) " at seat " (key.game + 1) }
                    @else if key.game == 0 { (info.key.first) }
                    @else { (info.key.second) }
                } }
            } }
            @if keys.len() > GAMES { p.quiet { "and " (keys.len() - GAMES) " earlier ones." } }
        };
        Ok(page(&title, content))
    })
    .await
}

#[cfg(test)]
mod tests {
    use ouro_rating::{ClusterShape, Ranking};

    use super::*;
    use crate::player_id::{MatchKey, PlayerId};

    /// The table of one match with one game, which the first player won.
    fn table_of(seats: u32) -> String {
        let info = MatchInfo {
            number: 0,
            key: MatchKey::gate(ouro_net::Generation(1), PlayerId::random()),
            shape: ClusterShape { seats },
            rule: None,
            player: String::new(),
            opened_at: 0.0,
        };
        let ranking = Ranking::new(1.0, &vec![-1.0; seats as usize - 1]);
        let rankings = [(ranking, 1)].into();
        let sums = MatchSums { games: 1, rankings, ..MatchSums::default() };
        table(&[(info, sums)], "title").into_string()
    }

    #[test]
    fn above_two_seats_the_table_counts_comparisons_not_games() {
        let (two, four) = (table_of(2), table_of(4));
        assert!(two.contains("Won, drawn, lost") && two.contains("1 · 0 · 0"), "{two}");
        assert!(four.contains("Comparisons ahead") && four.contains("3 · 0 · 0"), "{four}");
        assert!(!four.contains("Won, drawn, lost"), "{four}");
    }
}
