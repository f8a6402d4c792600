//! The same connect through everything that waits for it.

use unstall::{ConnectError, Connector, Target, Timeline};

/// What a connect came to; the stream itself is closed.
pub(crate) type Told = (Result<(), ConnectError>, Timeline);

/// A way to connect, and its name.
pub(crate) type Driver = (&'static str, fn(&Connector, &Target) -> Told);

pub(crate) const DRIVERS: [Driver; 3] =
    [("blocking", blocking), ("tokio", on_tokio), ("async-io", on_async_io)];

fn blocking(connector: &Connector, target: &Target) -> Told {
    let (result, timeline) = connector.connect_timeline(target);
    (result.map(drop), timeline)
}

fn on_tokio(connector: &Connector, target: &Target) -> Told {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (result, timeline) = runtime.block_on(connector.connect_timeline_tokio(target));
    (result.map(drop), timeline)
}

fn on_async_io(connector: &Connector, target: &Target) -> Told {
    let (result, timeline) = async_io::block_on(connector.connect_timeline_async_io(target));
    (result.map(drop), timeline)
}
