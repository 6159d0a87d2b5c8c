//! The known name that a misspelt one probably means: a player, a key of settings, a choice.

/// An unknown name may differ from the suggested one in one letter of every three.
const LETTERS_PER_TYPO: usize = 3;

/// The known name nearest to `unknown` (optimal string alignment distance); `None` if all differ in more
/// than a few letters.
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = unknown.chars().count();
    let near = known.into_iter().filter_map(|name| {
        let letters = name.chars().count();
        let most = length.max(letters) / LETTERS_PER_TYPO;
        // At least so many letters differ. An unknown name of a megabyte is compared with none.
        if length.abs_diff(letters) > most {
            return None;
        }
        let distance = strsim::osa_distance(unknown, name);
        (distance <= most).then_some((distance, name))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}
