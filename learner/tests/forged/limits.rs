//! Limits of one credential: what an abuser gets, and that it costs an honest actor nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use ouro_service::access::metrics::AccessSource;
use ouro_service::access::{Accepts, CredentialLimits, Guard, Role, TokenFile};
use ouro_service::metrics::Metrics;
use tonic::Code;

use super::actor::{Actor, Running, config, hello, won_game};

/// Games of the honest actor beside the flood.
const HONEST: u32 = 60;

/// A learner that knows the tokens of `honest` and `abuser`.
struct Guarded {
    running: Running,
    guard: Guard,
    honest: String,
    abuser: String,
}

impl Guarded {
    async fn start(folder: &Path, limits: CredentialLimits) -> Self {
        let path = folder.join("tokens.toml");
        let mut file = TokenFile::default();
        let tokens = ["honest", "abuser"].map(|name| file.create(name, Role::Actor, None));
        let [honest, abuser] = tokens.map(|token| token.expect("a new name").reveal());
        file.save(&path).expect("it is written");
        let accepts = Accepts { tokens: Some(&path), limits, ..Accepts::default() };
        let guard = Guard::new(accepts).expect("the file is valid");
        let mut config = config(&folder.join("learner"));
        config.guard = Some(guard.clone());
        Self { running: Running::start(config).await, guard, honest, abuser }
    }

    async fn actor(&self, name: &str, token: &str) -> Actor {
        let hello = hello(name, None, &config(Path::new("")).game);
        Actor::welcomed_as(&self.running, hello, Some(token)).await.0
    }
}

#[tokio::test]
async fn a_sender_of_forged_games_is_refused_for_a_while_and_an_honest_actor_goes_on() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let limits = CredentialLimits {
        invalid_per_minute: 5,
        suspension: Duration::from_secs(3_600),
        ..CredentialLimits::default()
    };
    let guarded = Guarded::start(folder.path(), limits).await;
    let mut honest = guarded.actor("honest", &guarded.honest).await;
    let mut abuser = guarded.actor("abuser", &guarded.abuser).await;
    let forged = || {
        let mut game = won_game();
        game.outcomes.reverse();
        game
    };
    for _ in 0..5 {
        assert!(abuser.push(forged()).await.is_some(), "the game is refused, its sender is not");
    }
    // The next one ends the stream; its refusal may come before.
    abuser.send_next(forged()).await;
    let status = abuser.end().await.expect("a status");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    let text = status.message();
    assert!(text.starts_with("the token of abuser sent too many invalid messages"), "{text}");
    assert!(status.metadata().contains_key("retry-after"), "{status:?}");
    let again = Actor::open_as(&guarded.running, vec![], Some(&guarded.abuser)).await;
    let status = again.err().expect("no new stream either");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    for _ in 0..20 {
        honest.push_honest(won_game(), "the abuser was suspended").await;
    }
    // A game that is only too old counts for nothing.
    for _ in 0..20 {
        let mut ahead = won_game();
        for seat in &mut ahead.seats {
            seat.generation = seat.generation.map(|_| 7);
        }
        assert!(honest.push(ahead).await.is_some(), "generation 7 is not known");
    }
    honest.push_honest(won_game(), "games of a generation that is not known").await;
    let refusals = guarded.guard.refusals();
    assert_eq!((refusals.suspended, refusals.invalid), (2, 0));
    drop((honest, abuser));
    guarded.running.stop().await;
}

#[tokio::test]
async fn a_flood_waits_while_an_honest_actor_keeps_its_rate() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    // A burst of 100 messages, then ten per second.
    let limits = CredentialLimits { messages_per_second: 10, ..CredentialLimits::default() };
    let guarded = Guarded::start(folder.path(), limits).await;
    let mut honest = guarded.actor("honest", &guarded.honest).await;
    let mut abuser = guarded.actor("abuser", &guarded.abuser).await;
    // The abuser sends 1,000 games without waiting for answers.
    let start = Instant::now();
    let flood = tokio::spawn(async move {
        for _ in 0..1_000 {
            abuser.send_next(won_game()).await;
        }
        abuser
    });
    // Every game of the honest actor is acknowledged, although the limit is that of the abuser.
    for _ in 0..HONEST {
        honest.push_honest(won_game(), "a flood of another actor").await;
    }
    let status = guarded.running.status_as(Some(&guarded.honest)).await;
    let refill = 10.0 * start.elapsed().as_secs_f64();
    // A burst of 100 messages, those of the time since, and at most the games of one frame.
    let most = 100.0 + refill + 64.0;
    let of_abuser = status.games - f64::from(HONEST);
    assert!(of_abuser <= most, "{of_abuser} games of the abuser, at most {most}");
    let access = AccessSource::new([Some(guarded.guard.clone())], None);
    let text = Metrics::default().with(access).render().expect("text");
    let throttled = "ouro_access_throttled_seconds_total{role=\"actor\",credential=";
    let series: Vec<_> = text.lines().filter(|line| line.starts_with(throttled)).collect();
    assert!(
        series.len() == 1 && series[0].contains("\"abuser\""),
        "only the abuser waits: {series:?}"
    );
    flood.abort();
    guarded.running.stop().await;
}

/// The bound holds on any machine: the pauses lie between the first and the last refusal.
#[tokio::test]
async fn a_connection_without_a_credential_is_read_20_times_a_second_after_invalid_games() {
    const FORGED: u32 = 6;
    let folder = tempfile::tempdir().expect("a scratch folder");
    let running = Running::start(config(folder.path())).await;
    let hello = |name: &str| hello(name, None, &config(Path::new("")).game);
    let (mut abuser, _) = Actor::welcomed(&running, hello("abuser")).await;
    let mut forged = won_game();
    forged.outcomes.reverse();
    let start = Instant::now();
    for _ in 0..FORGED {
        assert!(abuser.push(forged.clone()).await.is_some(), "an outcome is wrong");
    }
    // The next game is read 50 ms after the last refusal.
    abuser.push_honest(won_game(), "invalid games").await;
    let (took, least) = (start.elapsed(), FORGED * Duration::from_millis(50));
    assert!(took >= least, "{FORGED} invalid games took {took:?}, at least {least:?}");
    let (mut honest, _) = Actor::welcomed(&running, hello("honest")).await;
    honest.push_honest(won_game(), "invalid games of another actor").await;
    drop((abuser, honest));
    running.stop().await;
}
