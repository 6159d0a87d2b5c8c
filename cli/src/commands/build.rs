//! Which build of the program made the results in a file.
//!
//! Another build may play other moves. A file to which two builds added measures neither of them. The
//! first line of a file therefore names the build that started the file, by the hash of the program. A
//! later line names its build only if that is another one. A build that cannot read its own program is
//! `unknown` in the files of other builds and not named in its own. Lines of earlier versions name none.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use ouro_net::ContentHash;

use super::line_file::Purpose;
use crate::failure::Failure;
use crate::output::printable;

/// Name of a build that cannot read its own program.
const UNKNOWN: &str = "unknown";

/// The hash of the running program; `None` if its file cannot be read.
///
/// The first call reads the file, which may be replaced while the program runs.
pub(super) fn own() -> Option<String> {
    static OWN: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let program = File::open(std::env::current_exe().ok()?).ok()?;
        Some(ContentHash::of_reader(program).ok()?.to_string())
    };
    OWN.get_or_init(read).clone()
}

/// The build that runs, and the build that started a file.
#[derive(Clone, Debug)]
pub(super) struct Builds {
    pub(super) own: Option<String>,
    pub(super) first: Option<String>,
}

impl Builds {
    /// What a new line of the file names.
    pub(super) fn of_new_line(&self) -> Option<String> {
        let unknown = || self.first.as_ref().map(|_| UNKNOWN.to_owned());
        self.own.clone().or_else(unknown).filter(|own| self.first.as_ref() != Some(own))
    }

    /// Prints a warning if another build made some of the `what` in the file. `lines` has the build that
    /// each line names.
    pub(super) fn warn<'a>(
        &self,
        path: &Path,
        purpose: Purpose,
        what: &str,
        lines: impl ExactSizeIterator<Item = Option<&'a String>>,
    ) -> Result<(), Failure> {
        let all = lines.len();
        let others = self.others(lines);
        if others > 0 {
            let path = path.display().to_string();
            writeln!(
                io::stderr(),
                "warning: {}: another build of this program played {others} of its {all} {what}; \
                 for results of this build alone, {}",
                printable(&path),
                purpose.remedy
            )?;
        }
        Ok(())
    }

    /// Number of lines that are known to be of another build.
    fn others<'a>(&self, lines: impl Iterator<Item = Option<&'a String>>) -> usize {
        let Some(own) = &self.own else { return 0 };
        lines.filter(|line| line.or(self.first.as_ref()).is_some_and(|build| build != own)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builds(own: Option<&str>, first: Option<&str>) -> Builds {
        Builds { own: own.map(str::to_owned), first: first.map(str::to_owned) }
    }

    #[test]
    fn lines_of_other_builds_are_counted_and_lines_of_earlier_versions_are_not() {
        let [old, new] = ["old", "new"].map(str::to_owned);
        let lines = [None, None, Some(&new)];
        for (own, first, others, line) in [
            (Some("old"), Some("old"), 1, None),
            (Some("new"), Some("old"), 2, Some("new")),
            (Some("third"), Some("old"), 3, Some("third")),
            (Some("new"), None, 0, Some("new")),
            (Some("third"), None, 1, Some("third")),
            (None, Some("old"), 0, Some("unknown")),
            (None, None, 0, None),
        ] {
            let builds = builds(own, first);
            assert_eq!(builds.others(lines.into_iter()), others, "{builds:?}");
            assert_eq!(builds.of_new_line().as_deref(), line, "{builds:?}");
        }
        let builds = builds(Some("old"), None);
        assert_eq!(builds.others([Some(&old), None].into_iter()), 0);
    }

    #[test]
    fn a_build_is_known_by_the_hash_of_its_program() {
        let build = own().expect("tests can read their own program");
        assert_eq!(build.parse::<ContentHash>().map(|hash| hash.to_string()), Ok(build.clone()));
        assert_eq!(own(), Some(build));
    }
}
