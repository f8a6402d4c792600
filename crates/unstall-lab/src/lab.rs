//! The lab: a private network in which a profile's TCP behaves as told, and programs that run in it.

use crate::engine::{self, Attached, Engine, EngineChoice};
use crate::error::{Error, Step};
use crate::inside;
use crate::isolation::cgroup::{Cgroup, Parent};
use crate::isolation::files::{self, PrivateFile};
use crate::isolation::links::Links;
use crate::isolation::privilege::{self, Privilege};
use crate::isolation::worker::Worker;
use crate::profile::Profile;
use crate::program::{self, Finished, Program, Running, Streams};
use rustix::process::geteuid;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use unstall_sys::lab::init::{Init, StartError};
use unstall_sys::lab::{namespace, process};

/// What a lab is to be. Nothing happens before [`Builder::start`].
#[derive(Clone, Debug)]
pub struct Builder {
    profile: Profile,
    engine: EngineChoice,
    pace: bool,
    own_addresses: bool,
    addresses: Vec<IpAddr>,
    names: Vec<(IpAddr, String)>,
    localhost: Option<Vec<IpAddr>>,
    name_servers: Option<Vec<IpAddr>>,
    settings: Vec<(String, String)>,
    rules: Vec<String>,
    hidden: Vec<PathBuf>,
}

impl Builder {
    /// Which engine plays the profile. Default [`EngineChoice::Auto`].
    #[must_use]
    pub fn engine(mut self, engine: EngineChoice) -> Self {
        self.engine = engine;
        self
    }

    /// Spreads bursts of SYNs, which the emulation would otherwise send again in lockstep. Default off. Needs `tc`.
    #[must_use]
    pub fn pace(mut self, pace: bool) -> Self {
        self.pace = pace;
        self
    }

    /// Whether the host's own addresses exist in the lab, on `lo`. Default true.
    #[must_use]
    pub fn own_addresses(mut self, own_addresses: bool) -> Self {
        self.own_addresses = own_addresses;
        self
    }

    /// One more address on the lab's `lo`.
    #[must_use]
    pub fn address(mut self, address: IpAddr) -> Self {
        self.addresses.push(address);
        self
    }

    /// A name with these addresses, in this order, in the lab's private `/etc/hosts`.
    #[must_use]
    pub fn name(mut self, name: &str, addresses: &[IpAddr]) -> Self {
        self.names.extend(addresses.iter().map(|address| (*address, name.to_owned())));
        self
    }

    /// The addresses of `localhost`, in place of the profile's or the host's; none: no such line.
    #[must_use]
    pub fn localhost(mut self, addresses: &[IpAddr]) -> Self {
        self.localhost = Some(addresses.to_vec());
        self
    }

    /// The name servers of the lab's private `/etc/resolv.conf`.
    #[must_use]
    pub fn name_servers(mut self, servers: &[IpAddr]) -> Self {
        self.name_servers = Some(servers.to_vec());
        self
    }

    /// A kernel setting of the lab's network namespace, by its path below `/proc/sys/net`: `ipv6/conf/lo/disable_ipv6`.
    /// Written after the profile's own.
    #[must_use]
    pub fn setting(mut self, path: &str, value: &str) -> Self {
        self.settings.push((path.to_owned(), value.to_owned()));
        self
    }

    /// Rules for `nft -f`, loaded after everything else is there.
    #[must_use]
    pub fn rules(mut self, text: &str) -> Self {
        self.rules.push(text.to_owned());
        self
    }

    /// A directory that is empty in the lab, and private. It is made if it is not there, for its owner alone.
    #[must_use]
    pub fn hide(mut self, directory: &str) -> Self {
        self.hidden.push(directory.into());
        self
    }

    /// What [`Self::start`] would do to the lab's kernel settings, programs and rules, for people. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`]: what this kernel lacks.
    pub fn describe(&self) -> Result<String, Error> {
        let engine = self.engine.resolve(&self.profile, Privilege::now()?)?;
        let own = if self.own_addresses { own_addresses()? } else { Vec::new() };
        engine::describe(&self.profile, engine, &own)
    }

    /// Makes the lab.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] or [`Error::System`]; then nothing is left of it.
    pub fn start(self) -> Result<Lab, Error> {
        let engine = match Privilege::now()? {
            Privilege::None => return Err(privilege::none()),
            privilege => self.engine.resolve(&self.profile, privilege)?,
        };
        let worker = Worker::start().step("start a thread")?;
        let profile = self.profile.clone();
        let room = worker.run(move || Room::set_up(&self, engine))?;
        Ok(Lab { profile, engine, room, worker })
    }

    /// The private files that all this asks for.
    fn files(&self) -> Result<Vec<PrivateFile>, Error> {
        let mut files = Vec::new();
        let localhost =
            self.localhost.as_deref().or(self.profile.names.as_ref().map(|names| &names.localhost[..]));
        if localhost.is_some() || !self.names.is_empty() {
            files.push(PrivateFile::instead_of("/etc/hosts", |host| {
                files::hosts(host, localhost, &self.names)
            })?);
        }
        if let Some(servers) = &self.name_servers {
            files.push(PrivateFile::instead_of("/etc/resolv.conf", |_| files::resolv_conf(servers))?);
        }
        // Not every C library has one.
        if !files.is_empty() && Path::new(NSSWITCH).exists() {
            files.push(PrivateFile::instead_of(NSSWITCH, files::nsswitch)?);
        }
        Ok(files)
    }
}

const NSSWITCH: &str = "/etc/nsswitch.conf";

/// A private network in which a profile's TCP behaves as told. Dropping it ends every program within and removes it.
#[derive(Debug)]
pub struct Lab {
    profile: Profile,
    engine: Engine,
    // Dropped in this order: first everything within, then the thread that it belongs to.
    room: Room,
    worker: Worker,
}

impl Lab {
    /// What a lab with this profile is to be.
    pub fn builder(profile: Profile) -> Builder {
        Builder {
            profile,
            engine: EngineChoice::Auto,
            pace: false,
            own_addresses: true,
            addresses: Vec::new(),
            names: Vec::new(),
            localhost: None,
            name_servers: None,
            settings: Vec::new(),
            rules: Vec::new(),
            hidden: Vec::new(),
        }
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What plays it.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// In what the lab is coarser than the profile, one sentence each. To be shown.
    pub fn notes(&self) -> &[String] {
        &self.room.attached.notes
    }

    /// What the profile's programs have counted. `None`: this engine does not count.
    pub fn counts(&self) -> Option<engine::Counts> {
        self.room.attached.counts()
    }

    /// Runs `job` in the lab's namespaces and returns its result.
    ///
    /// Sockets that it opens belong to the lab's network and may be used from any thread. They are not in the lab's
    /// cgroup: a listener there is as good as any, but a *client* socket is not retried; start a [`Program`] for that.
    /// The job cannot start threads.
    pub fn within<R: Send + 'static>(&self, job: impl FnOnce() -> R + Send + 'static) -> R {
        self.worker.run(job)
    }

    /// Starts a program in the lab, its streams those of this process.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::NotExecutable`], [`Error::System`].
    pub fn spawn(&self, program: &Program) -> Result<Running<'_>, Error> {
        self.start(program, Streams::Inherited)
    }

    /// Runs a program in the lab to its end, at most so long, with nothing as its input, and keeps its output.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::NotExecutable`], [`Error::System`].
    pub fn output(&self, program: &Program, limit: Option<Duration>) -> Result<Finished, Error> {
        let running = self.start(program, Streams::Captured)?;
        program::finish(running, limit).step(&format!("wait for {}", program.name()))
    }

    pub(crate) fn start(&self, program: &Program, streams: Streams) -> Result<Running<'_>, Error> {
        let mut command = program.command(streams)?;
        if let Some(cgroup) = &self.room.cgroup {
            let procs = cgroup.procs().try_clone().step("duplicate a file descriptor")?;
            process::join_cgroup(&mut command, procs);
        }
        prepare(&mut command);
        if self.engine != Engine::Nothing {
            // Without it the program's figures are called measured, which is not worth failing for.
            let network = self.worker.run(|| inside::network_of_the_lab().ok());
            command.envs(network.map(|network| (inside::NETWORK_VARIABLE, network)));
        }
        let started = self.worker.run(move || program::start(command));
        let started = started.map_err(|e| program::start_failed(program.name(), &e))?;
        Ok(Running::new(started, streams))
    }
}

/// Lets a program use the lab's network as root would.
pub(crate) fn prepare(command: &mut Command) {
    if !geteuid().is_root() {
        process::keep_network_capabilities(command);
    }
}

/// What a lab consists of, in the order in which it ends.
#[derive(Debug)]
struct Room {
    attached: Attached,
    _init: Init,
    cgroup: Option<Cgroup>,
}

impl Room {
    /// Makes it. On the lab's thread, which is in the host's namespaces before and in the lab's after.
    fn set_up(plan: &Builder, engine: Engine) -> Result<Self, Error> {
        let own = if plan.own_addresses { own_addresses()? } else { Vec::new() };
        let files = plan.files()?;
        let place = match engine {
            Engine::Bpf => Some((Parent::open()?, Parent::new_name())),
            Engine::Coarse | Engine::Nothing => None,
        };
        let leftover = place.as_ref().map(|(parent, name)| parent.leftover(name)).transpose()?;
        namespace::unshare_thread().step("make namespaces")?;
        files::make_private()?;
        let init = Init::start(leftover.as_ref()).map_err(no_init)?;
        let links = Links::open().step("open rtnetlink")?;
        links.loopback_up().step("set lo up")?;
        for address in own.iter().chain(&plan.addresses) {
            links.add_to_loopback(*address).step(&format!("add {address} to lo"))?;
        }
        let cgroup = match &place {
            Some((parent, name)) => {
                // Leftovers of others are no reason to fail.
                let _ = parent.sweep();
                Some(parent.create(name)?)
            }
            None => None,
        };
        let attached = engine::attach(&plan.profile, engine, cgroup.as_ref(), &own)?;
        if plan.pace {
            engine::pace()?;
        }
        for (path, value) in &plan.settings {
            engine::set(path, value)?;
        }
        files::replace(&files)?;
        if !files.is_empty() {
            files::hide_caches()?;
        }
        for directory in &plan.hidden {
            files::hide(directory)?;
        }
        for rules in &plan.rules {
            engine::load_rules(rules)?;
        }
        Ok(Self { attached, _init: init, cgroup })
    }
}

/// A container may keep even its root from mounting a `/proc`.
fn no_init(error: StartError) -> Error {
    match error {
        StartError::MountProc(errno) => Error::Missing {
            what: format!("cannot mount a /proc for the lab's own processes ({errno})"),
            remedy:
                "in a container: start that with --privileged, or with --security-opt systempaths=unconfined"
                    .to_owned(),
        },
        StartError::Fork(source) => {
            Error::System { operation: "start the lab's first process".to_owned(), source }
        }
    }
}

/// The host's own addresses, but loopback and link-local ones.
fn own_addresses() -> Result<Vec<IpAddr>, Error> {
    let interfaces = if_addrs::get_if_addrs().step("read the host's own addresses")?;
    let usable = |address: &IpAddr| match address {
        IpAddr::V4(v4) => !v4.is_loopback() && !v4.is_link_local(),
        IpAddr::V6(v6) => !v6.is_loopback() && !v6.is_unicast_link_local(),
    };
    Ok(interfaces.iter().map(if_addrs::Interface::ip).filter(usable).collect())
}
