//! The web page of a training run in a real browser.
//!
//! With `OURO_SCREENSHOTS=DIR` the test also takes the screenshots of the documentation, after
//! `PROMOTIONS` promotions: see `cargo xtask screenshots`.

use std::path::{Path, PathBuf};

use ouro_testkit::webdriver::{Browser, Key};

use super::process::Trainer;

/// Settings of a duel that promotes within seconds.
const DUEL: &str = r#"
preset = "reinforce-duel"
seed = 7
generation_steps = 20

[net]
kind = "conv"
channels = 8
layers = 1
hidden = 32

[actor]
games_per_thread = 32

[train]
batch_moves = 256
learning_rate = 0.005

[arena]
kept_matches = 1000

[arena.gate]
games = 60
"#;

/// Promotions to wait for before the screenshots.
const PROMOTIONS: usize = 20;

/// JavaScript that selects a recorded game of the newest matches; its value has the paths of the
/// match and the game.
///
/// Only games of more than eight turns count. Of these, the shorter snake of the selected game is
/// the longest, measured at 80 % of each game.
const A_GAME: &str = r#"(async () => {
    const read = async (path) =>
        new DOMParser().parseFromString(await (await fetch(path)).text(), "text/html");
    const links = (page, from) =>
        [...page.querySelectorAll("main a")].map((a) => a.getAttribute("href")).filter((to) => to.startsWith(from));
    let best = { length: 0 };
    for (const match of links(await read("/matches"), "/matches/").slice(0, 8)) {
        for (const game of links(await read(match), "/games/").slice(0, 8)) {
            const { frames } = await (await fetch(`${game}/frames`)).json();
            const { seats } = frames[Math.floor(0.8 * (frames.length - 1))];
            const length = Math.min(...[...seats.matchAll(/length (\d+)/g)].map((found) => Number(found[1])));
            if (frames.length > 9 && length > best.length) best = { length, match, game };
        }
    }
    return best.game && best;
})()"#;

/// JavaScript: the ply that the game player shows.
const PLY: &str = "Number(document.querySelector('[data-go=slider]').value)";
const LAST: &str = "Number(document.querySelector('[data-go=slider]').max)";
const BOARD: &str = "document.getElementById('frame').innerHTML";
const BUTTON: &str = "document.querySelector('[data-go=play]').textContent";
/// JavaScript: the brightness of the background, 0 to 765, the sum of its colour channels.
const BRIGHTNESS: &str = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g)
    .slice(0, 3).map(Number).reduce((sum, part) => sum + part)";

/// A browser with the URL of the page of a run.
struct Visit {
    browser: Browser,
    page: String,
}

impl Visit {
    fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.page));
    }

    /// Checks that the start page follows the run without being reloaded.
    fn sees_the_run_go_on(&self) {
        let browser = &self.browser;
        self.open("/");
        browser.value("(window.loadedOnce = true)");
        browser.wait("document.getElementById('link').textContent === 'live'");
        for chart in ["loss", "replay window", "staleness", "positions played"] {
            browser.wait(&format!(
                "[...document.querySelectorAll('#learner figcaption')]
                    .some((caption) => caption.textContent.startsWith('{chart}:'))"
            ));
        }
        // A curve grows, a figure changes, and the list of news gets an entry.
        let curve = "document.querySelector('#learner .curve').outerHTML";
        browser.wait("document.querySelector('#learner .curve') !== null");
        let (line, figures) =
            (browser.text(curve), browser.text("document.querySelector('#learner').textContent"));
        browser.wait(&format!("{curve} !== {}", quoted(&line)));
        browser.wait(&format!(
            "document.querySelector('#learner').textContent !== {}",
            quoted(&figures)
        ));
        browser.wait("document.querySelector('#news li:not(.quiet)')?.textContent");
        assert_eq!(browser.value("window.loadedOnce"), true, "the page was loaded again");
    }

    /// Opens a recorded game by its links and steps through it by keys and buttons.
    fn plays_a_recorded_game(&self) -> (String, String) {
        let browser = &self.browser;
        self.open("/matches");
        let place = browser.wait(A_GAME);
        let path = |name: &str| place[name].as_str().expect("a path").to_owned();
        let (game, its_match) = (path("game"), path("match"));
        self.open(&its_match);
        browser.click(&format!("main a[href='{game}']"));
        // The game starts by itself; a short game may be over by now.
        browser.wait(&format!("{BUTTON}.includes('Pause') || location.search"));
        browser.press(Key::Home);
        assert_eq!(browser.number(PLY), 0.0, "Home");
        let (first, last) = (browser.text(BOARD), browser.number(LAST));
        assert!(last >= 2.0, "{game} has {last} turns");
        browser.press(Key::Right);
        assert_eq!(browser.number(PLY), 1.0, "right");
        assert_ne!(browser.text(BOARD), first, "another turn is another drawing");
        browser.press(Key::End);
        assert_eq!(browser.number(PLY), last, "End");
        browser.press(Key::Left);
        assert_eq!(browser.number(PLY), last - 1.0, "left");
        let paused = self.plays_and_pauses();
        browser.wait("new Promise((done) => setTimeout(() => done(true), 500))");
        assert_eq!(browser.number(PLY), paused, "a paused game stays where it is");
        assert_eq!(browser.text("location.search"), format!("?ply={paused}"));
        browser.click("[data-go=first]");
        assert_eq!(browser.number(PLY), 0.0, "the button for the first turn");
        browser.click("[data-go=on]");
        assert_eq!(browser.number(PLY), 1.0, "the button for the next turn");
        (its_match, game)
    }

    /// Plays the game from its start, pauses it before its end and returns the ply.
    fn plays_and_pauses(&self) -> f64 {
        let browser = &self.browser;
        browser.value("document.querySelector('[data-go=speed]').value = '2'");
        for _ in 0..10 {
            browser.press(Key::Home);
            browser.press(Key::Space);
            browser.wait(&format!("{PLY} >= 1"));
            browser.press(Key::Space);
            // If the game ended before the key press, the key started it again.
            if browser.text(BUTTON).contains("Play") && browser.number(PLY) < browser.number(LAST) {
                return browser.number(PLY);
            }
        }
        panic!("a game of {} turns cannot be paused", browser.number(LAST));
    }

    /// Checks that the board of the live game changes.
    fn watches_the_live_game(&self) {
        self.open("/live");
        let browser = &self.browser;
        browser.wait("document.querySelector('#live-title a')?.textContent");
        for _ in 0..2 {
            let board = browser.text(BOARD);
            browser.wait(&format!("{BOARD} !== {}", quoted(&board)));
        }
    }

    /// Checks that no page is wider than a phone, and that the dark scheme has a dark background.
    fn fits_a_phone_in_the_dark(&self, paths: &[&str]) {
        let browser = &self.browser;
        self.open("/");
        let light = browser.number(BRIGHTNESS);
        browser.look(390, 844, "dark");
        for path in paths {
            self.open(path);
            let wide = browser.number("document.documentElement.scrollWidth");
            assert!(wide <= 390.0, "{path} is {wide} wide");
            assert_eq!(browser.number("innerWidth"), 390.0, "{path}");
        }
        let dark = browser.number(BRIGHTNESS);
        assert!(light > 600.0 && dark < 200.0, "{light} {dark}");
        browser.look(900, 930, "light");
    }

    /// Takes the screenshots of the documentation.
    fn is_photographed(&self, folder: &Path) {
        let browser = &self.browser;
        let place = browser.wait(A_GAME);
        let game = place["game"].as_str().expect("a path");
        self.open(&format!("{game}?ply=0"));
        let late = (browser.number(LAST) * 0.8).floor();
        let photograph = |path: &str, name: &str, (width, height), scheme: &str| {
            browser.look(width, height, scheme);
            self.open(path);
            browser.photograph(&folder.join(name));
        };
        photograph("/", "run.png", (900, 1_250), "light");
        browser.value("document.getElementById('learner').scrollIntoView()");
        browser.photograph(&folder.join("training.png"));
        let game = format!("{game}?ply={late}");
        photograph(&game, "game.png", (900, 720), "light");
        photograph(&game, "game-dark.png", (390, 844), "dark");
        browser.look(900, 930, "light");
    }
}

/// Quotes a text as a JavaScript expression.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[test]
fn the_page_shows_a_run_and_its_games_in_a_browser() {
    let Some(browser) = Browser::start() else {
        ouro_testkit::not_run("chromedriver is not on the PATH; set OURO_CHROMEDRIVER");
        return;
    };
    let home = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(home.path().join("settings.toml"), DUEL).expect("settings are written");
    let settings = home.path().join("settings.toml");
    let mut trainer = Trainer::start_with_page(&home.path().join("run"), &settings);
    let page = trainer.opening["page"].as_str().expect("a page").to_owned();
    let visit = Visit { browser, page };

    visit.sees_the_run_go_on();
    let (its_match, game) = visit.plays_a_recorded_game();
    if let Some(folder) = std::env::var_os("OURO_SCREENSHOTS") {
        for _ in 0..PROMOTIONS {
            trainer.wait_for("promotion");
        }
        visit.is_photographed(&PathBuf::from(folder));
    }
    visit.watches_the_live_game();
    let game_at = format!("{game}?ply=1");
    visit.fits_a_phone_in_the_dark(&["/", "/matches", &its_match, &game_at, "/live"]);

    let errors = visit.browser.errors();
    assert!(errors.is_empty(), "the console shows {errors:?}");
    visit.open("/nowhere");
    assert_eq!(visit.browser.errors().len(), 1, "an error would have been seen");
    let requests = visit.browser.requests();
    assert!(requests.len() > 10, "{requests:?}");
    let strangers: Vec<_> =
        requests.iter().filter(|url| !url.starts_with(&format!("{}/", visit.page))).collect();
    assert!(strangers.is_empty(), "asked elsewhere: {strangers:?}");

    // When the run ends, the page shows that it is not connected.
    visit.open("/");
    visit.browser.wait("document.getElementById('link').textContent === 'live'");
    let (code, _) = trainer.interrupt();
    assert_eq!(code, Some(0));
    visit.browser.wait("document.getElementById('link').textContent.startsWith('not connected')");
}
