//! The declaration of series.

/// The type of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows while the process runs.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// Counts of values by size, with their sum and number.
    Histogram,
    /// The number 1 with facts as labels.
    Info,
}

impl Kind {
    /// The name in the text format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }

    /// The end of the names of samples that the encoder adds to the name of the family.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Info => "_info",
            Self::Gauge | Self::Histogram => "",
        }
    }
}

/// The declaration of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// The type.
    pub kind: Kind,
    /// The name as in queries: with its unit, and with `_total` for a counter. The samples of a
    /// histogram end in `_bucket`, `_sum` and `_count` besides.
    pub name: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// The meaning, in one sentence.
    pub about: &'static str,
}

impl Series {
    /// The name of the family: without the suffix that the encoder adds.
    pub fn family(&self) -> &'static str {
        self.name.strip_suffix(self.kind.suffix()).unwrap_or(self.name)
    }
}

/// Declares the series of a service: a constant for each, and the table of all.
#[macro_export]
macro_rules! series {
    ($(#[$about:meta])* $visibility:vis const $all:ident = [
        $($constant:ident: $kind:ident $name:literal [$($label:literal),*] $sentence:literal;)*
    ];) => {
        $(const $constant: $crate::metrics::series::Series = $crate::metrics::series::Series {
            kind: $crate::metrics::series::Kind::$kind,
            name: $name,
            labels: &[$($label),*],
            about: $sentence,
        };)*
        $(#[$about])*
        $visibility const $all: &[$crate::metrics::series::Series] = &[$($constant),*];
    };
}
