//! Games that can be shown, in a file of checksummed lines.
//!
//! The file is only read to show games: results are in the log. So its writes are not synced, and a
//! damaged line is left out.

use std::collections::BTreeMap;
use std::ops::Range;

use ouro_replay::disk::{Disk, SegmentFile, write_all};
use serde::{Deserialize, Serialize};

use super::error::{StoreError, io_error};
use super::line_file::{format_line, lines, parse_line, write_file};
use super::rows::{GameKey, StoredGame};

/// Name of the file in the data folder.
pub(super) const FILE: &str = "games.log";
/// Name of the file while it is rewritten.
const REWRITTEN: &str = "games.log.new";

/// The file is rewritten once it holds this many bytes more than twice those of its games.
const SLACK: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Entry<G> {
    key: GameKey,
    game: G,
}

/// The kept games on a disk.
#[derive(Debug)]
pub(super) struct KeptGames<F> {
    file: F,
    path: String,
    /// Place of each game in the file.
    places: BTreeMap<GameKey, Range<u64>>,
    /// Length of the file, in bytes.
    length: u64,
    written: u64,
    /// Lines that could not be read when the file was opened.
    damaged: usize,
}

impl<F: SegmentFile> KeptGames<F> {
    /// Opens the file, or creates it.
    pub(super) fn open<D: Disk<File = F>>(disk: &D) -> Result<Self, StoreError> {
        let path = disk.describe(FILE);
        let at = |action| io_error(action, &path);
        let is_new = !disk.names().map_err(at("list"))?.iter().any(|name| name == FILE);
        let mut file =
            if is_new { disk.create(FILE) } else { disk.open(FILE) }.map_err(at("open"))?;
        let content = file.read().map_err(at("read"))?;
        let mut places = BTreeMap::new();
        let (mut written, mut damaged) = (0, 0);
        for line in lines(&content) {
            let Some((number, text)) = line.content else {
                damaged += 1;
                continue;
            };
            written = written.max(number.saturating_add(1));
            if let Ok(Entry { key, .. }) =
                serde_json::from_str::<Entry<serde::de::IgnoredAny>>(text)
            {
                places.insert(key, line.bytes.start as u64..line.bytes.end as u64);
            }
        }
        let length = content.len() as u64;
        let mut opened = Self { file, path, places, length, written, damaged };
        if !content.is_empty() && !content.ends_with(b"\n") {
            // Ends a line that a crash cut, so that the next one starts on its own.
            opened.write(b"\n")?;
        }
        Ok(opened)
    }

    /// Lines that could not be read when the file was opened.
    pub(super) fn damaged(&self) -> usize {
        self.damaged
    }

    /// Adds games. A game that is kept already is replaced.
    pub(super) fn insert(&mut self, games: &[(GameKey, StoredGame)]) -> Result<(), StoreError> {
        for (key, game) in games {
            let text = serde_json::to_string(&Entry { key: *key, game })
                .map_err(|error| io_error("write", &self.path)(error.into()))?;
            let line = format_line(self.written, &text);
            let start = self.length;
            self.write(line.as_bytes())?;
            self.written += 1;
            self.places.insert(*key, start..self.length);
        }
        Ok(())
    }

    /// A game, if it is kept and intact.
    pub(super) fn get(&mut self, key: GameKey) -> Result<Option<StoredGame>, StoreError> {
        let Some(place) = self.places.get(&key).cloned() else { return Ok(None) };
        let line = self.line(place)?;
        let text = parse_line(line.strip_suffix(b"\n").unwrap_or(&line)).map(|(_, text)| text);
        let entry = text.and_then(|text| serde_json::from_str::<Entry<StoredGame>>(text).ok());
        Ok(entry.map(|entry| entry.game))
    }

    /// The games of a match.
    pub(super) fn keys(&self, number: u32) -> Vec<GameKey> {
        let first = GameKey { number, cluster: 0, game: 0 };
        let last = GameKey { number, cluster: u32::MAX, game: u32::MAX };
        self.places.range(first..=last).map(|(key, _)| *key).collect()
    }

    /// Removes the games for which `keep` is false and returns their number. Rewrites the file if
    /// most of it is unused and the disk has room for what is used.
    pub(super) fn retain<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        keep: impl Fn(GameKey) -> bool,
    ) -> Result<u32, StoreError> {
        let before = self.places.len();
        self.places.retain(|key, _| keep(*key));
        let used: u64 = self.places.values().map(|place| place.end - place.start).sum();
        if self.length > 2 * used + SLACK {
            match self.rewrite(disk) {
                // The old file is unchanged, and the next call rewrites it. An error would keep the
                // caller from removing other files, which frees space.
                Err(error) if error.is_passing() => {
                    tracing::warn!(%error, "a file of games keeps its unused bytes");
                }
                rewritten => rewritten?,
            }
        }
        Ok((before - self.places.len()) as u32)
    }

    fn rewrite<D: Disk<File = F>>(&mut self, disk: &D) -> Result<(), StoreError> {
        let mut content = Vec::new();
        let mut places = BTreeMap::new();
        for (key, place) in self.places.clone() {
            let start = content.len() as u64;
            content.extend(self.line(place)?);
            places.insert(key, start..content.len() as u64);
        }
        let at = io_error("rewrite", &self.path);
        let file = write_file(disk, REWRITTEN, &content).map_err(&at)?;
        if let Err(error) = disk.rename(REWRITTEN, FILE) {
            let _ = disk.remove(REWRITTEN);
            return Err(at(error));
        }
        // From here on the new file is the one under the name, whether or not that is durable.
        self.file = file;
        (self.places, self.length) = (places, content.len() as u64);
        disk.sync().map_err(at)
    }

    fn line(&mut self, place: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let length = (place.end - place.start) as usize;
        self.file.read_at(place.start, length).map_err(io_error("read", &self.path))
    }

    /// Appends bytes, or leaves the length as it was.
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        write_all(&mut self.file, self.length, bytes).map_err(|error| {
            // Frees the space. What stays is overwritten by the next game.
            let _ = self.file.truncate(self.length);
            io_error("write", &self.path)(error)
        })?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::GameConfig;
    use ouro_game::record::Recorder;
    use ouro_game::tic_tac_toe::TicTacToe;
    use ouro_replay::disk::FolderDisk;
    use ouro_replay::testing::{Faults, MemoryDisk};

    use super::*;

    fn game(seed: u64) -> StoredGame {
        let recorder = Recorder::new(&TicTacToe::default(), seed);
        StoredGame {
            record: recorder.into_record(GameConfig::by_name("tic_tac_toe").unwrap()),
            players: Vec::new(),
            outcomes: Vec::new(),
            scores: Vec::new(),
            truncated: false,
        }
    }

    fn key(cluster: u32) -> GameKey {
        GameKey { number: 3, cluster, game: 0 }
    }

    #[test]
    fn damaged_and_cut_lines_are_left_out_and_the_others_stay() {
        let disk = MemoryDisk::new();
        let mut games = KeptGames::open(&disk).unwrap();
        let all: Vec<_> = (0..4).map(|cluster| (key(cluster), game(cluster.into()))).collect();
        games.insert(&all).unwrap();
        let mut content = disk.content(FILE).unwrap();
        let place = games.places[&key(1)].clone();
        content[place.start as usize + 30] ^= 1;
        content.truncate(content.len() - 5);
        disk.put(FILE, &content);
        let mut games = KeptGames::open(&disk).unwrap();
        assert_eq!(games.keys(3), [key(0), key(2)]);
        games.insert(&[(key(9), game(9))]).unwrap();
        let mut games = KeptGames::open(&disk).unwrap();
        assert_eq!(games.keys(3), [key(0), key(2), key(9)]);
        assert_eq!(games.get(key(9)).unwrap(), Some(game(9)));
        assert_eq!(games.get(key(1)).unwrap(), None);
    }

    #[test]
    fn a_full_disk_keeps_the_file_as_it_is_and_holds_no_part_of_a_new_one() {
        let disk = MemoryDisk::new();
        let mut games = KeptGames::open(&disk).unwrap();
        let unused: Vec<_> = (0..9).map(|cluster| (key(cluster), game(cluster.into()))).collect();
        while games.length <= SLACK + (1 << 16) {
            games.insert(&unused).unwrap();
        }
        let before = disk.content(FILE).unwrap();
        let capacity = Some(before.len() + 100);
        disk.set_faults(Faults { capacity, ..Faults::default() });
        assert_eq!(games.retain(&disk, |kept| kept.cluster < 8).unwrap(), 1);
        assert_eq!(disk.names().unwrap(), [FILE]);
        assert_eq!(disk.content(FILE).unwrap(), before);
        assert_eq!(games.get(key(3)).unwrap(), Some(game(3)));

        disk.set_faults(Faults::default());
        assert_eq!(games.retain(&disk, |_| true).unwrap(), 0);
        assert_eq!(disk.names().unwrap(), [FILE]);
        assert!(disk.content(FILE).unwrap().len() < 1 << 15);
        games.insert(&[(key(9), game(9))]).unwrap();
        let mut games = KeptGames::open(&disk).unwrap();
        assert_eq!(games.keys(3).len(), 9);
        assert_eq!(games.get(key(9)).unwrap(), Some(game(9)));
    }

    #[test]
    fn a_file_that_is_mostly_unused_is_rewritten() {
        let folder = tempfile::tempdir().unwrap();
        let disk = FolderDisk::open(folder.path()).unwrap();
        let length = || std::fs::metadata(folder.path().join(FILE)).unwrap().len();
        let mut games = KeptGames::open(&disk).unwrap();
        let mut cluster = 0;
        while length() <= SLACK + 4_000 {
            games.insert(&[(key(cluster), game(cluster.into()))]).unwrap();
            cluster += 1;
        }
        assert_eq!(games.retain(&disk, |kept| kept.cluster < 3).unwrap(), cluster - 3);
        assert!(length() < 4_000);
        games.insert(&[(key(7), game(7))]).unwrap();
        for mut opened in [games, KeptGames::open(&disk).unwrap()] {
            assert_eq!(opened.keys(3), [0, 1, 2, 7].map(key));
            assert_eq!(opened.get(key(2)).unwrap(), Some(game(2)));
        }
    }
}
