//! Reading the values of a scrape, and writing them as text.

use std::fmt::{self, Debug};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use super::histogram::Histogram;
use super::series::{Kind, Series};

/// A value of a counter or a gauge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Whole(u64),
    /// Any number.
    Real(f64),
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl From<usize> for Number {
    fn from(number: usize) -> Self {
        Self::Whole(number as u64)
    }
}

impl From<bool> for Number {
    fn from(is_set: bool) -> Self {
        Self::Whole(is_set.into())
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

/// A part of a process that reports series.
pub trait Source: Debug + Send + Sync + 'static {
    /// Writes the present values. May block for milliseconds, but must not wait for other machines.
    fn read(&self, readings: &mut Readings<'_>) -> fmt::Result;
}

/// Receives the values of one scrape.
#[derive(Debug)]
pub struct Readings<'a>(DescriptorEncoder<'a>);

impl Readings<'_> {
    /// A series without labels.
    pub fn one(&mut self, series: &Series, value: impl Into<Number>) -> fmt::Result {
        self.maybe(series, Some(value))
    }

    /// A series without labels that may have no value yet.
    pub fn maybe(&mut self, series: &Series, value: Option<impl Into<Number>>) -> fmt::Result {
        let mut encoder = self.family(series)?;
        value.map_or(Ok(()), |value| write(&mut encoder, series, value.into()))
    }

    /// A series with one label: pairs of its values and the numbers.
    pub fn each<'v, N: Into<Number>>(
        &mut self,
        series: &Series,
        values: impl IntoIterator<Item = (&'v str, N)>,
    ) -> fmt::Result {
        let mut encoder = self.family(series)?;
        for (label, number) in values {
            let labels = labelled(series, [label]);
            write(&mut encoder.encode_family(&labels)?, series, number.into())?;
        }
        Ok(())
    }

    /// A series with several labels: rows of their values and the number.
    pub fn table<'v, const N: usize, V: Into<Number>>(
        &mut self,
        series: &Series,
        rows: impl IntoIterator<Item = ([&'v str; N], V)>,
    ) -> fmt::Result {
        let mut encoder = self.family(series)?;
        for (values, number) in rows {
            let labels = labelled(series, values);
            write(&mut encoder.encode_family(&labels)?, series, number.into())?;
        }
        Ok(())
    }

    /// A histogram with the values of its labels.
    pub fn histogram<const N: usize>(
        &mut self,
        series: &Series,
        labels: [&str; N],
        histogram: &Histogram,
    ) -> fmt::Result {
        let (sum, buckets) = histogram.read();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let labels = labelled(series, labels);
        let mut encoder = self.family(series)?;
        if labels.is_empty() {
            // A family of no labels would be written with empty braces.
            return encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None);
        }
        let mut encoder = encoder.encode_family(&labels)?;
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    /// An info with the values of its labels.
    pub fn info<const N: usize>(&mut self, series: &Series, labels: [&str; N]) -> fmt::Result {
        let labels = labelled(series, labels);
        self.family(series)?.encode_info(&labels)
    }

    fn family<'s>(&'s mut self, series: &'s Series) -> Result<MetricEncoder<'s>, fmt::Error> {
        let kind = match series.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
            Kind::Info => MetricType::Info,
        };
        self.0.encode_descriptor(series.family(), series.about, None, kind)
    }
}

/// The labels of a series with their values.
fn labelled<'v>(
    series: &Series,
    values: impl IntoIterator<Item = &'v str>,
) -> Vec<(&'static str, &'v str)> {
    series.labels.iter().copied().zip(values).collect()
}

fn write(encoder: &mut MetricEncoder<'_>, series: &Series, number: Number) -> fmt::Result {
    const NO_EXEMPLAR: Option<&Exemplar<NoLabelSet, f64>> = None;
    match (series.kind, number) {
        (Kind::Counter, Number::Whole(number)) => encoder.encode_counter(&number, NO_EXEMPLAR),
        (Kind::Counter, Number::Real(number)) => encoder.encode_counter(&number, NO_EXEMPLAR),
        (_, Number::Whole(number)) => encoder.encode_gauge(&number),
        (_, Number::Real(number)) => encoder.encode_gauge(&number),
    }
}

/// All sources of a process.
#[derive(Debug, Default)]
pub struct Metrics(Registry);

#[derive(Debug)]
struct Adapter<S>(S);

impl<S: Source> Collector for Adapter<S> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.read(&mut Readings(encoder))
    }
}

impl Metrics {
    /// Adds a source.
    #[must_use]
    pub fn with(mut self, source: impl Source) -> Self {
        self.0.register_collector(Box::new(Adapter(source)));
        self
    }

    /// All series with their present values, in the OpenMetrics text format.
    pub fn render(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0)?;
        Ok(text)
    }
}
