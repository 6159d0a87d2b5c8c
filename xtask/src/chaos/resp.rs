//! The few commands of Redis that the harness needs.
//!
//! The harness reads the store without the code that it checks.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Port of the server.
pub(crate) const PORT: u16 = 6_379;
/// Longest wait for a connection or an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection.
#[derive(Debug)]
pub(crate) struct Redis(BufReader<TcpStream>);

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Number(i64),
    Bytes(Vec<u8>),
    Nothing,
    List(Vec<Answer>),
}

impl Redis {
    /// Connects to a server.
    pub(crate) fn connect(address: Ipv4Addr) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&SocketAddr::from((address, PORT)), PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Length of a list.
    pub(crate) fn length(&mut self, key: &str) -> Result<u64> {
        match self.call(&["LLEN", key])? {
            Answer::Number(length) => Ok(length.try_into()?),
            other => bail!("LLEN answers {other:?}"),
        }
    }

    /// The items of a list from `first` to `last`, both included.
    pub(crate) fn items(&mut self, key: &str, first: u64, last: u64) -> Result<Vec<Vec<u8>>> {
        match self.call(&["LRANGE", key, &first.to_string(), &last.to_string()])? {
            Answer::List(items) => items
                .into_iter()
                .map(|item| match item {
                    Answer::Bytes(bytes) => Ok(bytes),
                    other => bail!("LRANGE answers with {other:?}"),
                })
                .collect(),
            other => bail!("LRANGE answers {other:?}"),
        }
    }

    fn call(&mut self, words: &[&str]) -> Result<Answer> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.0.get_mut().write_all(request.as_bytes())?;
        answer(&mut self.0)
    }
}

fn answer(reader: &mut impl BufRead) -> Result<Answer> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let line = line.trim_end();
    let Some((kind, rest)) = line.split_at_checked(1) else { bail!("the connection is closed") };
    Ok(match kind {
        ":" => Answer::Number(rest.parse()?),
        "$" => match rest.parse::<i64>()? {
            -1 => Answer::Nothing,
            length => {
                let mut bytes = vec![0; usize::try_from(length)? + 2];
                reader.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Answer::Bytes(bytes)
            }
        },
        "*" => {
            let count: i64 = rest.parse()?;
            Answer::List((0..count).map(|_| answer(reader)).collect::<Result<_>>()?)
        }
        "-" => bail!("{rest}"),
        _ => bail!("{line:?} is no answer of Redis"),
    })
}

/// The number of entries and the entries from `first` on.
pub(crate) fn read_list(redis: &mut Redis, key: &str, first: u64) -> Result<(u64, Vec<Vec<u8>>)> {
    const CHUNK: u64 = 1_000;
    let length = redis.length(key).context("the length of the log")?;
    let mut items = Vec::new();
    while first + (items.len() as u64) < length {
        let next = first + items.len() as u64;
        let more = redis.items(key, next, (next + CHUNK).min(length) - 1)?;
        if more.is_empty() {
            break;
        }
        items.extend(more);
    }
    Ok((length, items))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_redis_writes_them() {
        let read = |text: &str| answer(&mut text.as_bytes());
        assert_eq!(read(":12\r\n").unwrap(), Answer::Number(12));
        let list = read("*3\r\n$3\r\na\r\n\r\n$-1\r\n$0\r\n\r\n").unwrap();
        let bytes = |text: &str| Answer::Bytes(text.as_bytes().to_vec());
        assert_eq!(list, Answer::List(vec![bytes("a\r\n"), Answer::Nothing, bytes("")]));
        assert_eq!(read("-LOADING wait\r\n").unwrap_err().to_string(), "LOADING wait");
        assert!(read("").is_err() && read("$5\r\nab").is_err() && read("HTTP\r\n").is_err());
    }
}
