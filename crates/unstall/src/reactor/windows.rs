//! Windows: the blocking connect on one of a bounded number of threads, whose stream is then registered.
//!
//! A reactor cannot wait for ConnectEx on a socket that somebody else started it on. A connect whose future is dropped finishes
//! alone, and is closed.

use super::Reactor;
use crate::heat::Ended;
use crate::offload::offload;
use crate::{Connector, Outcome, Prepared, Target, drive};
use std::net::{SocketAddr, TcpStream};
use unstall_sys::Error;

/// Resolves the target and races its addresses.
pub(super) async fn race<R: Reactor>(connector: &Connector, target: Target) -> Ended<R::Stream> {
    let (asked, theirs) = (target.clone(), connector.clone());
    let Some((result, mut timeline)) = offload(move || drive::race(&theirs, asked)).await else {
        let timeline = crate::Timeline {
            target,
            resolution: None,
            attempts: smallvec::SmallVec::new(),
            outcome: Outcome::Exhausted,
            elapsed: std::time::Duration::ZERO,
        };
        return (Err(Some(lost(None))), timeline);
    };
    let result = result.and_then(|stream| registered::<R>(stream).map_err(Some));
    if let Err(Some(error)) = &result {
        timeline.outcome = error.outcome();
    }
    (result, timeline)
}

/// The shortest way to one address.
pub(super) async fn one<R: Reactor>(
    connector: &Connector,
    address: SocketAddr,
) -> (Prepared, Result<R::Stream, Error>) {
    let connector = connector.clone();
    match offload(move || connector.connect_address(address)).await {
        Some((prepared, result)) => (prepared, result.and_then(registered::<R>)),
        None => (Prepared::NotNeeded, Err(lost(Some(address)))),
    }
}

fn registered<R: Reactor>(stream: TcpStream) -> Result<R::Stream, Error> {
    let registered = stream.set_nonblocking(true).and_then(|()| R::register(stream));
    registered.map_err(|error| Error::reactor(None, error))
}

fn lost(address: Option<SocketAddr>) -> Error {
    Error::reactor(address, std::io::Error::other("no thread could be started for it"))
}
