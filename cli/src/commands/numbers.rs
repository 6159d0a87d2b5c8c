//! Whole numbers on the command line.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A parser of the whole numbers in a range, whose error names the range. Clap's own parsers leave the range
/// out if the text is no number.
pub(crate) fn whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text: &str| match text.parse::<T>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("it is a whole number {} to {}", range.start(), range.end())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_of_the_range_is_refused_with_the_range() {
        let parse = whole::<u16>(1..=1_024);
        assert_eq!((parse("1"), parse("1024")), (Ok(1), Ok(1_024)));
        for text in ["0", "1025", "-2", "1.5", "many", "", "99999999999999999999999"] {
            assert_eq!(parse(text), Err("it is a whole number 1 to 1024".to_owned()), "{text}");
        }
        let seed = whole::<u64>(0..=u64::MAX);
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert!(seed("-1").is_err() && seed("18446744073709551616").is_err());
    }
}
