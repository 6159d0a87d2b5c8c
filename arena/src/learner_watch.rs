//! What the arena knows of the learner, for the web page and for metrics.
//!
//! A task asks the learner for its status every two seconds. The arena depends on no answer: without
//! one, the page says so and keeps the last figures.

use std::sync::Arc;
use std::time::Duration;

use ouro_proto::{Credential, LearnerReport, StatusClient};
use ouro_service::{Backoff, Clock};
use ouro_tls::ClientTls;
use tokio::sync::watch;

use crate::web::gauges::{Gauge, Gauges};

/// Interval between two requests.
const EVERY: Duration = Duration::from_secs(2);

/// The last answer of the learner, and whether it answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct LearnerView {
    /// URL of the learner; `None` if no learner is watched.
    pub(crate) address: Option<Arc<str>>,
    /// The last answer.
    pub(crate) report: Option<Arc<LearnerReport>>,
    /// Why the last request failed; `None` if it succeeded.
    pub(crate) error: Option<String>,
    /// Whether the charts are made of the answers. Otherwise another part of the process makes them.
    pub(crate) is_charted: bool,
}

impl LearnerView {
    /// Whether the last request succeeded.
    pub(crate) fn is_reachable(&self) -> bool {
        self.report.is_some() && self.error.is_none()
    }
}

/// What the pages know of the learner. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct LearnerFigures {
    /// The charts.
    pub(crate) gauges: Gauges,
    /// The last answer of the learner.
    pub(crate) view: watch::Receiver<LearnerView>,
}

/// A learner to watch.
#[derive(Debug)]
pub(crate) struct LearnerWatch {
    pub(crate) address: String,
    pub(crate) credential: Credential,
    pub(crate) tls: Option<ClientTls>,
    pub(crate) view: watch::Sender<LearnerView>,
    /// Charts to which the figures are added; `None` if another part of the process adds them.
    pub(crate) charts: Option<Gauges>,
    /// Unix time at which the charts start.
    pub(crate) start: Duration,
    pub(crate) clock: Arc<dyn Clock>,
}

impl LearnerWatch {
    /// Asks until the future is dropped.
    pub(crate) async fn run(self) {
        let connect =
            || StatusClient::new(&self.address, self.credential.clone(), self.tls.as_ref());
        let mut client = match connect() {
            Ok(client) => client,
            Err(error) => {
                self.away(error.to_string());
                return;
            }
        };
        let (address, is_charted) = (Some((&*self.address).into()), self.charts.is_some());
        self.view.send_modify(|view| (view.address, view.is_charted) = (address, is_charted));
        let mut backoff = Backoff::new(EVERY, 2 * EVERY);
        let mut before = None;
        loop {
            match client.get().await {
                Ok(report) => {
                    let since = self.clock.unix().saturating_sub(self.start);
                    let now = (since, report.games, report.positions);
                    if let Some(charts) = &self.charts {
                        chart(charts, &report, before, now);
                    }
                    before = Some(now);
                    self.answered(report);
                    backoff.reset();
                    tokio::time::sleep(EVERY).await;
                }
                Err(error) => {
                    // No rate spans the time in which the learner was away.
                    before = None;
                    // The connection may carry a certificate that has expired since it was opened.
                    if error.is_refusal()
                        && let Ok(again) = connect()
                    {
                        client = again;
                    }
                    self.away(error.to_string());
                    backoff.sleep().await;
                }
            }
        }
    }

    fn answered(&self, report: LearnerReport) {
        let was_away = self.view.borrow().error.is_some();
        if was_away {
            tracing::info!(learner = self.address, "the learner answers");
        }
        self.view.send_modify(|view| (view.report, view.error) = (Some(report.into()), None));
    }

    /// Logs the first failure of a series.
    fn away(&self, error: String) {
        let view = self.view.borrow().clone();
        if view.error.is_none() {
            let learner = &self.address;
            tracing::info!(
                learner,
                error,
                "the learner does not answer: the page lacks its figures"
            );
        }
        if view.error.as_deref() != Some(&*error) {
            self.view.send_modify(|view| view.error = Some(error));
        }
    }
}

/// Time since the start of the charts, games and positions at a request.
type Counted = (Duration, f64, f64);

/// Adds the figures of an answer to the charts, with rates since the answer `before`.
fn chart(charts: &Gauges, report: &LearnerReport, before: Option<Counted>, now: Counted) {
    let (at, games, positions) = now;
    let mut values = Vec::new();
    if let Some((then, games_then, positions_then)) = before {
        let seconds = at.saturating_sub(then).as_secs_f64().max(1e-3);
        // A learner that was started anew may count less than before.
        let rate = |now: f64, then: f64| (now - then).max(0.0) / seconds;
        let games_gauge = Gauge { chart: "games learned from", line: "games", unit: "/s" };
        let positions_gauge = Gauge { chart: "positions accepted", line: "positions", unit: "/s" };
        values.push((positions_gauge, rate(positions, positions_then)));
        values.push((games_gauge, rate(games, games_then)));
    }
    values.extend(figures(report));
    for (gauge, value) in values {
        charts.add(gauge, at.as_secs_f64(), value);
    }
}

/// The figures of a learner as values of charts. Before the first step there is no loss.
fn figures(report: &LearnerReport) -> Vec<(Gauge<'static>, f64)> {
    let window = |line| Gauge { chart: "replay window", line, unit: "positions" };
    let mut values =
        vec![(window("held"), report.window_positions), (window("fit"), report.window_capacity)];
    if report.step > 0 {
        let loss = |line| Gauge { chart: "loss", line, unit: "a position" };
        values.extend([
            (loss("policy"), report.policy_loss),
            (loss("value"), report.value_loss),
            (Gauge { chart: "entropy", line: "entropy", unit: "nats" }, report.entropy),
            (Gauge { chart: "mean return", line: "return", unit: "" }, report.mean_return),
            (Gauge { chart: "staleness", line: "lag", unit: "generations" }, report.staleness),
        ]);
    }
    values
}
