//! `ouro-arena` with few open files, beside more silent connections than it may have files.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Files that the arena may open.
const FILES: usize = 128;
/// Silent connections to each port.
const SILENT: usize = 2 * FILES;
/// Longest time until an honest client is answered.
const RECOVERY: Duration = Duration::from_secs(40);

/// A process that ends with its owner.
struct Arena(Child);

impl Drop for Arena {
    fn drop(&mut self) {
        // It may have ended already, which the test has reported.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The page of the arena, once it answers.
fn page(address: SocketAddr) -> String {
    let start = Instant::now();
    loop {
        if let Ok(page) = try_page(address) {
            return page;
        }
        assert!(start.elapsed() < RECOVERY, "the page does not answer");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn try_page(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(RECOVERY))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    if page.is_empty() { Err(std::io::ErrorKind::ConnectionReset.into()) } else { Ok(page) }
}

#[test]
fn silent_connections_do_not_end_an_arena_with_few_files() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("run.toml"), "preset = \"tictactoe\"\n").unwrap();
    let (grpc, web) = (free_port(), free_port());
    let command = format!("ulimit -n {FILES}; exec \"$0\" \"$@\"");
    let child = Command::new("sh")
        .args(["-c", &command, env!("CARGO_BIN_EXE_ouro-arena")])
        .args(["--config", "run.toml", "--listen", &grpc.to_string(), "--web", &web.to_string()])
        .current_dir(home.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut arena = Arena(child);
    assert!(page(web).starts_with("HTTP/1.1 200"));

    // Some send nothing, some a part of what opens the protocol.
    let mut silent = Vec::new();
    for (index, address) in [grpc, web].iter().cycle().take(2 * SILENT).enumerate() {
        let mut stream = TcpStream::connect(address).unwrap();
        if index % 4 > 1 {
            // The arena may have closed it already.
            let _ = stream.write_all(if *address == web { b"GET / HT" } else { b"PRI * HT" });
        }
        silent.push(stream);
    }
    assert!(page(web).starts_with("HTTP/1.1 200"));
    let open = std::fs::read_dir(format!("/proc/{}/fd", arena.0.id()));
    if let Ok(open) = open {
        assert!(open.count() < FILES, "the arena keeps files for itself");
    }
    assert!(arena.0.try_wait().unwrap().is_none(), "the arena runs on");
    drop(silent);
}
