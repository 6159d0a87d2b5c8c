//! The reference of all series, `docs/metrics.md`.

use std::fmt::Write;

use super::series::Series;

const HEAD: &str = "\
# Metrics

Every series that Ouro reports to Prometheus. The tables are generated from the code by
`cargo xtask metrics`; CI fails if they are stale.

Metrics are off by default. `deploy.metrics`, `--metrics IP:PORT` or `OURO_METRICS` opens a port of its own for them, in
each of `ouro-learner`, `ouro-arena`, `ouro-actor` and `ouro train`. Processes on one machine need different ports:

```console
$ ouro-learner --metrics 127.0.0.1:9101
$ curl http://127.0.0.1:9101/metrics
```

- The format is OpenMetrics text, which Prometheus understands.
- `ouro train` reports the series of the learner, the arena and the actor together.
- The port answers `GET /metrics` and nothing else. It has no authentication, so open it to trusted networks only. The
  arena's web page does not serve metrics, because it is for people and has its own rules of access.
- The number of series is bounded: no label has a value that a client chooses. In particular no series has the name of an
  actor as a label, because every new container has a new name. Scrape the actors themselves, or see the arena's page.
  The label `credential` has the name of a token or certificate, which the operator chose, for at most 1,000 of them.
- Counters start at 0 with the process unless their sentence says otherwise. Values are read at the scrape. Scrapes within
  a tenth of a second get the same text, so a flood of requests costs little.
- Starvation, the share of the time in which training waits for games, is
  `rate(ouro_learner_training_waiting_seconds_total{reason=\"games\"}[1m])`. Above a tenth, more actors help. The share in
  which games wait for training is `rate(ouro_learner_intake_waiting_seconds_total{reason=\"training\"}[1m])`. Above a half,
  fewer actors are enough.
";

/// The page, in Markdown: a section with a table for each title and its series.
pub fn page(sections: &[(&str, &[Series])]) -> String {
    let mut text = HEAD.to_owned();
    for (title, series) in sections {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {title}\n\n| series | type | labels | meaning |\n|---|---|---|---|\n"
        );
        for one in *series {
            let labels: Vec<String> = one.labels.iter().map(|label| format!("`{label}`")).collect();
            let (name, kind, labels) = (one.name, one.kind.name(), labels.join(", "));
            let _ = writeln!(text, "| `{name}` | {kind} | {labels} | {} |", one.about);
        }
    }
    text
}
