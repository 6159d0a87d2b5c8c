//! Formats times and figures.

use maud::{Markup, html};
use ouro_rating::{Estimate, Rating};

/// Seconds per day.
const DAY: i64 = 86_400;

/// A Unix time as date and time of day.
pub(super) fn time(unix: f64) -> Markup {
    let (date, clock) = utc(unix);
    html! { time datetime=(format!("{date}T{clock}Z")) { (date) " " (clock) } }
}

/// Date and time of day in UTC, by Hinnant's `civil_from_days`. There years start in March, so the
/// leap day is the last day of a year.
fn utc(unix: f64) -> (String, String) {
    let seconds = unix.floor() as i64;
    let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let since = days + 719_468;
    let (era, day) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) =
        if month < 10 { (400 * era + year, month + 3) } else { (400 * era + year + 1, month - 9) };
    let (hours, minutes) = (rest / 3_600, rest / 60 % 60);
    (format!("{year:04}-{month:02}-{day:02}"), format!("{hours:02}:{minutes:02}:{:02}", rest % 60))
}

/// A rating with half the width of its interval, such as `+212 ± 31`.
pub(super) fn elo(rating: &Rating) -> String {
    let margin = (rating.elo_high - rating.elo_low) / 2.0;
    match margin {
        0.0 => format!("{:+.0}", rating.elo),
        margin if margin.is_finite() => format!("{:+.0} ± {margin:.0}", rating.elo),
        _ => format!("{:+.0} ± ?", rating.elo),
    }
}

/// A difference to the champion with half the width of its interval; a dash for the champion.
pub(super) fn to_champion(rating: &Rating) -> String {
    match rating.to_champion {
        Some(Estimate { value, low, high }) if low < high => {
            format!("{value:+.0} ± {:.0}", (high - low) / 2.0)
        }
        _ => "–".to_owned(),
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_to_the_champion_has_half_its_interval_and_the_champion_a_dash() {
        let shown = |to_champion| {
            let (elo, elo_low, elo_high) = (540.0, 490.0, 590.0);
            let (player, games, score) = ("generation-2".to_owned(), 416, 0.77);
            super::to_champion(&Rating {
                player,
                elo,
                elo_low,
                elo_high,
                games,
                score,
                to_champion,
            })
        };
        assert_eq!(shown(Some(Estimate { value: -12.0, low: -40.0, high: 16.0 })), "-12 ± 28");
        assert_eq!(shown(Some(Estimate { value: 0.0, low: 0.0, high: 0.0 })), "–");
        assert_eq!(shown(None), "–");
    }

    #[test]
    fn times_are_dates_also_around_leap_days() {
        for (unix, date, clock) in [
            (0.0, "1970-01-01", "00:00:00"),
            (951_782_399.9, "2000-02-28", "23:59:59"),
            (951_782_400.0, "2000-02-29", "00:00:00"),
            (1_077_926_400.0, "2004-02-28", "00:00:00"),
            (4_107_542_400.0, "2100-03-01", "00:00:00"),
            (1_767_225_599.0, "2025-12-31", "23:59:59"),
        ] {
            assert_eq!(utc(unix), (date.to_owned(), clock.to_owned()));
        }
    }
}
