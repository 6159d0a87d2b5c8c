//! An audit of the arena's log, independent of the code that writes it.
//!
//! The audit remembers every entry that it has read. An entry that is in the log once must stay there
//! unchanged, and the entries together must be a possible history: each generation published once and in
//! order, decided once, each promotion against the champion of its time, each game counted once.

use std::collections::BTreeSet;

use serde_json::Value;

/// Prefix of the name of a generation as a player.
const GENERATION: &str = "generation-";
/// The champion before the first promotion.
const FIRST_CHAMPION: &str = "random";

/// What the log held so far. See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct Audit {
    /// A fingerprint of each entry.
    seen: Vec<u64>,
    newest: Option<u64>,
    published: BTreeSet<u64>,
    decided: BTreeSet<u64>,
    promoted: Vec<u64>,
    set_aside: BTreeSet<u64>,
    matches: BTreeSet<u64>,
    /// Match and cluster of all games.
    clusters: BTreeSet<(u64, u64)>,
}

impl Audit {
    /// Number of entries.
    pub(crate) fn entries(&self) -> u64 {
        self.seen.len() as u64
    }

    /// The newest published generation.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// Number of promotions.
    pub(crate) fn promotions(&self) -> usize {
        self.promoted.len()
    }

    /// Compares a log of `length` entries, of which `lines` are those from number `first` on, with the
    /// entries so far, and adds the new ones. Returns what is wrong.
    pub(crate) fn read(&mut self, length: u64, first: u64, lines: &[Vec<u8>]) -> Vec<String> {
        let mut wrong = Vec::new();
        if length < self.entries() {
            wrong.push(format!("the log has {length} entries and had {}", self.entries()));
        }
        for (number, line) in (first..).zip(lines) {
            let fingerprint = fingerprint(line);
            match self.seen.get(number as usize) {
                Some(seen) if *seen == fingerprint => {}
                Some(_) => wrong.push(format!("entry {number} of the log has changed")),
                None => {
                    self.seen.push(fingerprint);
                    if let Err(problem) = self.add(number, line) {
                        wrong.push(format!("entry {number} of the log: {problem}"));
                    }
                }
            }
        }
        wrong
    }

    /// Adds an entry: a checksum, its number, and JSON.
    fn add(&mut self, number: u64, line: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(line);
        let mut words = text.splitn(3, ' ').skip(1);
        if words.next().and_then(|word| word.parse().ok()) != Some(number) {
            return Err("it has another number".to_owned());
        }
        let entry: Value = serde_json::from_str(words.next().unwrap_or_default())
            .map_err(|error| format!("it is not JSON: {error}"))?;
        let Some((kind, body)) = entry.as_object().and_then(|entry| entry.iter().next()) else {
            return Err("it names no kind".to_owned());
        };
        let field = |name: &str| {
            let value = body[name].as_u64();
            value.ok_or_else(|| format!("{kind} has no {name}"))
        };
        match kind.as_str() {
            "run_started" if number == 0 => Ok(()),
            "run_started" => Err("the run starts again".to_owned()),
            "checkpoint_published" => self.publish(field("generation")?),
            "match_started" => match self.matches.insert(field("number")?) {
                true => Ok(()),
                false => Err("a match is opened again".to_owned()),
            },
            "games_played" => self.play(field("number")?, &body["clusters"]),
            "candidate_decided" => self.decide(field("generation")?, &body["outcome"]),
            "checkpoint_set_aside" => {
                self.set_aside.insert(field("generation")?);
                Ok(())
            }
            "checkpoint_restored" => {
                self.set_aside.remove(&field("generation")?);
                Ok(())
            }
            _ => Err(format!("{kind} is unknown")),
        }
    }

    fn publish(&mut self, generation: u64) -> Result<(), String> {
        if !self.published.insert(generation) {
            return Err(format!("generation {generation} is published again"));
        }
        match self.newest.replace(generation) {
            Some(newest) if newest > generation => {
                Err(format!("generation {generation} comes after {newest}"))
            }
            _ => Ok(()),
        }
    }

    fn play(&mut self, number: u64, clusters: &Value) -> Result<(), String> {
        if !self.matches.contains(&number) {
            return Err(format!("match {number} was not opened"));
        }
        for cluster in clusters.as_array().into_iter().flatten() {
            let cluster = cluster["result"]["cluster"].as_u64().ok_or("games without a cluster")?;
            if !self.clusters.insert((number, cluster)) {
                return Err(format!("cluster {cluster} of match {number} is counted again"));
            }
        }
        Ok(())
    }

    fn decide(&mut self, generation: u64, outcome: &Value) -> Result<(), String> {
        if !self.decided.insert(generation) {
            return Err(format!("generation {generation} is decided again"));
        }
        if !self.published.contains(&generation) {
            return Err(format!("generation {generation} was never published"));
        }
        let ruled = &outcome["ruled"];
        if ruled["report"]["ruling"]["verdict"] == "promote" {
            let (beat, champion) = (ruled["champion"].as_str(), self.champion());
            self.promoted.push(generation);
            if beat != Some(champion.as_str()) {
                return Err(format!("{generation} is promoted over {beat:?}, not {champion}"));
            }
        }
        Ok(())
    }

    /// The champion: the last promotion that can play.
    fn champion(&self) -> String {
        let last =
            self.promoted.iter().rev().find(|generation| !self.set_aside.contains(generation));
        last.map_or_else(|| FIRST_CHAMPION.to_owned(), |last| format!("{GENERATION}{last}"))
    }
}

/// FNV-1a (Fowler, Noll and Vo), enough to notice a changed entry.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sound history of two promotions, with its numbers.
    const HISTORY: [&str; 9] = [
        r#"{"run_started":{"version":3}}"#,
        r#"{"checkpoint_published":{"generation":0}}"#,
        r#"{"match_started":{"number":0}}"#,
        r#"{"games_played":{"number":0,"clusters":[{"result":{"cluster":0}},{"result":{"cluster":1}}]}}"#,
        r#"{"candidate_decided":{"generation":0,"outcome":{"ruled":{"champion":"random","report":{"ruling":{"verdict":"promote"}}}}}}"#,
        r#"{"checkpoint_published":{"generation":1}}"#,
        r#"{"candidate_decided":{"generation":1,"outcome":{"dropped":{"reason":"newer"}}}}"#,
        r#"{"checkpoint_published":{"generation":2}}"#,
        r#"{"candidate_decided":{"generation":2,"outcome":{"ruled":{"champion":"generation-0","report":{"ruling":{"verdict":"promote"}}}}}}"#,
    ];

    fn lines(entries: &[&str]) -> Vec<Vec<u8>> {
        let line = |(number, entry): (usize, &&str)| format!("00000000 {number} {entry}");
        entries.iter().enumerate().map(line).map(String::into_bytes).collect()
    }

    fn wrong(entries: &[&str]) -> Vec<String> {
        Audit::default().read(entries.len() as u64, 0, &lines(entries))
    }

    #[test]
    fn a_sound_history_has_no_violation_however_it_is_read() {
        let (all, mut audit) = (lines(&HISTORY), Audit::default());
        assert!(audit.read(4, 0, &all[..4]).is_empty());
        assert!(audit.read(9, 3, &all[3..]).is_empty());
        assert!(audit.read(9, 0, &all).is_empty());
        assert_eq!((audit.entries(), audit.newest(), audit.promotions()), (9, Some(2), 2));
    }

    #[test]
    fn lost_and_changed_entries_are_violations() {
        let mut audit = Audit::default();
        assert!(audit.read(9, 0, &lines(&HISTORY)).is_empty());
        let shorter = audit.clone().read(8, 8, &[]);
        assert_eq!(shorter, ["the log has 8 entries and had 9"]);
        let mut changed = HISTORY;
        changed[5] = r#"{"checkpoint_published":{"generation":7}}"#;
        assert_eq!(audit.read(9, 0, &lines(&changed)), ["entry 5 of the log has changed"]);
    }

    #[test]
    fn a_history_that_cannot_be_is_a_violation() {
        let with = |entry: &'static str| {
            let entries: Vec<&str> = HISTORY.iter().copied().chain([entry]).collect();
            wrong(&entries).pop().unwrap_or_default()
        };
        for (entry, problem) in [
            (HISTORY[0], "the run starts again"),
            (HISTORY[5], "generation 1 is published again"),
            (HISTORY[2], "a match is opened again"),
            (HISTORY[3], "cluster 0 of match 0 is counted again"),
            (HISTORY[8], "generation 2 is decided again"),
            (r#"{"candidate_decided":{"generation":9,"outcome":{}}}"#, "9 was never published"),
            (r#"{"games_played":{"number":4,"clusters":[]}}"#, "match 4 was not opened"),
            (r#"{"lost":{"reason":"damage"}}"#, "lost is unknown"),
        ] {
            assert!(with(entry).contains(problem), "{entry}: {}", with(entry));
        }
        let mut stale = HISTORY.to_vec();
        stale[8] = HISTORY[8];
        stale.insert(8, r#"{"checkpoint_set_aside":{"generation":0}}"#);
        assert!(wrong(&stale)[0].contains("not random"), "{:?}", wrong(&stale));
        let mut backwards = HISTORY.to_vec();
        backwards.swap(5, 7);
        assert!(wrong(&backwards).iter().any(|line| line.contains("comes after")));
    }
}
