//! A browser, driven over WebDriver (W3C Recommendation, June 2018): JSON over HTTP on loopback.
//!
//! Chromium and its driver come from the system. A WebDriver crate would add some fifty
//! dependencies, and these tests need only a dozen kinds of requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// Time limit of scripts and page loads, in milliseconds.
const PATIENCE: u32 = 180_000;

/// A key to press. Codes are from WebDriver's table (section 17.4.2).
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// The space bar.
    Space,
    /// The left arrow.
    Left,
    /// The right arrow.
    Right,
    /// The key for the start.
    Home,
    /// The key for the end.
    End,
}

impl Key {
    fn code(self) -> &'static str {
        match self {
            Self::Space => " ",
            Self::Left => "\u{e012}",
            Self::Right => "\u{e014}",
            Self::Home => "\u{e011}",
            Self::End => "\u{e010}",
        }
    }
}

/// A headless browser. Its methods panic on errors of the driver. Dropping it ends the browser and its driver.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    /// Host and port of the driver.
    address: String,
    /// URL path of the session.
    session: String,
}

impl Browser {
    /// Starts a browser. `None` if no driver is installed and the checks do not require one.
    pub fn start() -> Option<Self> {
        let program = std::env::var("OURO_CHROMEDRIVER").unwrap_or("chromedriver".to_owned());
        let driver = Command::new(program).arg("--port=0").stdout(Stdio::piped()).spawn();
        assert!(
            driver.is_ok() || !crate::requires_all_checks(),
            "chromedriver is missing; install chromium-driver or set OURO_CHROMEDRIVER"
        );
        let mut driver = driver.ok()?;
        let mut lines = BufReader::new(driver.stdout.take().expect("its output is piped")).lines();
        let port: u16 = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                line.rsplit_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
            })
            .expect("the driver says where it listens");
        // Drain the output; a full pipe would block the driver.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let mut browser =
            Self { driver, address: format!("127.0.0.1:{port}"), session: String::new() };
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "timeouts": { "script": PATIENCE, "pageLoad": PATIENCE },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "goog:chromeOptions": { "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--hide-scrollbars", "--window-size=900,930",
            ] },
        } } });
        let opened = browser.request("POST", "/session", &capabilities);
        let id = opened["sessionId"].as_str().expect("the driver opens a session");
        browser.session = format!("/session/{id}");
        Some(browser)
    }

    /// Opens a page and waits until it is loaded.
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// Evaluates a JavaScript expression in the page.
    pub fn value(&self, expression: &str) -> Value {
        let script = format!("return {expression};");
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Like [`value`](Self::value), for an expression that is a number.
    pub fn number(&self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// Like [`value`](Self::value), for an expression that is text.
    pub fn text(&self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Waits until an expression is truthy and returns its value. The page awaits promises.
    pub fn wait(&self, expression: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             const look = async () => {{
               const value = await ({expression});
               if (value) done(value); else setTimeout(look, 50);
             }};
             look();"
        );
        self.post("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Clicks the first element that a CSS selector finds.
    pub fn click(&self, selector: &str) {
        let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        let id = found.as_object().and_then(|found| found.values().next()?.as_str());
        let id = id.unwrap_or_else(|| panic!("{selector} is {found}"));
        self.post(&format!("/element/{id}/click"), &json!({}));
    }

    /// Presses and releases a key.
    pub fn press(&self, key: Key) {
        let code = key.code();
        let strokes =
            json!([{ "type": "keyDown", "value": code }, { "type": "keyUp", "value": code }]);
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.post("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Sets the page size in CSS pixels and the colour scheme, `light` or `dark`.
    pub fn look(&self, width: u32, height: u32, scheme: &str) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": scheme }));
    }

    /// Writes a screenshot of the visible page as a PNG.
    pub fn photograph(&self, file: &Path) {
        let text = self.request("GET", &format!("{}/screenshot", self.session), &Value::Null);
        let bytes = BASE64_STANDARD.decode(text.as_str().expect("a text")).expect("base64");
        std::fs::write(file, bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }

    /// Returns the errors on the console since the last call.
    pub fn errors(&self) -> Vec<Value> {
        let entries = self.post("/se/log", &json!({ "type": "browser" }));
        let mut entries = entries.as_array().cloned().expect("a list");
        entries.retain(|entry| entry["level"] == "SEVERE");
        entries
    }

    /// Returns the URLs that pages requested since the last call.
    pub fn requests(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({ "type": "performance" }));
        let events = entries.as_array().expect("a list").iter().map(|entry| {
            let text = entry["message"].as_str().expect("a text");
            serde_json::from_str::<Value>(text).expect("an event of the browser is JSON")
        });
        events
            .filter(|event| event["message"]["method"] == "Network.requestWillBeSent")
            .map(|event| {
                event["message"]["params"]["request"]["url"].as_str().unwrap_or("").to_owned()
            })
            .collect()
    }

    fn devtools(&self, command: &str, parameters: &Value) {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.request("POST", &format!("{}{path}", self.session), body)
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, value) = self.exchange(method, path, body).expect("the driver answers");
        assert!(status == 200, "{method} {path} {body}: {value}");
        value
    }

    /// Sends a request and returns the status and `value` of the response.
    fn exchange(&self, method: &str, path: &str, body: &Value) -> std::io::Result<(u16, Value)> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(&self.address)?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut answer = BufReader::new(stream);
        let mut line = String::new();
        answer.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut length = 0;
        while line != "\r\n" && !line.is_empty() {
            line.clear();
            answer.read_line(&mut line)?;
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut text = vec![0; length];
        answer.read_exact(&mut text)?;
        let mut answer: Value = serde_json::from_slice(&text)?;
        Ok((status, answer["value"].take()))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Deleting the session ends the browser. Errors are ignored, because after a failed test
        // there may be no session.
        let _ = self.exchange("DELETE", &self.session, &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
