//! Requests to the HTTP ports of a run.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longest time until a port answers what a test waits for.
const PATIENCE: Duration = Duration::from_secs(120);

/// The body of an answer with status 200; `None` without one.
pub(crate) fn get(address: SocketAddr, path: &str) -> Option<String> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200 ").then(|| body.to_owned())
}

/// The first body for which `is_wanted` holds.
pub(crate) fn wait(
    address: SocketAddr,
    path: &str,
    what: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> String {
    let start = Instant::now();
    let mut last = String::new();
    while start.elapsed() < PATIENCE {
        match get(address, path) {
            Some(body) if is_wanted(&body) => return body,
            body => last = body.unwrap_or(last),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let end: String =
        last.chars().rev().take(2_000).collect::<Vec<_>>().into_iter().rev().collect();
    panic!("{what} takes more than {PATIENCE:?}; the last answer ends so: {end}");
}

/// The value of a sample by its name and labels, such as `ouro_draining`.
pub(crate) fn value(metrics: &str, sample: &str) -> Option<f64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '))?;
    line.parse().ok()
}
