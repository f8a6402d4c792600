//! Times as people write them: `500ms`, `2s`, `1.5s`, `1m`.

use jiff::SignedDuration;
use std::time::Duration;

/// Reads a time that is more than zero.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let signed: SignedDuration = text
        .parse()
        .map_err(|_| "a time needs a number and a unit: write 500ms, 2s, 1.5s or 1m".to_owned())?;
    match Duration::try_from(signed) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("a time must be more than zero: write 500ms, 2s, 1.5s or 1m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::Duration;

    #[test]
    fn every_form_of_the_help_is_read() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("2s", 2000),
            ("1.5s", 1500),
            ("1m", 60_000),
            ("1m30s", 90_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_answered_with_what_to_write() {
        for text in ["", "5", "fast", "2x", "-1s", "0s", "0ms", "1s ago", "NaNs", "99999999999999999999s"] {
            let sentence = parse(text).unwrap_err();
            assert!(sentence.ends_with("write 500ms, 2s, 1.5s or 1m"), "{text}: {sentence}");
        }
    }
}
