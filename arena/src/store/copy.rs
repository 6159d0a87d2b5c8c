//! Copies the results or the weights of a run to another store.
//!
//! The entries of the log are copied as they are, so the copy has the same tables, decisions and
//! ratings. An interrupted copy continues where it stopped. The kept games follow the entries.

use ouro_net::RunId;

use super::error::StoreError;
use super::interface::Store;
use super::logged::{Backend, LoggedStore};
use super::weights::{WeightsError, WeightsStore};

/// Entries that are read at once.
const CHUNK: usize = 1_024;

/// What a copy consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Entries of the log.
    pub entries: u64,
    /// How many of them were there before.
    pub before: u64,
    /// Kept games.
    pub games: u64,
}

/// Why a run cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is nothing to copy.
    #[error("{0} has no results; name the store that the run uses")]
    Empty(String),
    /// The destination holds other results.
    #[error(
        "entry {entry} of {to} is not that of {from}: it holds another run or a later time of this \
         one; choose another name or folder"
    )]
    Differs {
        /// The source.
        from: String,
        /// The destination.
        to: String,
        /// The first entry that differs.
        entry: u64,
    },
}

/// Copies the results in `from` to `to`, which is empty or holds the start of the same results.
/// Fails if either loses entries meanwhile.
pub fn copy<A: Backend, B: Backend>(
    from: &LoggedStore<A>,
    to: &LoggedStore<B>,
) -> Result<Copied, CopyError> {
    let (entries, before) = (from.entries(), to.entries());
    if entries == 0 {
        return Err(CopyError::Empty(from.name()));
    }
    let differs = |entry| CopyError::Differs { from: from.name(), to: to.name(), entry };
    if before > entries {
        return Err(differs(entries));
    }
    let mut number = 0;
    while number < entries {
        let known = to.texts(number, CHUNK)?;
        for (index, text) in from.texts(number, CHUNK)?.iter().enumerate() {
            match known.get(index) {
                None => to.append_text(text)?,
                Some(known) if known == text => {}
                Some(_) => return Err(differs(number + index as u64)),
            }
        }
        number += CHUNK as u64;
    }
    let games = copy_games(from, to)?;
    // A server may have lost an entry after it had acknowledged it.
    to.texts(entries - 1, 1)?;
    Ok(Copied { entries, before, games })
}

/// Copies all weights of the run `run`, each verified by its hash, and returns their number.
pub fn copy_weights(
    run: RunId,
    from: &dyn WeightsStore,
    to: &dyn WeightsStore,
) -> Result<usize, WeightsError> {
    to.bind_run(run)?;
    let hashes = from.hashes()?;
    for hash in &hashes {
        to.write(*hash, &from.read(*hash)?)?;
    }
    Ok(hashes.len())
}

/// Copies the kept games of the matches in `from`, and returns their number.
pub(super) fn copy_games<A: Backend, B: Backend>(
    from: &LoggedStore<A>,
    to: &LoggedStore<B>,
) -> Result<u64, StoreError> {
    let mut count = 0;
    for (info, _) in from.matches()? {
        let mut games = Vec::new();
        for key in from.game_keys(info.number)? {
            // A damaged game cannot be shown, and no result depends on it.
            games.extend(from.game(key)?.map(|game| (key, game)));
        }
        count += games.len() as u64;
        to.keep_games(&games)?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use ouro_net::ContentHash;
    use ouro_replay::testing::MemoryDisk;

    use super::super::conformance::{content, fill, start};
    use super::*;
    use crate::store::WeightsFolder;
    use crate::store::embedded::EmbeddedStore;

    fn store() -> EmbeddedStore<MemoryDisk> {
        EmbeddedStore::on(MemoryDisk::new()).unwrap()
    }

    #[test]
    fn a_copy_has_the_same_entries_and_games_and_continues_after_an_interruption() {
        let (from, to) = (store(), store());
        fill(&from);
        let all = from.entries();
        for text in from.texts(0, 2).unwrap() {
            to.append_text(&text).unwrap();
        }
        let copied = copy(&from, &to).unwrap();
        assert_eq!((copied.entries, copied.before), (all, 2));
        assert!(copied.games > 0);
        assert_eq!(content(&to), content(&from));
        let again = copy(&from, &to).unwrap();
        assert_eq!(again, Copied { before: all, ..copied });
        assert_eq!(content(&to), content(&from));
    }

    #[test]
    fn all_weights_are_copied_unless_one_is_damaged() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [from, to] = folders.each_ref().map(|it| WeightsFolder::open(it.path()).unwrap());
        let (run, hashes) = (RunId::of(b"run"), [b"a", b"b"].map(|bytes| ContentHash::of(bytes)));
        from.write(hashes[0], b"a").unwrap();
        from.write(hashes[1], b"b").unwrap();
        assert_eq!(copy_weights(run, &from, &to).unwrap(), 2);
        assert_eq!(to.read(hashes[1]).unwrap(), b"b");
        let file = folders[0].path().join(format!("{}.safetensors", hashes[0]));
        std::fs::write(file, b"x").unwrap();
        let error = copy_weights(run, &from, &to).unwrap_err();
        assert!(matches!(error, WeightsError::Damaged { .. }), "{error}");
        assert_eq!(to.read(hashes[0]).unwrap(), b"a");
    }

    #[test]
    fn another_run_and_a_longer_one_are_not_overwritten() {
        let (from, to) = (store(), store());
        let nothing = copy(&from, &to).unwrap_err().to_string();
        assert!(nothing.contains("has no results"), "{nothing}");
        fill(&to);
        let before = content(&to);
        let texts = to.texts(0, 3).unwrap();
        for text in &texts[..2] {
            from.append_text(text).unwrap();
        }
        let longer = copy(&from, &to).unwrap_err().to_string();
        assert!(longer.starts_with("entry 2 of "), "{longer}");
        let other = store();
        start(&other, 99);
        let differs = copy(&other, &to).unwrap_err().to_string();
        assert!(differs.starts_with("entry "), "{differs}");
        assert_eq!(content(&to), before);
    }
}
