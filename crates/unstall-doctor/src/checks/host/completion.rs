//! What learning that a connect has succeeded costs, by four ways of asking, and on Windows by the
//! calls of two libraries.
//!
//! On Windows reading SO_ERROR right after a non-blocking connect races the sockets library's own thread and may wait for
//! a tick of the clock; see the finding `so-error-stall`.

use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Finding, exchange};
use crate::probe::{LOOPBACK, SLOW, accept, begin_connect, borrowed, leave_nothing};
use crate::stats::{Figures, percent, show};
use schemars::JsonSchema;
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};
use unstall_sys::readiness::{Interest, Reactor, Readiness, select};

pub(super) struct Completion;

/// Non-blocking connects to a listener at 127.0.0.1, until the program knows that they succeeded. The wait is select on
/// Windows, poll elsewhere.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "CompletionData")]
pub(super) struct Data {
    /// Wait until the socket is writable.
    wait: Figures,
    /// The same, then read SO_ERROR.
    wait_so_error: Figures,
    /// The same, then wait 50 us, then read SO_ERROR. The 50 us are not counted.
    wait_pause_so_error: Figures,
    /// Wait until the socket is writable, then read SO_TYPE.
    wait_so_type: Figures,
    /// The calls that tokio makes on Windows: an AFD poll for reading and writing, then SO_ERROR; null: not Windows, or the driver
    /// could not be opened.
    tokio: Option<Figures>,
    /// The calls that async-io makes on Windows: an AFD poll for writing, then SO_ERROR; null as above.
    async_io: Option<Figures>,
}

/// A way of asking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Wait,
    SoError,
    PauseSoError,
    SoType,
    Tokio,
    AsyncIo,
}

impl Way {
    const ALL: [Self; 6] =
        [Self::Wait, Self::SoError, Self::PauseSoError, Self::SoType, Self::Tokio, Self::AsyncIo];

    /// What a reactor asks for; `None`: no reactor waits.
    fn interest(self) -> Option<Interest> {
        match self {
            Self::Tokio => Some(Interest::Both),
            Self::AsyncIo => Some(Interest::Writing),
            Self::Wait | Self::SoError | Self::PauseSoError | Self::SoType => None,
        }
    }
}

const PAUSE: Duration = Duration::from_micros(50);
/// The stall is 10 to 25 ms: beside such a connect it cannot be seen.
const TOO_SLOW: Duration = Duration::from_millis(500);
/// Published: 210 of 300 connects stall with SO_ERROR, one in a hundred or fewer without. A quarter is far from both.
const OFTEN: f64 = 0.25;
/// Where the stall may be, as many as were published; elsewhere a third of it.
const SHARE: usize = if cfg!(windows) { 3 } else { 1 };

impl Check for Completion {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "completion";
    const TITLE: &'static str = "connect completion, four ways";
    const ABOUT: &'static str = "a non-blocking connect until its success is known: by waiting alone, by SO_ERROR, by SO_ERROR after 50 us, \
                                 by another option, on Windows also by the calls of tokio and async-io: finds Windows' SO_ERROR stall";
    // Half of 1500 connects that stall for two ticks of Windows' clock take 24 s; elsewhere they take milliseconds.
    const BUDGET: Duration = Duration::from_secs(if cfg!(windows) { 25 } else { 1 });

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        let failed = |error: io::Error| {
            NotRun::CouldNot(format!("a non-blocking connect at 127.0.0.1 failed: {error}"))
        };
        let listener = TcpListener::bind((LOOPBACK[0], 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut reactor = Reactor::new().ok();
        let mut one =
            |way| connect(&listener, address, way, reactor.as_mut(), context.timeout()).map_err(failed);
        let first = one(Way::Wait)?;
        if first >= TOO_SLOW {
            let why = format!(
                "a connect at 127.0.0.1 takes {}, which hides what this check looks for",
                show(first)
            );
            return Err(NotRun::CouldNot(why));
        }
        let mut samples = [const { Vec::new() }; 6];
        // In turn, so that a change of the machine's mood meets all of them.
        context.series(context.samples(1) * SHARE, || {
            for (way, samples) in Way::ALL.iter().zip(&mut samples) {
                if way.interest().is_none() || cfg!(windows) {
                    samples.push(one(*way)?);
                }
            }
            Ok(Duration::ZERO)
        })?;
        Data::of(samples.map(|samples| Figures::of(&samples)))
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let clean = data.wait.share_from(SLOW);
        if clean >= OFTEN {
            return Vec::new();
        }
        let evidence = || {
            data.ways().map(|(way, figures)| {
                let slow = percent(figures.share_from(SLOW));
                figures.evidence(&format!("{way}, {slow} at 5 ms or more"))
            })
        };
        let mut findings = Vec::new();
        let with = data.wait_so_error.share_from(SLOW);
        if with >= OFTEN {
            let values = [("share", &percent(with) as _), ("clean", &percent(clean) as _)];
            findings.push(exchange::SO_ERROR_STALL.found(&values).with_all(evidence()));
        }
        let runtimes = [("tokio", &data.tokio), ("async-io", &data.async_io)];
        let stalled: Vec<_> = runtimes
            .into_iter()
            .filter_map(|(name, figures)| Some((name, figures.as_ref()?.share_from(SLOW))))
            .filter(|(_, share)| *share >= OFTEN)
            .collect();
        if let Some(most) = stalled.iter().map(|(_, share)| *share).reduce(f64::max) {
            let names: Vec<_> = stalled.iter().map(|(name, _)| *name).collect();
            let values = [
                ("runtimes", &names.join(" and ") as _),
                ("share", &percent(most) as _),
                ("clean", &percent(clean) as _),
            ];
            findings.push(exchange::ASYNC_CONNECT_STALL.found(&values).with_all(evidence()));
        }
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        let words = data.ways().map(|(way, figures)| format!("{way} {}", show(figures.median())));
        let head = words.collect::<Vec<_>>().join(", ");
        let bimodal = data.ways().filter(|(_, figures)| figures.share_from(SLOW) >= OFTEN);
        let histograms = bimodal.flat_map(|(way, figures)| {
            let rows = figures.histogram();
            std::iter::once(format!("{way}: {}", figures.words())).chain(rows)
        });
        std::iter::once(head).chain(histograms).collect()
    }
}

impl Data {
    /// The figures of [`Way::ALL`], in its order. The last two may be missing.
    fn of(figures: [Option<Figures>; 6]) -> Measured<Self> {
        match figures {
            [
                Some(wait),
                Some(wait_so_error),
                Some(wait_pause_so_error),
                Some(wait_so_type),
                tokio,
                async_io,
            ] => Ok(Self { wait, wait_so_error, wait_pause_so_error, wait_so_type, tokio, async_io }),
            _ => Err(NotRun::CouldNot("no sample was taken".to_owned())),
        }
    }

    /// The ways that were measured, in words.
    fn ways(&self) -> impl Iterator<Item = (&'static str, &Figures)> {
        [
            ("waiting alone", Some(&self.wait)),
            ("then SO_ERROR", Some(&self.wait_so_error)),
            ("then 50 us, then SO_ERROR", Some(&self.wait_pause_so_error)),
            ("then SO_TYPE", Some(&self.wait_so_type)),
            ("as tokio", self.tokio.as_ref()),
            ("as async-io", self.async_io.as_ref()),
        ]
        .into_iter()
        .filter_map(|(way, figures)| Some((way, figures?)))
    }
}

/// One non-blocking connect, accepted and closed again; how long it took to know that it succeeded.
fn connect(
    listener: &TcpListener,
    address: SocketAddr,
    way: Way,
    reactor: Option<&mut Reactor>,
    limit: Duration,
) -> io::Result<Duration> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    let start = Instant::now();
    begin_connect(&socket, address)?;
    let ready = match (way.interest(), reactor) {
        (Some(interest), Some(reactor)) => reactor.wait(borrowed(&socket), interest, limit)?,
        _ => select(borrowed(&socket), limit)?,
    };
    match ready {
        Readiness::Writable => {}
        Readiness::Failed => return Err(socket.take_error()?.unwrap_or_else(|| io::ErrorKind::Other.into())),
        Readiness::Nothing => return Err(io::ErrorKind::TimedOut.into()),
    }
    let pause = if way == Way::PauseSoError { spin(PAUSE) } else { Duration::ZERO };
    match way {
        Way::Wait => {}
        Way::SoError | Way::PauseSoError | Way::Tokio | Way::AsyncIo => {
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

    fn data(clean: Figures, so_error: Figures, tokio: Option<Figures>) -> Data {
        let async_io = tokio.as_ref().map(|_| clean.clone());
        Data {
            wait: clean.clone(),
            wait_so_error: so_error,
            wait_pause_so_error: clean.clone(),
            wait_so_type: clean,
            tokio,
            async_io,
        }
    }

    fn found(poll: Figures, so_error: Figures) -> Vec<Finding> {
        Completion::judge(&data(poll, so_error, None))
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
    fn a_runtime_that_stalls_is_named_with_its_histogram() {
        let data = data(bimodal(0, 300), bimodal(0, 300), Some(bimodal(200, 300)));
        let findings = Completion::judge(&data);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].id, "async-connect-stall");
        assert!(
            findings[0].title.starts_with("connects as tokio make them stall: 67 %"),
            "{}",
            findings[0].title
        );
        assert_eq!(findings[0].evidence.len(), 6);
        let lines = Completion::describe(&data);
        assert!(lines[1].contains("in groups: 0.20 ms (33 %, 100 measurements), 14.0 ms (67 %"), "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("200")), "{lines:?}");
    }

    #[test]
    fn four_ways_are_measured_on_real_sockets() {
        let context =
            Context::new(&Options { samples: 10, ..Options::default() }).for_budget(Completion::BUDGET);
        let data = Completion::measure(&context, &()).expect("not measured");
        assert!(data.ways().all(|(_, figures)| figures.n() == 10 * SHARE));
        // Under Wine, too, the AFD driver is there.
        assert_eq!(data.ways().count(), if cfg!(windows) { 6 } else { 4 });
    }
}
