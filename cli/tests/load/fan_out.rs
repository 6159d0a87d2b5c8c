//! What the arena spends on actors: streams of the pool, and files of weights.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ouro_proto::arena_client::{ArenaClient, ArenaError, PoolWatch};
use ouro_testkit::print_uncaptured as print;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::learner::{LoadedLearner, cpu_of_process};
use super::plan::{PUSHED, Plan};

/// Clients that fetch weights at once.
const FETCHING: usize = 16;

/// Fetches the network of the last game again and again, beside watchers of the pool.
pub(crate) fn run(plan: &Plan) {
    let (name, settings) = PUSHED[PUSHED.len() - 1];
    let mut learner = LoadedLearner::start(settings, "");
    let url = learner.arena_url();
    let runtime = Runtime::new().expect("a runtime");
    let memory = |learner: &mut LoadedLearner| {
        learner.arena.usage().expect("a running process").peak_memory as f64
    };
    let before = memory(&mut learner);
    let watching: Vec<PoolWatch> = runtime
        .block_on(async {
            let mut watches = Vec::new();
            for _ in 0..plan.actors {
                let mut watch = ArenaClient::new(&url)?.watch_pool().await?;
                watch.next().await?;
                watches.push(watch);
            }
            Ok::<_, ArenaError>(watches)
        })
        .expect("the arena answers");
    let per_watcher = (memory(&mut learner) - before) / watching.len() as f64 / 1_024.0;

    let newest = runtime.block_on(async {
        let pool = ArenaClient::new(&url)?.get_pool().await?;
        Ok::<_, ArenaError>(pool.newest)
    });
    let newest = newest.expect("the arena answers").expect("published weights");
    let (id, start, end) = (learner.arena.id(), Instant::now(), plan.length);
    let (used, fetched) = (cpu_of_process(id), Arc::new(AtomicU64::new(0)));
    let mut clients = JoinSet::new();
    for _ in 0..FETCHING {
        let (url, newest, fetched) = (url.clone(), newest.clone(), Arc::clone(&fetched));
        let fetch = async move {
            let mut client = ArenaClient::new(&url)?;
            while start.elapsed() < end {
                client.fetch_weights(&newest).await?;
                fetched.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, ArenaError>(())
        };
        clients.spawn_on(fetch, runtime.handle());
    }
    for ended in runtime.block_on(clients.join_all()) {
        ended.expect("the arena sends the weights");
    }
    let (seconds, count) = (start.elapsed().as_secs_f64(), fetched.load(Ordering::Relaxed) as f64);
    let used = cpu_of_process(id) - used;
    print(format_args!(
        "\nfan-out of the network of {name}: {} bytes\n\n\
         | watchers | arena's memory per watcher, KiB | fetches/s | arena, CPU-ms per fetch |\n|---|---|---|---|\n\
         | {} | {per_watcher:.1} | {:.0} | {:.3} |",
        newest.size_bytes,
        watching.len(),
        count / seconds,
        used / count * 1e3,
    ));
    drop(watching);
    learner.end();
}
