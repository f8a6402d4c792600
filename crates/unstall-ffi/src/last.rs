//! What the last connect of a thread came to, for whoever asks.

use crate::guard::guard;
use crate::status::UnstallStatus;
use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CString, c_char};
use std::io;
use std::ptr;
use unstall::{ConnectError, Timeline};

#[derive(Default)]
struct Last {
    timeline: Option<Timeline>,
    failure: Option<Failure>,
    os_error: i32,
}

enum Failure {
    Connect(ConnectError),
    Sentence(&'static str),
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

/// Replaces what is kept. A thread that is about to end keeps nothing any more.
fn keep(last: Last) {
    let _ = LAST.try_with(|place| place.replace(last));
}

/// Keeps what a connect came to, and says its class.
pub(crate) fn connected(error: Option<ConnectError>, timeline: Timeline) -> UnstallStatus {
    let status = error.as_ref().map_or(UnstallStatus::Ok, UnstallStatus::of);
    let os_error = error.as_ref().and_then(os_code).unwrap_or(0);
    keep(Last { timeline: Some(timeline), failure: error.map(Failure::Connect), os_error });
    status
}

/// Keeps that a target was none.
pub(crate) fn no_target(error: ConnectError) -> UnstallStatus {
    keep(Last { failure: Some(Failure::Connect(error)), ..Last::default() });
    UnstallStatus::InvalidArgument
}

/// Keeps that an argument made no sense.
pub(crate) fn invalid(sentence: &'static str) -> UnstallStatus {
    keep(Last { failure: Some(Failure::Sentence(sentence)), ..Last::default() });
    UnstallStatus::InvalidArgument
}

/// Keeps that a connect ended in a panic, as far as that can still be done.
pub(crate) fn panicked() {
    let sentence = "cannot connect: a bug of unstall, whose message went to stderr; please report it";
    guard((), || keep(Last { failure: Some(Failure::Sentence(sentence)), ..Last::default() }));
}

/// Keeps the OS code of something else than a connect, and leaves the rest alone.
pub(crate) fn os_error(code: i32) {
    let _ = LAST.try_with(|place| place.borrow_mut().os_error = code);
}

/// errno, WSA or EAI code behind an error, if the OS gave one.
fn os_code(error: &ConnectError) -> Option<i32> {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.and_then(io::Error::raw_os_error).or_else(|| {
        let timeline = error.timeline()?;
        let resolution = timeline.resolution.as_ref().and_then(|resolution| resolution.os_error);
        let attempt = timeline.attempts.iter().rev().find(|attempt| attempt.outcome == timeline.outcome);
        attempt.and_then(|attempt| attempt.os_error).or(resolution).map(|error| error.code)
    })
}

/// A text for the caller, who owns it. Null where there is none, and for a text with a NUL in it, which none has.
fn hand_out(text: Option<String>) -> *mut c_char {
    text.and_then(|text| CString::new(text).ok()).map_or(ptr::null_mut(), CString::into_raw)
}

/// Why the last connect of this thread failed, as one sentence with every address that was tried and what to do. Null:
/// it did not fail, or there was none.
///
/// The caller gives the text back with `unstall_string_free`.
#[unsafe(no_mangle)]
pub extern "C" fn unstall_last_error() -> *mut c_char {
    guard(ptr::null_mut(), || {
        let text = LAST.try_with(|place| match &place.borrow().failure {
            None => None,
            Some(Failure::Connect(error)) => Some(error.to_string()),
            Some(Failure::Sentence(sentence)) => Some((*sentence).to_owned()),
        });
        hand_out(text.ok().flatten())
    })
}

/// The OS's code for why the last connect of this thread failed, or the last `unstall_prepare`: errno, on Windows a WSA
/// code, and after `UNSTALL_STATUS_NO_NAME` a code of getaddrinfo. 0: there was none, because it did not fail, or not by
/// a call of the OS (a time limit, an invalid argument).
#[unsafe(no_mangle)]
pub extern "C" fn unstall_last_os_error() -> i32 {
    guard(0, || LAST.try_with(|place| place.borrow().os_error).unwrap_or(0))
}

/// What happened during the last connect of this thread, whether or not it connected, as JSON: `target`, `outcome`,
/// `elapsed_ns`, `resolution`, `attempts[]` with `address`, `reason`, `start_ns`, `end_ns`, `outcome`, `os_error`,
/// `prepared`. Times are whole nanoseconds since the start of the connect. Null: there was no connect on this thread, or
/// its arguments were invalid.
///
/// The caller gives the text back with `unstall_string_free`.
#[unsafe(no_mangle)]
pub extern "C" fn unstall_last_timeline() -> *mut c_char {
    guard(ptr::null_mut(), || {
        let json = LAST.try_with(|place| {
            let last = place.borrow();
            last.timeline.as_ref().and_then(|timeline| serde_json::to_string(timeline).ok())
        });
        hand_out(json.ok().flatten())
    })
}

/// Takes back a text that one of the functions above handed out; `NULL` is ignored. Each text once.
///
/// # Safety
/// `text` is null or comes from this library and was not given back yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unstall_string_free(text: *mut c_char) {
    guard((), || {
        if !text.is_null() {
            // SAFETY: the caller promises that it is one of `hand_out`, and given back once.
            drop(unsafe { CString::from_raw(text) });
        }
    });
}
