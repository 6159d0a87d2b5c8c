//! The tables of `docs/scale.md`.

use std::fmt::Write as _;

use super::costs::Costs;

/// Numbers of actors in the table of hops.
const ACTORS: [f64; 5] = [1.0, 10.0, 100.0, 1_000.0, 10_000.0];

/// A number with three significant digits, or all digits of its whole part.
pub(crate) fn number(value: f64) -> String {
    if value >= 100.0 {
        let digits = format!("{value:.0}");
        let mut grouped = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        return grouped;
    }
    let decimals = match value {
        _ if value >= 10.0 => 1,
        _ if value >= 1.0 => 2,
        _ if value >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// All costs with their values.
pub(crate) fn costs(costs: &Costs) -> String {
    let mut text = "| key | value | unit | meaning |\n|---|---|---|---|\n".to_owned();
    for (name, value, unit, meaning) in costs.rows() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{name}` | {} | {unit} | {meaning} |", number(value));
    }
    text
}

/// All limits, the lowest first.
pub(crate) fn limits(costs: &Costs) -> String {
    let mut text = "| limit | actors | formula | what moves it |\n|---|---|---|---|\n".to_owned();
    for limit in costs.limits() {
        let actors = number(limit.actors.floor());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {actors} | `{}` | {} |",
            limit.name, limit.formula, limit.remedy
        );
    }
    text
}

/// What each hop needs, by the number of actors, if nothing but their speed limits them.
pub(crate) fn hops(costs: &Costs) -> String {
    type Row = (&'static str, &'static str, fn(&Costs, f64) -> f64);
    let rows: [Row; 19] = [
        ("positions/s offered", "A r", offered),
        ("actors: cores to push", "A r push_us", |costs, actors| {
            offered(costs, actors) * costs.push_us / 1e6
        }),
        ("into the learner, MB/s", "A r message_bytes", |costs, actors| {
            offered(costs, actors) * costs.message_bytes / 1e6
        }),
        ("learner: cores to ingest", "A r ingest_us", |costs, actors| {
            offered(costs, actors) * costs.ingest_us / 1e6
        }),
        ("learner: memory of connections, MiB", "A connection_kib", |costs, actors| {
            actors * costs.connection_kib / 1_024.0
        }),
        ("learner: journal, MB/s", "A r journal_bytes", |costs, actors| {
            offered(costs, actors) * costs.journal_bytes / 1e6
        }),
        ("learner: share of the journal's syncs, %", "A r / sync limit", |costs, actors| {
            100.0 * offered(costs, actors) / costs.sync_positions()
        }),
        ("positions/s used by training", "min(A r, T / spi)", |costs, actors| {
            offered(costs, actors).min(costs.training_positions())
        }),
        ("training speed that uses all, samples/s", "A r spi", |costs, actors| {
            offered(costs, actors) * costs.samples_per_insert
        }),
        ("learner: cores to sample", "accepted spi sample_us", |costs, actors| {
            costs.accepted_positions(actors) * costs.samples_per_insert * costs.sample_us / 1e6
        }),
        ("positions/s accepted", "lowest limit", Costs::accepted_positions),
        (
            "seconds of a generation, I",
            "generation_steps batch / (accepted spi)",
            Costs::generation_seconds,
        ),
        (
            "age of games if outboxes are full, generations",
            "A outbox ppg / accepted / I",
            |costs, actors| costs.backlog_seconds(actors) / costs.generation_seconds(actors),
        ),
        ("weights to all actors, s per generation", "A S / L", Costs::fan_out_seconds),
        ("arena: share of the link, weights, %", "A S / (L I)", |costs, actors| {
            100.0 * costs.fan_out_seconds(actors) / costs.generation_seconds(actors)
        }),
        ("arena: cores to send weights", "A weights_send_ms / I", |costs, actors| {
            actors * costs.weights_send_ms / 1e3 / costs.generation_seconds(actors)
        }),
        ("arena: pool, MB per change", "A snapshot_bytes", |costs, actors| {
            actors * costs.snapshot_bytes() / 1e6
        }),
        ("arena: cores for matches", "match_games match_game_seconds / I", |costs, actors| {
            costs.match_games * costs.match_game_seconds / costs.generation_seconds(actors)
        }),
        (
            "Redis: share of its syncs, %",
            "redis_scripts_per_candidate redis_script_ms / I",
            |costs, actors| 100.0 / costs.generation_seconds(actors) / costs.redis_candidates(),
        ),
    ];
    let mut text =
        "| hop | formula | 1 | 10 | 100 | 1,000 | 10,000 |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for (name, formula, value) in rows {
        let values: Vec<String> =
            ACTORS.iter().map(|actors| number(value(costs, *actors))).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | `{formula}` | {} |", values.join(" | "));
    }
    text
}

fn offered(costs: &Costs, actors: f64) -> f64 {
    actors * costs.actor_positions_per_second
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.00421, 0.5, 1.0, 2.345, 17.25, 999.6, 1_234_567.0].map(number);
        let expected = ["0", "0.0042", "0.5", "1", "2.35", "17.2", "1,000", "1,234,567"];
        assert_eq!(shown, expected.map(str::to_owned));
    }
}
