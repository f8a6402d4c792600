//! What programs do on Windows and not here: in a lab that plays Windows, a program that would take SYN retransmissions away
//! there gets sockets that ask for it.
//!
//! A lab lets a socket ask by its TTL or hop limit (unstall-lab's `opt_out`); the defaults of its network teach every socket at
//! once.

use std::fs;
use std::io;

/// The defaults of a network namespace.
const DEFAULTS: [&str; 2] = ["/proc/sys/net/ipv4/ip_default_ttl", "/proc/sys/net/ipv6/conf/lo/hop_limit"];

/// What asks for no retransmission.
const NONE: &str = "254";

/// As long as this lives, new sockets ask for no retransmission.
#[derive(Debug)]
pub(crate) struct Asking {
    before: Vec<(&'static str, String)>,
}

impl Asking {
    /// To be called in a lab alone.
    ///
    /// # Errors
    ///
    /// When the defaults cannot be written.
    pub(crate) fn start() -> io::Result<Self> {
        let mut asking = Self { before: Vec::new() };
        for file in DEFAULTS {
            asking.before.push((file, fs::read_to_string(file)?));
            fs::write(file, NONE)?;
        }
        Ok(asking)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        for (file, value) in &self.before {
            // The network ends with its lab in any case.
            let _ = fs::write(file, value);
        }
    }
}
