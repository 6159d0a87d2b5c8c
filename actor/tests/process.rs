//! The binary under a supervisor: signals, exit codes, a restart.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Game, Turn};
use ouro_net::{ContentHash, Generation};
use ouro_proto::arena::v1::pool_service_server::{PoolService, PoolServiceServer};
use ouro_proto::arena::v1::{self};
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_server::{LearnerService, LearnerServiceServer};
use ouro_proto::learner::v1::push_request::Message as Said;
use ouro_proto::learner::v1::push_response::Message as Answer;
use ouro_proto::trajectory::from_wire;
use ouro_proto::{Checkpoint, CheckpointStatus, Hello};
use ouro_replay::Trajectory;
use ouro_replay::check::ClientLine;
use ouro_testkit::network::{tic_tac_toe, tiny, weights};
use ouro_testkit::process::{Ended, Process};
use ouro_testkit::server::{self, Served};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// An arena with one set of weights that counts downloads.
struct Arena {
    weights: Vec<u8>,
    fetched: Arc<AtomicU32>,
}

#[tonic::async_trait]
impl PoolService for Arena {
    type FetchCheckpointStream = ReceiverStream<Result<v1::FetchCheckpointResponse, Status>>;
    type WatchPoolStream = ReceiverStream<Result<v1::WatchPoolResponse, Status>>;

    async fn watch_pool(
        &self,
        _: Request<v1::WatchPoolRequest>,
    ) -> Result<Response<Self::WatchPoolStream>, Status> {
        let checkpoint = Checkpoint {
            hash: ContentHash::of(&self.weights),
            generation: Generation(0),
            step: 0,
            size_bytes: self.weights.len() as u64,
            status: CheckpointStatus::Candidate,
            published_at: 0.0,
            parent: None,
        };
        let newest = Some((&checkpoint).into());
        let snapshot = v1::WatchPoolResponse { newest, ..v1::WatchPoolResponse::default() };
        let (sender, receiver) = mpsc::channel(1);
        sender.send(Ok(snapshot)).await.unwrap();
        // The stream stays open until the server stops.
        tokio::spawn(async move { sender.closed().await });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn fetch_checkpoint(
        &self,
        _: Request<v1::FetchCheckpointRequest>,
    ) -> Result<Response<Self::FetchCheckpointStream>, Status> {
        self.fetched.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel(1);
        let chunk = self.weights.clone().into();
        sender.send(Ok(v1::FetchCheckpointResponse { chunk })).await.unwrap();
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn draw_opponents(
        &self,
        _: Request<v1::DrawOpponentsRequest>,
    ) -> Result<Response<v1::DrawOpponentsResponse>, Status> {
        Err(Status::unimplemented("no actor asks"))
    }

    async fn publish_checkpoint(
        &self,
        _: Request<Streaming<v1::PublishCheckpointRequest>>,
    ) -> Result<Response<v1::PublishCheckpointResponse>, Status> {
        Err(Status::unimplemented("no actor publishes"))
    }
}

/// Epoch, sequence number and game.
type Received = (u64, u64, Trajectory);

/// A learner that accepts and acknowledges every game, but refuses actors named `unwanted`.
#[derive(Clone)]
struct Learner {
    games: Arc<Mutex<Vec<Received>>>,
    count: watch::Sender<usize>,
    epochs: Arc<Mutex<u64>>,
}

#[tonic::async_trait]
impl LearnerService for Learner {
    type PushStream = ReceiverStream<Result<wire::PushResponse, Status>>;

    async fn push(
        &self,
        request: Request<Streaming<wire::PushRequest>>,
    ) -> Result<Response<Self::PushStream>, Status> {
        let mut said = request.into_inner();
        let Some(wire::PushRequest { message: Some(Said::Hello(hello)) }) = said.message().await?
        else {
            return Err(Status::invalid_argument("no hello"));
        };
        let hello = Hello::try_from(hello).unwrap();
        if hello.actor == "unwanted" {
            return Err(Status::failed_precondition("epoch 1 of actor unwanted has ended"));
        }
        let epoch = hello.epoch.unwrap_or_else(|| {
            let mut epochs = self.epochs.lock().unwrap();
            *epochs += 1;
            *epochs
        });
        let (answers, receiver) = mpsc::channel(64);
        let learner = self.clone();
        tokio::spawn(async move {
            let answer = |message| Ok(wire::PushResponse { message: Some(message) });
            let welcome = wire::Welcome { epoch, ..wire::Welcome::default() };
            answers.send(answer(Answer::Welcome(welcome))).await.unwrap();
            while let Ok(Some(wire::PushRequest { message: Some(Said::Trajectory(game)) })) =
                said.message().await
            {
                let watermark = game.sequence;
                let (sequence, game) = from_wire(game, &hello).unwrap();
                learner.games.lock().unwrap().push((epoch, sequence, game));
                learner.count.send_modify(|count| *count += 1);
                let ack = wire::Ack { watermark, ..wire::Ack::default() };
                // The send fails if the actor was killed.
                let _ = answers.send(answer(Answer::Ack(ack))).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn get_status(
        &self,
        _: Request<wire::GetStatusRequest>,
    ) -> Result<Response<wire::GetStatusResponse>, Status> {
        Err(Status::unimplemented("no actor asks"))
    }
}

/// Both services on one port, and a folder for the actor's files.
struct World {
    learner: Learner,
    count: watch::Receiver<usize>,
    fetched: Arc<AtomicU32>,
    server: Served,
    folder: TempDir,
}

async fn world() -> World {
    let weights = weights(&tic_tac_toe(), tiny(), 0, 0, 1).to_safetensors();
    let fetched = Arc::<AtomicU32>::default();
    let arena = Arena { weights, fetched: Arc::clone(&fetched) };
    let (count, counted) = watch::channel(0);
    let learner = Learner { games: Arc::default(), count, epochs: Arc::default() };
    let server = server::bind()
        .await
        .add_service(PoolServiceServer::new(arena), &[])
        .add_service(LearnerServiceServer::new(learner.clone()), &[]);
    let folder = tempfile::tempdir().unwrap();
    World { learner, count: counted, fetched, server: server::start(server), folder }
}

impl World {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a settings file with these additional lines. It has no search unless the lines name a
    /// preset with one.
    fn config(&self, lines: &str) -> PathBuf {
        let path = self.path("settings.toml");
        let address = self.server.url.strip_prefix("http://").unwrap();
        let preset = if lines.contains("actor.search") { "tictactoe" } else { "reinforce-duel" };
        let text = format!(
            "preset = \"{preset}\"\ndeploy.arena = \"{address}\"\ndeploy.learner = \"{address}\"\n\
             deploy.threads = 2\nactor.games_per_thread = 8\n{lines}\n\
             [game]\ngame = \"tic_tac_toe\"\n"
        );
        std::fs::write(&path, text).unwrap();
        path
    }

    fn start(&self, config: &Path, more: &[&str]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-actor"));
        command.arg("--config").arg(config).args(more);
        command.arg("--log-records").arg("--cache").arg(self.path("cache"));
        if !more.contains(&"--run") {
            command.arg("--run").arg(self.path("run"));
        }
        Process::start_piped(&mut command)
    }

    async fn games(&mut self, most: usize) {
        self.count.wait_for(|&count| count >= most).await.unwrap();
    }

    /// Waits for this many games of a life of the actor. Games of a killed process may arrive after
    /// its end, so their number alone does not show that the next process plays.
    async fn games_of(&mut self, life: u64, most: usize) {
        let of_life = || {
            let games = self.learner.games.lock().unwrap();
            games.iter().filter(|(epoch, ..)| *epoch == life).count()
        };
        while of_life() < most {
            self.count.changed().await.unwrap();
        }
    }
}

/// Waits for the exit code and the output.
async fn end(process: Process) -> (Option<i32>, String) {
    let Ended { code, stdout, stderr } =
        tokio::task::spawn_blocking(|| process.end()).await.unwrap();
    (code, stderr + &stdout)
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_plays_the_games_to_their_end_and_pushes_every_one() {
    let mut world = world().await;
    let config = world.config("actor.search.simulations = 8\ndeploy.finish_games = true");
    let mut process = world.start(&config, &[]);
    world.games(50).await;
    process.signal("-TERM");
    let (code, text) = end(process).await;
    assert_eq!(code, Some(0), "{text}");

    let games = world.learner.games.lock().unwrap().clone();
    let rules = TicTacToe::default();
    for (expected, (epoch, sequence, game)) in (1..).zip(games.iter()) {
        assert_eq!((*epoch, *sequence), (1, expected));
        let last = game.replay(&rules).unwrap().finish().unwrap();
        assert_eq!(rules.turn(&last), Turn::Over);
        assert!(game.moves().all(|one| one.search.is_some()));
    }
    // Each game is logged twice: when it is sent and when it is acknowledged.
    let log = std::fs::read_to_string(world.path("run/actor/records.log")).unwrap();
    let lines: Vec<ClientLine> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for acked in [false, true] {
        let numbers = lines.iter().filter(|line| line.acked == acked).map(|line| line.sequence);
        assert!(numbers.eq(1..=games.len() as u64));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_was_killed_begins_a_second_life_with_other_games() {
    let mut world = world().await;
    let config = world.config("");
    let mut process = world.start(&config, &[]);
    world.games(30).await;
    process.kill();
    let mut process = world.start(&config, &[]);
    world.games_of(2, 30).await;
    process.signal("-TERM");
    assert_eq!(end(process).await.0, Some(0));
    let games = world.learner.games.lock().unwrap().clone();
    let second: Vec<_> = games.iter().filter(|(epoch, ..)| *epoch == 2).collect();
    assert!(second.len() >= 30);
    assert_eq!(second[0].1, 1);
    let mut seeds: Vec<u64> = games.iter().map(|(.., game)| game.record.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), games.len());
    // The second start found the weights on disk.
    assert_eq!(world.fetched.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_tell_a_bad_configuration_from_a_learner_that_refuses() {
    let world = world().await;
    let cases: [(&str, &[&str], i32, &str); 8] = [
        ("deploy.threads = 3", &[], 64, "duplicate key"),
        ("actor.epsilon = 2.0", &[], 64, "actor.epsilon is 2; it must be 0 to 1"),
        // Keys that an actor does not use are checked too.
        ("train.batch_moves = 0", &[], 64, "train.batch_moves is 0; it must be 1 to 2^20"),
        ("arena.paralel = 3", &[], 64, "did you mean `arena.parallel`?"),
        ("", &["--arena", "here"], 64, "\"here\" is not an address"),
        (
            "actor.tree_memory_mib = 1\nactor.search.simulations = 900",
            &[],
            64,
            "trees of 900 simulations",
        ),
        ("", &["--run", "/dev/null/no"], 64, "is /dev/null/no/actor"),
        ("", &["--name", "unwanted"], 69, "epoch 1 of actor unwanted has ended"),
    ];
    for (lines, more, expected, said) in cases {
        let process = world.start(&world.config(lines), more);
        let (code, text) = end(process).await;
        assert_eq!(code, Some(expected), "{lines}: {text}");
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_health_check_succeeds_while_the_actor_runs() {
    let mut world = world().await;
    let config = world.config("deploy.name = \"of-{hostname}\"");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listen = ["--listen".to_owned(), port.to_string()];
    let check = |more: &[String]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-actor"));
        command.arg("--config").arg(&config).args(more).arg("healthcheck");
        ouro_testkit::process::run(&mut command)
    };
    check(&listen).assert_refused(69, &["no server answers at", &port.to_string()]);
    check(&[]).assert_refused(64, &["--listen is missing"]);
    let mut process = world.start(&config, &["--listen", &port.to_string()]);
    world.games(1).await;
    check(&listen).success();
    process.signal("-TERM");
    let (code, text) = end(process).await;
    assert_eq!(code, Some(0), "{text}");
    check(&listen).assert_refused(69, &["no server answers at"]);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(world.path("run").join(format!("actor-of-{}", host.trim())).is_dir());
}
