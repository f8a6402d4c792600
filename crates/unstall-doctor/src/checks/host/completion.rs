//! What learning that a connect has succeeded costs, by four ways of asking.
//!
//! On Windows reading SO_ERROR right after a non-blocking connect races the sockets library's own thread and may wait for
//! a tick of the clock; see the finding `so-error-stall`.

use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Finding, exchange};
use crate::probe::{LOOPBACK, SLOW, accept, leave_nothing};
use crate::stats::{Figures, percent, show};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use schemars::JsonSchema;
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

pub(super) struct Completion;

/// Non-blocking connects to a listener at 127.0.0.1, until the program knows that they succeeded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "CompletionData")]
pub(super) struct Data {
    /// Wait until the socket is writable.
    poll: Figures,
    /// The same, then read SO_ERROR.
    poll_so_error: Figures,
    /// The same, then wait 50 us, then read SO_ERROR. The 50 us are not counted.
    poll_pause_so_error: Figures,
    /// Wait until the socket is writable, then read SO_TYPE.
    poll_so_type: Figures,
}

/// A way of asking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Poll,
    SoError,
    PauseSoError,
    SoType,
}

const PAUSE: Duration = Duration::from_micros(50);
/// The stall is 10 to 25 ms: beside such a connect it cannot be seen.
const TOO_SLOW: Duration = Duration::from_millis(500);
/// Published: 210 of 300 connects stall with SO_ERROR, one in a hundred or fewer without. A quarter is far from both.
const OFTEN: f64 = 0.25;

impl Check for Completion {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "completion";
    const TITLE: &'static str = "connect completion, four ways";
    const ABOUT: &'static str = "a non-blocking connect until its success is known: by waiting alone, by SO_ERROR, by SO_ERROR after 50 us, \
                                 by another option: finds Windows' SO_ERROR stall";
    const BUDGET: Duration = Duration::from_secs(1);

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        let failed = |error: io::Error| {
            NotRun::CouldNot(format!("a non-blocking connect at 127.0.0.1 failed: {error}"))
        };
        let listener = TcpListener::bind((LOOPBACK[0], 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let one = |way| connect(&listener, address, way, context.timeout()).map_err(failed);
        let first = one(Way::Poll)?;
        if first >= TOO_SLOW {
            let why = format!(
                "a connect at 127.0.0.1 takes {}, which hides what this check looks for",
                show(first)
            );
            return Err(NotRun::CouldNot(why));
        }
        let mut samples = [const { Vec::new() }; 4];
        let ways = [Way::Poll, Way::SoError, Way::PauseSoError, Way::SoType];
        // In turn, so that a change of the machine's mood meets all four.
        context.series(context.samples(1), || {
            for (way, samples) in ways.iter().zip(&mut samples) {
                samples.push(one(*way)?);
            }
            Ok(Duration::ZERO)
        })?;
        let mut figures = samples.iter().filter_map(|samples| Figures::of(samples));
        let mut next = || figures.next().ok_or_else(|| NotRun::CouldNot("no sample was taken".to_owned()));
        Ok(Data {
            poll: next()?,
            poll_so_error: next()?,
            poll_pause_so_error: next()?,
            poll_so_type: next()?,
        })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let (with, without) = (data.poll_so_error.share_from(SLOW), data.poll.share_from(SLOW));
        if with < OFTEN || without >= OFTEN {
            return Vec::new();
        }
        let finding =
            exchange::SO_ERROR_STALL.found(&[("share", &percent(with)), ("clean", &percent(without))]);
        let evidence = data.ways().map(|(way, figures)| {
            let slow = percent(figures.share_from(SLOW));
            figures.evidence(&format!("{way}, {slow} at 5 ms or more"))
        });
        vec![finding.with_all(evidence)]
    }

    fn describe(data: &Data) -> Vec<String> {
        let words = data.ways().map(|(way, figures)| format!("{way} {}", show(figures.median())));
        vec![words.join(", ")]
    }
}

impl Data {
    /// The four ways, in words.
    fn ways(&self) -> [(&'static str, &Figures); 4] {
        [
            ("waiting alone", &self.poll),
            ("then SO_ERROR", &self.poll_so_error),
            ("then 50 us, then SO_ERROR", &self.poll_pause_so_error),
            ("then SO_TYPE", &self.poll_so_type),
        ]
    }
}

/// One non-blocking connect, accepted and closed again; how long it took to know that it succeeded.
fn connect(listener: &TcpListener, address: SocketAddr, way: Way, limit: Duration) -> io::Result<Duration> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    let start = Instant::now();
    match socket.connect(&address.into()) {
        Err(error) if !in_progress(&error) => return Err(error),
        _ => {}
    }
    let mut waited = [PollFd::new(&socket, PollFlags::OUT)];
    let timeout = Timespec::try_from(limit).map_err(|_| io::ErrorKind::InvalidInput)?;
    if poll(&mut waited, Some(&timeout))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let mut pause = Duration::ZERO;
    if way == Way::PauseSoError {
        pause = spin(PAUSE);
    }
    match way {
        Way::Poll => {}
        Way::SoError | Way::PauseSoError => {
            if let Some(error) = socket.take_error()? {
                return Err(error);
            }
        }
        Way::SoType => {
            socket.r#type()?;
        }
    }
    let elapsed = start.elapsed().saturating_sub(pause);
    leave_nothing(&socket)?;
    accept(listener, limit)?;
    Ok(elapsed)
}

fn in_progress(error: &io::Error) -> bool {
    // EINPROGRESS has no ErrorKind of its own on every toolchain that this builds with; Windows says WSAEWOULDBLOCK.
    let unix = rustix::io::Errno::INPROGRESS.raw_os_error();
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(unix)
}

/// Waits without sleeping, since a sleep of 50 us takes as long as the scheduler likes. How long it was.
fn spin(time: Duration) -> Duration {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;
    use crate::stats::tests::figures;

    /// `slow` of `n` samples at 14 ms, the others at 0.2 ms.
    fn bimodal(slow: usize, n: usize) -> Figures {
        let ms: Vec<f64> = (0..n).map(|i| if i < slow { 14.0 } else { 0.2 }).collect();
        figures(&ms)
    }

    fn found(poll: Figures, so_error: Figures) -> Vec<Finding> {
        Completion::judge(&Data {
            poll: poll.clone(),
            poll_so_error: so_error,
            poll_pause_so_error: poll.clone(),
            poll_so_type: poll,
        })
    }

    #[test]
    fn the_published_stall_is_found_with_its_figures() {
        let findings = found(bimodal(0, 300), bimodal(210, 300));
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].title.contains("70 % of connects take 5 ms or more, 0 % without"),
            "{}",
            findings[0].title
        );
        assert_eq!(findings[0].evidence.len(), 4);
        assert_eq!(findings[0].evidence[1].value_ns, Some(14_000_000));
    }

    #[test]
    fn a_quarter_of_slow_connects_is_the_limit() {
        assert_eq!(found(bimodal(0, 100), bimodal(24, 100)).len(), 0);
        assert_eq!(found(bimodal(0, 100), bimodal(25, 100)).len(), 1);
    }

    #[test]
    fn what_is_slow_without_so_error_too_has_another_cause() {
        assert_eq!(found(bimodal(24, 100), bimodal(90, 100)).len(), 1);
        assert_eq!(found(bimodal(25, 100), bimodal(90, 100)).len(), 0);
    }

    #[test]
    fn four_ways_are_measured_on_real_sockets() {
        let context =
            Context::new(&Options { samples: 10, ..Options::default() }).for_budget(Completion::BUDGET);
        let data = Completion::measure(&context, &()).expect("not measured");
        for figures in [&data.poll, &data.poll_so_error, &data.poll_pause_so_error, &data.poll_so_type] {
            assert_eq!(figures.n(), 10);
        }
    }
}
