//! What the place where output goes can show.

use crate::args::When;
use anstream::{AutoStream, ColorChoice};
use std::env;
use std::io;
#[cfg(windows)]
use std::io::IsTerminal;
use terminal_size::{Width, terminal_size};
use unstall_core::text::Charset;
use unstall_doctor::report::Style;

/// Lines are no longer than this, however wide the terminal is: people read columns, not lines.
const MAX_WIDTH: u16 = 100;

/// Below this nothing can be laid out: lines are left to the terminal to break.
const MIN_WIDTH: u16 = 40;

/// What stdout can show, given what the person asked for.
pub(crate) fn of_stdout(color: When) -> Style {
    match color {
        When::Auto => ColorChoice::Auto,
        When::Always => ColorChoice::Always,
        When::Never => ColorChoice::Never,
    }
    .write_global();
    if !colours_come_out() {
        ColorChoice::Never.write_global();
    }
    Style {
        color: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        charset: charset(|name| env::var(name).ok(), cfg!(windows), console_shows_all()),
        width: width(terminal_size().map(|(Width(columns), _)| columns).or_else(columns)),
    }
}

/// Whether colour sequences are colours to the console. Windows' own console takes them for text until it is told, and before Windows 10
/// it cannot be told.
#[cfg(windows)]
fn colours_come_out() -> bool {
    !io::stdout().is_terminal() || anstyle_query::windows::enable_ansi_colors() != Some(false)
}

#[cfg(not(windows))]
fn colours_come_out() -> bool {
    true
}

/// Whether stdout is a console whose font has the characters of any language. The raster fonts of Windows' older consoles have those
/// of one code page alone.
#[cfg(windows)]
fn console_shows_all() -> bool {
    io::stdout().is_terminal() && unstall_sys::console::has_truetype_font() != Some(false)
}

/// Elsewhere nobody asks: the locale tells.
#[cfg(not(windows))]
fn console_shows_all() -> bool {
    false
}

/// Which characters come out right. A Windows console shows them if its font has them, but what is redirected there is read in some
/// older code page. Elsewhere the locale tells.
fn charset(variable: impl Fn(&str) -> Option<String>, windows: bool, console_shows_all: bool) -> Charset {
    if windows {
        return if console_shows_all { Charset::Unicode } else { Charset::Ascii };
    }
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    match set.map(|locale| locale.to_ascii_lowercase()) {
        Some(locale) if locale.contains("utf-8") || locale.contains("utf8") => Charset::Unicode,
        _ => Charset::Ascii,
    }
}

/// What a person says of a terminal that is not asked, or of a file: the variable that shells have.
fn columns() -> Option<u16> {
    env::var("COLUMNS").ok()?.parse().ok()
}

/// The width of a line, given the terminal's; without a terminal, that of most.
fn width(columns: Option<u16>) -> usize {
    usize::from(columns.unwrap_or(80).clamp(MIN_WIDTH, MAX_WIDTH))
}

#[cfg(test)]
mod tests {
    use super::{charset, width};
    use unstall_core::text::Charset;

    fn with(variables: &'static [(&'static str, &'static str)], windows: bool, is_terminal: bool) -> bool {
        let value =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        charset(value, windows, is_terminal) == Charset::Unicode
    }

    #[test]
    fn the_locale_decides_and_the_first_variable_that_is_set() {
        assert!(with(&[("LANG", "en_GB.UTF-8")], false, false));
        assert!(with(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")], false, false));
        assert!(!with(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")], false, true));
        assert!(!with(&[], false, true));
    }

    #[test]
    fn on_windows_only_a_console_shows_all_characters() {
        assert!(with(&[], true, true));
        assert!(!with(&[("LANG", "en_GB.UTF-8")], true, false));
    }

    #[test]
    fn lines_are_neither_endless_nor_tiny() {
        assert_eq!([width(None), width(Some(10)), width(Some(90)), width(Some(400))], [80, 40, 90, 100]);
    }
}
