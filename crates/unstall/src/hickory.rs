//! Names by hickory-resolver (feature `hickory`): a DNS client in Rust, which asks for AAAA and A apart.
//!
//! ```no_run
//! use unstall::Connector;
//! use unstall::hickory::HickoryResolver;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let connector = Connector::new().resolver(HickoryResolver::from_system()?);
//! let stream = connector.connect("example.com:443")?;
//! # Ok(())
//! # }
//! ```
//!
//! It serves the blocking connect, tokio and async-io alike, since it runs on one thread of its own, which ends when the last clone is
//! dropped. A name server that is mute costs no thread beyond it.
//!
//! Unlike the OS's resolver it knows no mDNS and no NSS modules, and sorts addresses by nothing but their family.

use crate::Outcome;
use crate::resolver::{Lookup, Question, ResolveError, Resolver};
use hickory_resolver::config::{NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::name_server::TokioConnectionProvider;
use hickory_resolver::proto::ProtoErrorKind;
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::xfer::Protocol;
use hickory_resolver::{ResolveError as HickoryError, ResolveErrorKind, TokioResolver, system_conf};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// A DNS client with a cache. Cheap to clone; clones share the cache.
#[derive(Clone)]
pub struct HickoryResolver(Arc<Inner>);

struct Inner {
    resolver: TokioResolver,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl HickoryResolver {
    /// Asks the name servers that this system is set up with (`/etc/resolv.conf`, or the registry), with its options.
    ///
    /// # Errors
    /// The settings cannot be read, or no thread can be started.
    pub fn from_system() -> io::Result<Self> {
        let (config, options) = system_conf::read_system_conf().map_err(io::Error::other)?;
        Self::new(config, options)
    }

    /// Asks these name servers, by UDP, and by TCP where an answer is too long for it.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn with_servers(servers: impl IntoIterator<Item = SocketAddr>) -> io::Result<Self> {
        let mut config = ResolverConfig::new();
        for server in servers {
            config.add_name_server(NameServerConfig::new(server, Protocol::Udp));
            config.add_name_server(NameServerConfig::new(server, Protocol::Tcp));
        }
        Self::new(config, ResolverOpts::default())
    }

    fn new(config: ResolverConfig, options: ResolverOpts) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("unstall-hickory")
            .enable_all()
            .build()?;
        let mut builder = TokioResolver::builder_with_config(config, TokioConnectionProvider::default());
        *builder.options_mut() = options;
        let inner = Inner { resolver: builder.build(), runtime: Some(runtime) };
        Ok(Self(Arc::new(inner)))
    }
}

/// A runtime that is dropped in a future panics, unless it is told not to wait.
impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for HickoryResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HickoryResolver").finish_non_exhaustive()
    }
}

/// Ends with the lookup that waits for it.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Resolver for HickoryResolver {
    fn lookup(&self, question: Question) -> Lookup<'_> {
        Box::pin(async move {
            let Some(runtime) = &self.0.runtime else { return Err(ended()) };
            let resolver = self.0.resolver.clone();
            let port = question.port();
            let mut task = Task(runtime.spawn(ask(resolver, question)));
            let ips = (&mut task.0).await.map_err(|_| ended())??;
            Ok(ips.into_iter().map(|ip| (ip, port).into()).collect())
        })
    }
}

async fn ask(resolver: TokioResolver, question: Question) -> Result<Vec<IpAddr>, ResolveError> {
    use crate::Family;

    let name = question.name();
    let answer = match question.family() {
        Family::V6 => {
            resolver.ipv6_lookup(name).await.map(|answer| answer.iter().map(|r| r.0.into()).collect())
        }
        Family::V4 => {
            resolver.ipv4_lookup(name).await.map(|answer| answer.iter().map(|r| r.0.into()).collect())
        }
        Family::Any => resolver.lookup_ip(name).await.map(|answer| answer.iter().collect()),
    };
    answer.map_err(|error| failure(&error))
}

/// The class of a failure. That a name exists and has no address of the family is one of `no_name`.
fn failure(error: &HickoryError) -> ResolveError {
    let ResolveErrorKind::Proto(proto) = error.kind() else {
        return ResolveError::new(Outcome::Unknown, error.to_string());
    };
    match proto.kind() {
        ProtoErrorKind::Timeout => ResolveError::timed_out("no name server answered"),
        ProtoErrorKind::NoRecordsFound { response_code: ResponseCode::NXDomain, .. } => {
            ResolveError::no_name("the name servers say that there is no such name")
        }
        ProtoErrorKind::NoRecordsFound { response_code: ResponseCode::NoError, .. } => {
            ResolveError::no_name("the name has no such address")
        }
        _ => ResolveError::new(Outcome::NoName, format!("the name servers failed: {error}")),
    }
}

fn ended() -> ResolveError {
    ResolveError::new(Outcome::Unknown, "the resolver has ended")
}
