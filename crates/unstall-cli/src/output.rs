//! stdout and stderr.
//!
//! Results go to stdout, everything else to stderr. A reader that goes away (`unstall doctor | head -1`) ends the
//! output, silently, and changes nothing about the exit code: the verdict does not depend on who reads it to the end.

use crate::exit::Exit;
use anstream::AutoStream;
use std::io::{self, ErrorKind, Write};

/// Writes a result to stdout; the exit code is `exit` unless that failed.
pub(crate) fn result(text: &str, exit: Exit) -> Exit {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => exit,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit,
        Err(error) => {
            note(&format!("cannot write to stdout: {error}"));
            Exit::CouldNot
        }
    }
}

/// The same for text with colours in it, which are left out where they are not wanted.
pub(crate) fn styled(text: &str, exit: Exit) -> Exit {
    let mut plain = AutoStream::new(Vec::new(), AutoStream::choice(&io::stdout()));
    // Writing to memory does not fail.
    let _ = plain.write_all(text.as_bytes());
    result(&String::from_utf8_lossy(&plain.into_inner()), exit)
}

/// Writes a line to stderr. There is nobody to tell when that fails.
pub(crate) fn note(sentence: &str) {
    let _ = writeln!(io::stderr(), "unstall: {sentence}");
}
