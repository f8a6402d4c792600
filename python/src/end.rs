//! What a connect came to, as Python takes it.

use async_io::Async;
use pyo3::prelude::*;
use std::error::Error;
use std::io;
use std::net::TcpStream;
use unstall::{ConnectError, Outcome, Timeline};

#[cfg(unix)]
type Descriptor = std::os::fd::RawFd;
#[cfg(windows)]
type Descriptor = std::os::windows::io::RawSocket;

/// What a connect came to.
pub(crate) type Ended = (Result<TcpStream, ConnectError>, Timeline);

/// Takes the stream from the reactor.
pub(crate) fn plain(
    (result, timeline): (Result<Async<TcpStream>, ConnectError>, Timeline),
) -> io::Result<Ended> {
    Ok(match result {
        Ok(stream) => (Ok(stream.into_inner()?), timeline),
        Err(error) => (Err(error), timeline),
    })
}

/// What Python gets: the socket and whether it is IPv6, or the failure; and the timeline as JSON, where it is wanted.
#[derive(IntoPyObject)]
pub(crate) struct End {
    /// Belongs to whoever gets it.
    socket: Option<Descriptor>,
    v6: bool,
    failure: Option<Failure>,
    timeline: Option<String>,
}

/// Why it failed.
#[derive(IntoPyObject)]
pub(crate) struct Failure {
    /// The sentence.
    message: String,
    /// What the OS said, if it said anything.
    os_error: Option<i32>,
    /// What the resolver said.
    resolver: Option<i32>,
}

impl End {
    /// The timeline of a success is only wanted by whoever asks; that of a failure always.
    pub(crate) fn of((result, timeline): Ended, wanted: bool) -> Self {
        let json = (wanted || result.is_err()).then(|| serde_json::to_string(&timeline).ok()).flatten();
        match result {
            Ok(stream) => {
                let winner = timeline.attempts.iter().find(|attempt| attempt.outcome == Outcome::Connected);
                let v6 = winner.is_some_and(|winner| winner.address.is_ipv6());
                Self { socket: Some(give_away(stream)), v6, failure: None, timeline: json }
            }
            Err(error) => {
                let failure = Failure::of(&error, &timeline);
                Self { socket: None, v6: false, failure: Some(failure), timeline: json }
            }
        }
    }
}

impl Failure {
    fn of(error: &ConnectError, timeline: &Timeline) -> Self {
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        Self {
            message: error.to_string(),
            os_error: source.and_then(io::Error::raw_os_error),
            resolver: timeline
                .resolution
                .as_ref()
                .and_then(|resolution| resolution.os_error)
                .map(|error| error.code),
        }
    }
}

#[cfg(unix)]
fn give_away(stream: TcpStream) -> Descriptor {
    std::os::fd::IntoRawFd::into_raw_fd(stream)
}

#[cfg(windows)]
fn give_away(stream: TcpStream) -> Descriptor {
    std::os::windows::io::IntoRawSocket::into_raw_socket(stream)
}
