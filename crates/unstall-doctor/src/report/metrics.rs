//! Prometheus' text format 0.0.4: families of gauges with their labels.

use std::fmt::Write;

/// A metric with all its samples: a gauge.
///
/// ```
/// use unstall_doctor::report::{Family, metrics};
///
/// let up = Family::new("unstall_wait_up", "Whether a target listens.").with(&[("target", "a:1")], 1.0);
/// assert!(metrics(&[up]).ends_with("unstall_wait_up{target=\"a:1\"} 1\n"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    name: &'static str,
    help: &'static str,
    samples: Vec<(String, f64)>,
}

impl Family {
    /// A metric without samples. `name` ends with its unit (`_seconds`); `help` is one sentence.
    pub fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, samples: Vec::new() }
    }

    /// Adds a sample. What is not known has none.
    #[must_use]
    pub fn with(mut self, labels: &[(&str, &str)], value: f64) -> Self {
        let labels: Vec<_> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.samples.push((labels, value));
        self
    }
}

/// The families that have samples, as text.
pub fn text(families: &[Family]) -> String {
    let mut text = String::new();
    for Family { name, help, samples } in families.iter().filter(|family| !family.samples.is_empty()) {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in samples {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    text
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Family, text};

    /// The samples of a text: name, labels as they stand, value. Panics where the text is not as the format wants it.
    pub(in crate::report) fn parse(text: &str) -> Vec<(String, String, f64)> {
        let mut typed = None;
        let mut samples = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type");
                assert_eq!(kind, "gauge");
                typed = Some(name.to_owned());
            } else if !line.starts_with("# HELP ") {
                let (name, value) = line.rsplit_once(' ').expect("a value");
                let (name, labels) = name.split_once('{').unwrap_or((name, "}"));
                assert_eq!(Some(name), typed.as_deref(), "a family's samples stand together");
                assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{name}");
                assert!(labels.ends_with('}'), "{line}");
                let sample = (name.to_owned(), labels.to_owned(), value.parse().expect("a number"));
                let is_new =
                    |(name, labels, _): &(String, String, f64)| (name, labels) != (&sample.0, &sample.1);
                assert!(samples.iter().all(is_new), "twice: {line}");
                samples.push(sample);
            }
        }
        samples
    }

    #[test]
    fn label_values_are_escaped() {
        let family = Family::new("a", "A.").with(&[("b", "c\\d\"e\nf")], 1.5);
        assert_eq!(text(&[family]), "# HELP a A.\n# TYPE a gauge\na{b=\"c\\\\d\\\"e\\nf\"} 1.5\n");
    }

    #[test]
    fn a_family_without_samples_is_left_out() {
        assert_eq!(text(&[Family::new("a", "A.")]), "");
    }
}
