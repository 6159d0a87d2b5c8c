//! Checks of the whole run: its files against each other, and the log of the arena.

use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::cluster::Cluster;

/// Time after which a stopped process has left the kernel.
const SETTLE: Duration = Duration::from_millis(50);

/// What the checks counted and found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked {
    /// Times that the run was checked as a whole.
    pub(crate) checks: u32,
    /// Acknowledged games that were looked up in the journal, summed over all checks.
    pub(crate) compared: u64,
    /// Acknowledged games at the last check.
    pub(crate) games: u64,
    /// The newest training state at the last check.
    pub(crate) state: Option<u64>,
}

impl Checked {
    /// Checks the run while its processes are stopped. Returns the violations.
    pub(crate) fn frozen(&mut self, cluster: &mut Cluster) -> Result<Vec<String>> {
        cluster.signal_all("-STOP")?;
        thread::sleep(SETTLE);
        let found = self.run(cluster);
        cluster.signal_all("-CONT")?;
        found
    }

    /// Checks the run, whose processes do not write.
    pub(crate) fn run(&mut self, cluster: &mut Cluster) -> Result<Vec<String>> {
        let mut violations = Vec::new();
        for part in self.parts(cluster)? {
            let detail = part["detail"].as_str().unwrap_or_default();
            let name = part["part"].as_str().unwrap_or_default();
            if part["sound"] != true {
                violations.push(format!("ouro check: {name}: {detail}"));
            } else if name == "journal" {
                let games = number_before(detail, " acknowledged games").unwrap_or_default();
                if games < self.games {
                    let before = self.games;
                    violations.push(format!("{games} acknowledged games, and {before} before"));
                }
                self.games = games;
                self.compared += games;
            } else if name == "states" {
                let newest = detail.rsplit('-').next().and_then(|number| number.parse().ok());
                if newest < self.state {
                    violations.push(format!("{detail}, but before it was {:?}", self.state));
                }
                self.state = newest;
            }
        }
        cluster.read_whole_log()?;
        violations.append(&mut cluster.findings);
        self.checks += 1;
        Ok(violations)
    }

    /// What `ouro check` says of each part.
    fn parts(&self, cluster: &Cluster) -> Result<Vec<Value>> {
        let mut command = Command::new(cluster.binaries.join("ouro"));
        let output = command.args(["check", "--json"]).arg(cluster.run()).output();
        let output = output.context("cannot start ouro check")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        ensure!(matches!(code, Some(0 | 1)), "ouro check ends with {code:?}: {}", said.trim());
        let parts: Value = serde_json::from_slice(&output.stdout).context("ouro check")?;
        Ok(parts.as_array().context("ouro check lists no parts")?.clone())
    }
}

/// The number before `words` in a text.
fn number_before(text: &str, words: &str) -> Option<u64> {
    text.split(words).next()?.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_before_its_words() {
        let text = "9 games from number 0; 27 acknowledged games of actors are there once";
        assert_eq!(number_before(text, " acknowledged games"), Some(27));
        assert_eq!(number_before("no actor kept a log", " acknowledged games"), None);
    }
}
