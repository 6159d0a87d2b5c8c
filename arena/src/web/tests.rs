//! Large boards in a real browser: the pixels of the canvas against the rules.
//!
//! With `OURO_SCREENSHOTS=DIR` the test also takes the screenshots of the documentation: see
//! `cargo xtask screenshots`.

use std::net::SocketAddr;
use std::path::PathBuf;

use axum::extract::{Path, State};
use ouro_game::catalog::ReplayVisitor;
use ouro_game::record::{Recorder, Replay};
use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Action, Game, GameConfig, GameRecord};
use ouro_net::Generation;
use ouro_rating::ClusterShape;
use ouro_replay::testing::MemoryDisk;
use ouro_service::ConnectionLimits;
use ouro_snakgame::Named;
use ouro_testkit::webdriver::{Browser, Key};

use super::draw::tests::games;
use super::draw::tests::large::last_position;
use super::*;
use crate::config::MatchConfig;
use crate::learner_watch::LearnerView;
use crate::player_id::{MatchKey, PlayerId};
use crate::store::{GameKey, MatchInfo, StoredGame};

/// JavaScript: one character for each cell, by the colour of a pixel of the cell: a character of the
/// format of the cells, or `?` for a pixel that has none of their colours.
const CELLS: &str = r##"(() => {
    const canvas = document.getElementById("frame");
    const { columns, rows } = canvas.dataset;
    const scale = canvas.width / columns;
    const style = getComputedStyle(canvas);
    const kinds = {};
    for (const [name, kind] of [["--board", "."], ["--quiet", "#"], ["--c0", "A"], ["--c1", "a"]]) {
        kinds[style.getPropertyValue(name).trim()] = kind;
    }
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const hex = (byte) => byte.toString(16).padStart(2, "0");
    let cells = "";
    for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) {
        const inside = Math.floor((scale - 1) / 2);
        const at = 4 * ((row * scale + inside) * canvas.width + column * scale + inside);
        cells += kinds["#" + hex(data[at]) + hex(data[at + 1]) + hex(data[at + 2])] || "?";
    }
    return cells;
})()"##;
/// JavaScript: the canvas as an image.
const IMAGE: &str = "document.getElementById('frame').toDataURL()";
const PLY: &str = "Number(document.querySelector('[data-go=slider]').value)";
const BUTTON: &str = "document.querySelector('[data-go=play]').textContent";
const NOTE: &str = "document.getElementById('note').textContent";
const CAPTION: &str = "document.getElementById('caption').textContent";

/// Pixels of a cell on the screen.
const SCALE: &str =
    "document.getElementById('frame').width / document.getElementById('frame').dataset.columns";
/// The width of the canvas on the page less its width in pixels, which scaling would make differ.
const STRETCH: &str = "document.getElementById('frame').getBoundingClientRect().width - \
                       document.getElementById('frame').width";

/// Turns of a game that is played to its end, which the highest speed then takes a second or two for.
const PLAYED: std::ops::Range<usize> = 1_001..2_000;

/// A state with these games as the games of match 0, each as a cluster.
fn state_with(games: Vec<StoredGame>) -> (Arc<ArenaState>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (state, _) =
        crate::testing::state(folder.path(), &MemoryDisk::new(), &MatchConfig::default());
    let info = MatchInfo {
        number: 0,
        key: MatchKey::rating(PlayerId::Generation(Generation(1)), PlayerId::random()),
        shape: ClusterShape { seats: 2 },
        rule: None,
        player: "net{weights=self}".to_owned(),
        opened_at: 0.5,
    };
    let number = state.store().open_match(&info).unwrap().number;
    let games: Vec<(GameKey, StoredGame)> = games
        .into_iter()
        .zip(0..)
        .map(|(game, cluster)| (GameKey { number, cluster, game: 0 }, game))
        .collect();
    state.store().record(number, &[], &games).unwrap();
    (Arc::new(state), folder)
}

/// The figures of no learner.
fn no_learner() -> LearnerFigures {
    LearnerFigures {
        gauges: Gauges::default(),
        view: tokio::sync::watch::channel(LearnerView::default()).1,
    }
}

/// Serves these games as the games of match 0, each as a cluster. Returns the address.
async fn serve_games(games: Vec<StoredGame>, stop: CancellationToken) -> SocketAddr {
    let (state, folder) = state_with(games);
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = HttpServer::bind(address, ConnectionLimits::for_files(256)).await.unwrap();
    let address = server.local_addr();
    let access = WebAccess { names: Vec::new(), guard: None };
    tokio::spawn(async move {
        let _folder = folder;
        serve(server, access, state, no_learner(), stop, Duration::ZERO).await
    });
    address
}

#[tokio::test]
async fn a_rendering_counts_until_it_ends_even_if_its_client_disconnects() {
    let (state, _folder) = state_with(Vec::new());
    let site = Site::new(state, no_learner(), CancellationToken::new());
    let (started, starts) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let client = site.clone();
    let request = tokio::spawn(async move {
        let work = move |_: &crate::state::ArenaState| {
            started.send(()).unwrap();
            released.recv().unwrap();
            Ok(())
        };
        client.rendering(work).await.map_err(drop)
    });
    starts.await.unwrap();
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    assert_eq!(site.renderings.available_permits(), RENDERINGS - 1);
    release.send(()).unwrap();
    let all = site.renderings.acquire_many(RENDERINGS as u32).await;
    assert!(all.is_ok(), "the permit comes back");
}

#[tokio::test]
async fn frames_hold_their_slot_until_they_are_sent() {
    let (state, _folder) = state_with(vec![tic_tac_toe()]);
    let site = Site::new(state, no_learner(), CancellationToken::new());
    let frames = super::games::frames(State(site.clone()), Path((0, 0, 0)));
    let frames = frames.await.unwrap();
    assert_eq!(site.large_bodies.available_permits(), LARGE_BODIES - 1);
    let length = frames.headers()["content-length"].to_str().unwrap().to_owned();
    let json = axum::body::to_bytes(frames.into_body(), usize::MAX).await.unwrap();
    assert!(json.starts_with(b"{\"frames\":[") && json.len().to_string() == length);
    let all = site.large_bodies.acquire_many(LARGE_BODIES as u32).await;
    assert!(all.is_ok(), "the slot comes back");
}

/// A game of one ply.
fn tic_tac_toe() -> StoredGame {
    let game = TicTacToe::default();
    let mut recorder = Recorder::new(&game, 1);
    recorder.advance(&game, &[Action(4), Action(0)]).unwrap();
    StoredGame {
        record: recorder.into_record(GameConfig::by_name("tic_tac_toe").unwrap()),
        players: vec![PlayerId::random(); 2],
        outcomes: vec![0.0; 2],
        scores: vec![0.0; 2],
        truncated: true,
    }
}

/// The game of a record, in whose seats this player sits.
fn stored(player: &str, record: GameRecord) -> StoredGame {
    struct Results;
    impl ReplayVisitor for Results {
        type Output = Vec<(f32, f32)>;

        fn visit<G: Game>(self, game: &G, replay: Replay<'_, G>) -> Self::Output {
            let end = replay.finish().unwrap();
            (0..game.players())
                .map(|seat| (game.outcome(&end, seat), game.score(&end, seat)))
                .collect()
        }
    }
    let (outcomes, scores): (Vec<_>, Vec<_>) = record.replay(Results).unwrap().into_iter().unzip();
    let players = vec![PlayerId::Anchor(player.into()); outcomes.len()];
    StoredGame { record, players, outcomes, scores, truncated: false }
}

/// Opens a position of a game and waits for its frames.
fn open(browser: &Browser, address: SocketAddr, cluster: usize, ply: usize) {
    browser.open(&format!("http://{address}/games/0/{cluster}/0?ply={ply}"));
    browser.wait("!document.querySelector('[data-go=slider]').hidden");
}

/// Checks that the cells are drawn as expected, except for as many as the marks of four ends can
/// cover.
fn compare(drawn: &str, expected: &[u8], scale: f64) {
    assert_eq!(drawn.len(), expected.len());
    // A mark is at least 13 pixels wide with its outlines.
    let covered = 4.0 * (13.0 / scale).ceil().max(1.0).powi(2);
    let other = drawn.bytes().zip(expected).filter(|&(drawn, expected)| drawn != *expected);
    let other = other.count();
    assert!(other as f64 <= covered, "{other} cells differ; marks cover {covered}");
}

/// Checks the last position, and that stepping back and forth leads to the same image.
fn shows_its_cells_and_steps(browser: &Browser, record: &GameRecord) {
    let last = record.plies.len();
    let expected = last_position(record);
    compare(&browser.text(CELLS), &expected, browser.number(SCALE));
    assert!(browser.number(STRETCH).abs() < 0.01, "a cell has a whole number of pixels");
    let opened = browser.text(IMAGE);
    browser.press(Key::End);
    assert_eq!(browser.text(IMAGE), opened, "the frames lead to the position of the page");
    browser.press(Key::Left);
    // At most 65,536 frames are sent.
    let every = last.div_ceil(65_536);
    assert_eq!(browser.number(PLY), ((last - 1) / every * every) as f64);
    let note = if every == 1 { "" } else { "turns, 1 in 2 is shown, and the last." };
    assert!(browser.text(NOTE).ends_with(note) && (every == 1) == browser.text(NOTE).is_empty());
    assert_ne!(browser.text(IMAGE), opened);
    browser.press(Key::Right);
    assert_eq!(browser.text(IMAGE), opened, "back and forth is the same position");
    assert!(browser.text(CAPTION).starts_with(&format!("Turn {last}: ")));
    browser.press(Key::Home);
    let first = browser.text(CELLS);
    assert!(first.matches(['A', 'a']).count() <= 1, "bodies at the start");
    if PLAYED.contains(&last) {
        plays_to_the_end(browser, last);
    }
    browser.press(Key::End);
    assert_eq!(browser.text(IMAGE), opened, "from the start to the end is the same position");
    let walls = expected.iter().filter(|&&mark| mark == b'#').count();
    assert!(walls - first.matches('#').count() < 20, "the mark of the head covers few cells");
}

/// Plays from the position in view to the end, at the highest speed.
fn plays_to_the_end(browser: &Browser, last: usize) {
    let speed = "document.querySelector('[data-go=speed]')";
    browser.value(&format!("({speed}.value = [...{speed}.options].at(-1).value)"));
    browser.press(Key::Space);
    browser.wait(&format!("{PLY} === {last} && {BUTTON}.includes('Play')"));
}

/// A browser; `None` if none is installed.
fn start_browser() -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        ouro_testkit::not_run("chromedriver is not on the PATH; set OURO_CHROMEDRIVER");
    }
    browser
}

/// JavaScript: listens to streams of events. The first is lost and then refused, the second opens.
/// `seen` has the URLs, what the page says, and its waits, which are left out.
const REFUSED: &str = r#"(() => {
    const { setTimeout } = window;
    const link = document.getElementById("link");
    const states = [[0, 2], [1]];
    window.seen = [];
    window.setTimeout = (run, delay, ...rest) => {
        // The test sets short timers itself.
        if (delay < 1000) return setTimeout(run, delay, ...rest);
        seen.push(delay >= 5000 && delay <= 10000 ? "5 to 10 s" : `${delay} ms`);
        return setTimeout(run, 0, ...rest);
    };
    window.EventSource = class {
        static CLOSED = 2;
        addEventListener() {}
        constructor(url) {
            seen.push(url);
            const report = (state) => {
                this.readyState = state;
                if (state === 1) this.onopen(); else this.onerror();
                seen.push(link.textContent);
            };
            // The page sets its handlers first.
            setTimeout(() => states.shift().forEach(report), 0);
        }
    };
    listen("/again", {});
})()"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_events_were_refused_asks_for_them_again() {
    let Some(browser) = start_browser() else { return };
    let stop = CancellationToken::new();
    let address = serve_games(Vec::new(), stop.clone()).await;
    browser.open(&format!("http://{address}/"));
    browser.wait("document.getElementById('link').textContent === 'live'");
    browser.value(REFUSED);
    browser.wait("seen.includes('live')");
    let expected = serde_json::json!([
        "/again",
        "not connected, trying again",
        "5 to 10 s",
        "refused, trying again in a few seconds",
        "/again",
        "live",
    ]);
    assert_eq!(browser.value("seen"), expected);
    let errors = browser.errors();
    assert!(errors.is_empty(), "the console shows {errors:?}");
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn large_boards_are_drawn_on_a_canvas_cell_by_cell() {
    let Some(browser) = start_browser() else { return };
    let games = [
        (3.0, stored("plan-repair", games::against_chef(Named::PlanRepair, 250, 1))),
        (15.0, stored("plan-repair", games::against_chef(Named::PlanRepair, 50, 1))),
        (15.0, stored("the generator's path", games::maze(50, 776, 1))),
        (3.0, stored("the generator's path", games::maze(200, 12_400, 1))),
        (2.0, stored("random extension", games::duel(300, 1))),
    ];
    let stop = CancellationToken::new();
    let stored = games.iter().map(|(_, game)| game.clone()).collect();
    let address = serve_games(stored, stop.clone()).await;
    browser.look(1_100, 1_000, "light");
    for (cluster, (scale, game)) in games.iter().enumerate() {
        open(&browser, address, cluster, game.record.plies.len());
        assert_eq!(browser.number(SCALE), *scale, "game {cluster}");
        shows_its_cells_and_steps(&browser, &game.record);
    }
    if let Some(folder) = std::env::var_os("OURO_SCREENSHOTS").map(PathBuf::from) {
        for (cluster, name) in [(0, "snakgame-250.png"), (2, "maze-dash-50.png")] {
            open(&browser, address, cluster, games[cluster].1.record.plies.len() * 7 / 10);
            browser.photograph(&folder.join(name));
        }
    }

    open(&browser, address, 0, usize::MAX);
    // With the script, a browser takes the drawing for pages without it as text.
    let drawing = browser.text("document.querySelector('noscript').textContent");
    assert!(drawing.starts_with("<svg") && drawing.contains(r#"class="runs seat1""#));

    // The colours of the dark scheme, and a phone, on which the board has to shrink.
    browser.look(390, 844, "dark");
    // The events of the new size and of the new colour scheme arrive one after the other.
    browser.wait("document.getElementById('frame').width === 250");
    browser.wait(&format!("{CELLS}.includes('#')"));
    let wide = browser.number("document.documentElement.scrollWidth");
    assert!(wide <= 390.0, "the page is {wide} wide");
    compare(&browser.text(CELLS), &last_position(&games[0].1.record), 1.0);
    let errors = browser.errors();
    assert!(errors.is_empty(), "the console shows {errors:?}");
    stop.cancel();
}
