//! A connector for hyper-util's client (feature `hyper`), and for whatever takes a tower service of [`Uri`]s in its place:
//! hyper-rustls, hyper-tls, tonic, the clients of axum's tests.
//!
//! ```
//! use hyper_util::client::legacy::Client;
//! use hyper_util::rt::TokioExecutor;
//! use unstall::hyper::HttpConnector;
//!
//! let client: Client<_, String> = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
//! ```
//!
//! A connect that fails is a [`ConnectError`] somewhere among the sources of the client's error;
//! [`connect_error`] finds it, and with it the timeline.

pub use crate::connect_error;
use crate::{ConnectError, Connector, Target};
use ::http::Uri;
use ::tokio::net::TcpStream;
use hyper_util::rt::TokioIo;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_service::Service;

/// Connects to the host and port of a URI, as [`Connector::connect_tokio`] does; in place of hyper-util's `HttpConnector`.
///
/// The port is the URI's, else that of its scheme, `https` among them, so that it serves below a TLS connector too; TLS
/// itself is not its business. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct HttpConnector {
    connector: Connector,
}

impl HttpConnector {
    /// With the defaults of [`Connector`].
    pub fn new() -> Self {
        Self::default()
    }
}

/// With a time limit, a family and whatever else a [`Connector`] is told.
impl From<Connector> for HttpConnector {
    fn from(connector: Connector) -> Self {
        Self { connector }
    }
}

impl Service<Uri> for HttpConnector {
    type Response = TokioIo<TcpStream>;
    type Error = ConnectError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Connecting {
        let connector = self.connector.clone();
        Connecting(Box::pin(async move { connector.connect_tokio(target(&uri)?).await.map(TokioIo::new) }))
    }
}

/// A connect that is under way. Dropping it gives the connect up.
#[must_use = "futures do nothing unless polled"]
pub struct Connecting(Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, ConnectError>> + Send>>);

impl Future for Connecting {
    type Output = Result<TokioIo<TcpStream>, ConnectError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl fmt::Debug for Connecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connecting").finish_non_exhaustive()
    }
}

/// Scheme, host and port; the rest of a URI does not matter to a connect.
fn target(uri: &Uri) -> Result<Target, ConnectError> {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let text = match uri.scheme_str() {
        Some(scheme) => format!("{scheme}://{authority}"),
        None => authority.to_owned(),
    };
    Ok(text.parse()?)
}
