//! Whether the stores keep the results and the weights.

use ouro_arena::store::ServerReport;

use super::super::facts::{Facts, ObjectsFacts};
use super::super::finding::Finding;

/// Share of the memory limit of a server from which a warning is due.
const MOST_MEMORY: f64 = 0.8;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found: Vec<Finding> = kind(facts).into_iter().collect();
    match &facts.redis {
        None => {}
        Some(Err(problem)) => found.push(Finding::fail(
            "redis",
            "store",
            problem.clone(),
            "start the server, or correct deploy.store and deploy.store_password_file",
        )),
        Some(Ok(report)) => found.extend(server(report, facts)),
    }
    found.extend(facts.objects.as_ref().map(|objects| self::objects(objects, facts)));
    found
}

fn objects(objects: &ObjectsFacts, facts: &Facts) -> Finding {
    let has_published = facts.arena().is_some_and(|arena| !arena.facts.published.is_empty());
    match objects {
        ObjectsFacts::Holds { url, weights: 0 } if has_published => Finding::fail(
            "objects",
            "store",
            format!("{url} holds no weights, but the arena has some"),
            "give the object store that the arena uses (deploy.weights, --weights)",
        ),
        ObjectsFacts::Holds { url, weights } => {
            Finding::ok("objects", "store", format!("{url} holds {weights} weights"))
        }
        ObjectsFacts::NotBuilt { url } => Finding::warn(
            "objects",
            "store",
            format!("this program cannot look into {url}"),
            "build it with --features object-store; the arena must be built so, too",
        ),
        ObjectsFacts::Failed { problem } => Finding::fail(
            "objects",
            "store",
            problem.clone(),
            "start the object store, or correct deploy.weights and the variables AWS_*",
        ),
    }
}

/// Whether the arena keeps its results where the settings say.
fn kind(facts: &Facts) -> Option<Finding> {
    let used = &*facts.arena()?.facts.now.store;
    let expected = if facts.redis.is_some() { "redis" } else { "files" };
    // Without a settings file, nothing is known of the store.
    if used == expected || facts.redis.is_none() && facts.game.is_none() {
        return Some(Finding::ok("store", "arena", format!("results are in {used}")));
    }
    let value = format!("results are in {used}, and the settings say {expected}");
    let remedy = "give the settings that the arena runs with (--config, --store)";
    Some(Finding::warn("store", "arena", value, remedy))
}

fn server(report: &ServerReport, facts: &Facts) -> Vec<Finding> {
    let ServerReport { name, version, problems, .. } = report;
    let mut found = Vec::new();
    for problem in problems {
        let (problem, remedy) = problem.split_once("; ").unwrap_or((problem, "correct it"));
        found.push(Finding::fail("redis", "store", format!("{name}: {problem}"), remedy));
    }
    if problems.is_empty() {
        let value = format!("{name}, version {version}: its settings keep what it acknowledges");
        found.push(Finding::ok("redis", "store", value));
    }
    found.push(log(report));
    found.push(memory(report));
    let uses_it = facts.arena().is_some_and(|arena| arena.facts.now.store == "redis");
    let entries = report.entries;
    found.push(match uses_it && entries == 0 {
        false => Finding::ok("entries", "store", format!("{entries} entries of results")),
        true => Finding::fail(
            "entries",
            "store",
            "no results under this name, but the arena has some",
            "give the server and the name that the arena uses (deploy.store, deploy.store_name)",
        ),
    });
    found.push(jobs(report));
    found
}

fn jobs(report: &ServerReport) -> Finding {
    let ServerReport { workers, jobs_waiting, jobs_played, .. } = report;
    let value = format!("{workers} active; {jobs_waiting} jobs wait, {jobs_played} are played");
    match *workers == 0 && *jobs_waiting > 0 {
        false => Finding::ok("workers", "store", value),
        true => Finding::warn(
            "workers",
            "store",
            value,
            "start workers (ouro-arena worker), or wait until the arena takes the jobs back",
        ),
    }
}

fn log(report: &ServerReport) -> Finding {
    let ServerReport { last_write, last_rewrite, .. } = report;
    let value =
        format!("last write of the append-only file: {last_write}; last rewrite: {last_rewrite}");
    if !report.has_log {
        let remedy = "run CONFIG SET appendonly yes and CONFIG REWRITE";
        return Finding::fail("aof", "store", "there is no append-only file", remedy);
    }
    if last_write != "ok" {
        let remedy = "free space on the disk of the server, or repair it";
        return Finding::fail("aof", "store", value, remedy);
    }
    if last_rewrite != "ok" {
        let remedy =
            "read the log of the server; a rewrite needs free memory and space on the disk";
        return Finding::warn("aof", "store", value, remedy);
    }
    Finding::ok("aof", "store", value)
}

fn memory(report: &ServerReport) -> Finding {
    let (used, limit) = (report.memory_bytes as f64, report.memory_limit as f64);
    let mib = |bytes: f64| format!("{:.1} MiB", bytes / f64::from(1 << 20));
    if report.memory_limit == 0 {
        let value = format!("{} without a limit", mib(used));
        let remedy = "set maxmemory to about 70 % of the memory that the server may use; without \
                      it, the system ends the server before matches can pause";
        return Finding::warn("memory", "store", value, remedy);
    }
    let value = format!("{} of {}", mib(used), mib(limit));
    match used > MOST_MEMORY * limit {
        false => Finding::ok("memory", "store", value),
        true => Finding::warn(
            "memory",
            "store",
            value,
            "raise maxmemory: matches pause once the server refuses writes",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::finding::Level::{Fail, Warn};
    use super::super::testing::{after, assert_one, of_arena};
    use super::*;

    fn report(facts: &mut Facts) -> &mut ServerReport {
        facts.redis.as_mut().expect("a server").as_mut().expect("it answered")
    }

    #[test]
    fn a_server_that_does_not_answer_or_loses_writes_is_found_with_the_command() {
        assert_one(Fail, "redis", "store", &["timed out", "deploy.store"], |facts| {
            facts.redis = Some(Err("redis at x: timed out".to_owned()));
        });
        let problem = "appendonly is \"no\", so that a restart loses everything; run CONFIG SET x";
        let parts = ["redis at 10.0.0.4:6379: appendonly", "; run CONFIG SET x"];
        assert_one(Fail, "redis", "store", &parts, |facts| {
            report(facts).problems.push(problem.to_owned());
        });
    }

    #[test]
    fn failed_writes_and_rewrites_of_the_file_are_found() {
        assert_one(Fail, "aof", "store", &["no append-only file", "CONFIG SET"], |facts| {
            report(facts).has_log = false;
        });
        assert_one(Fail, "aof", "store", &["err", "disk"], |facts| {
            report(facts).last_write = "err".to_owned();
        });
        assert_one(Warn, "aof", "store", &["rewrite: err"], |facts| {
            report(facts).last_rewrite = "err".to_owned();
        });
    }

    #[test]
    fn memory_near_its_limit_or_without_one_is_found() {
        assert_one(Warn, "memory", "store", &["MiB without a limit", "set maxmemory"], |facts| {
            report(facts).memory_limit = 0;
        });
        assert_one(Warn, "memory", "store", &["9.0 MiB of 10.0 MiB", "maxmemory"], |facts| {
            (report(facts).memory_bytes, report(facts).memory_limit) = (9 << 20, 10 << 20);
        });
        assert!(after(|facts| report(facts).memory_limit = 10 << 20).is_empty());
    }

    #[test]
    fn jobs_that_wait_for_nobody_are_found() {
        assert_one(Warn, "workers", "store", &["0 active; 4 jobs wait", "start"], |facts| {
            report(facts).jobs_waiting = 4;
        });
        let played = |facts: &mut Facts| {
            (report(facts).jobs_waiting, report(facts).workers) = (4, 1);
        };
        assert!(after(played).is_empty());
    }

    #[test]
    fn an_object_store_out_of_reach_or_without_weights_is_found() {
        let url = || "s3://bucket/run".to_owned();
        assert_one(Fail, "objects", "store", &["refused", "AWS_*"], |facts| {
            let problem = "s3://bucket/run cannot be used: connection refused".to_owned();
            facts.objects = Some(ObjectsFacts::Failed { problem });
        });
        assert_one(Fail, "objects", "store", &["no weights", "--weights"], |facts| {
            facts.objects = Some(ObjectsFacts::Holds { url: url(), weights: 0 });
        });
        assert_one(Warn, "objects", "store", &["s3://bucket/run", "--features"], |facts| {
            facts.objects = Some(ObjectsFacts::NotBuilt { url: url() });
        });
        let holds = |facts: &mut Facts| {
            facts.objects = Some(ObjectsFacts::Holds { url: url(), weights: 9 });
        };
        assert!(after(holds).is_empty());
    }

    #[test]
    fn another_store_or_name_than_the_arena_uses_is_found() {
        assert_one(Fail, "entries", "store", &["deploy.store_name"], |facts| {
            report(facts).entries = 0;
        });
        let files = |facts: &mut Facts| of_arena(facts).facts.now.store = "files".to_owned();
        assert_one(Warn, "store", "arena", &["in files", "say redis"], files);
        assert_one(Warn, "store", "arena", &["in redis", "say files"], |facts| facts.redis = None);
        let without_settings = |facts: &mut Facts| (facts.redis, facts.game) = (None, None);
        assert!(after(without_settings).is_empty());
    }
}
