//! The Prometheus text format.

use std::fmt::{Display, Write as _};

/// The content type of a page.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page in the text format.
#[derive(Default)]
pub(crate) struct Exposition(String);

impl Exposition {
    /// The page.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    /// A figure that goes up and down.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "gauge", help);
        self.sample(name, &[], value);
    }

    /// Figures that go up and down, one for each set of labels.
    pub(crate) fn gauges<'a, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'a str, &'a str)>, V)>,
    ) {
        self.samples(name, "gauge", help, samples);
    }

    /// Figures that only grow, one for each set of labels.
    pub(crate) fn counters<'a, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'a str, &'a str)>, V)>,
    ) {
        self.samples(name, "counter", help, samples);
    }

    /// What a histogram is, before its parts.
    pub(crate) fn histogram_head(&mut self, name: &str, help: &str) {
        self.head(name, "histogram", help);
    }

    /// A histogram of times. `counts` are those of each bucket alone, the last one of what is above
    /// all bounds; the sum is in seconds.
    pub(crate) fn histogram(
        &mut self,
        name: &str,
        label: (&str, &str),
        bounds_ms: &[u64],
        counts: &[u64],
        sum: f64,
    ) {
        let bucket = format!("{name}_bucket");
        let mut total: u64 = 0;
        let bounds = bounds_ms.iter().map(|millis| seconds(*millis)).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(counts) {
            total = total.saturating_add(*count);
            self.sample(&bucket, &[label, ("le", &bound)], total);
        }
        self.sample(&format!("{name}_sum"), &[label], sum);
        self.sample(&format!("{name}_count"), &[label], total);
    }

    fn samples<'a, V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'a str, &'a str)>, V)>,
    ) {
        self.head(name, kind, help);
        for (labels, value) in samples {
            self.sample(name, &labels, value);
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            self.0.push(if index == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"{}\"", escaped(text));
        }
        self.0.push_str(if labels.is_empty() { " " } else { "} " });
        let _ = writeln!(self.0, "{value}");
    }
}

/// The value of a label, so that nothing in it ends the label or the line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Milliseconds as seconds, without needless digits.
fn seconds(millis: u64) -> String {
    if millis.is_multiple_of(1000) {
        return (millis / 1000).to_string();
    }
    let text = format!("{}.{:03}", millis / 1000, millis % 1000);
    text.trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_what_prometheus_reads() {
        let mut page = Exposition::default();
        page.gauge("up", "Whether it runs.", 1);
        page.counters("runs_total", "Runs.", [(vec![("sweep", "a\"b\n")], 7)]);
        page.histogram_head("took_seconds", "Times.");
        page.histogram("took_seconds", ("kind", "x"), &[500, 2000], &[1, 2, 3], 1.5);
        assert_eq!(
            page.into_text(),
            "# HELP up Whether it runs.\n\
             # TYPE up gauge\n\
             up 1\n\
             # HELP runs_total Runs.\n\
             # TYPE runs_total counter\n\
             runs_total{sweep=\"a\\\"b\\n\"} 7\n\
             # HELP took_seconds Times.\n\
             # TYPE took_seconds histogram\n\
             took_seconds_bucket{kind=\"x\",le=\"0.5\"} 1\n\
             took_seconds_bucket{kind=\"x\",le=\"2\"} 3\n\
             took_seconds_bucket{kind=\"x\",le=\"+Inf\"} 6\n\
             took_seconds_sum{kind=\"x\"} 1.5\n\
             took_seconds_count{kind=\"x\"} 6\n"
        );
    }
}
