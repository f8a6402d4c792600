//! The records: one line of JSON for each local connect, appended with one write each.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use unstall_core::hook::record::{Done, Record, estimated_saved};
use unstall_core::outcome::{Operation, OsError, Outcome};

/// A local connect that has not ended yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) api: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) done: Done,
    pub(crate) start: Instant,
}

/// Which connect: by its socket or, where only that is told, by its OVERLAPPED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Socket(usize),
    Overlapped(usize),
}

pub(crate) struct Records {
    path: String,
    file: OnceLock<Option<File>>,
    program: OnceLock<String>,
    pending: Mutex<BTreeMap<Key, Pending>>,
}

impl Records {
    /// The file is opened with the first record.
    pub(crate) fn new(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            file: OnceLock::new(),
            program: OnceLock::new(),
            pending: Mutex::new(BTreeMap::new()),
        }
    }

    pub(crate) fn begun(&self, key: Key, pending: Pending) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).insert(key, pending);
    }

    /// Whether a connect is under way.
    pub(crate) fn knows(&self, key: Key) -> bool {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&key)
    }

    /// A connect that was under way has ended; `None`: nobody knows how.
    pub(crate) fn ended(&self, key: Key, code: Option<i32>) {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        if let Some(pending) = pending {
            self.write(&pending, code);
        }
    }

    /// A connect has ended: 0, Winsock's error code, or `None` where that is not known.
    pub(crate) fn write(&self, connect: &Pending, code: Option<i32>) {
        let elapsed = code.map(|_| connect.start.elapsed());
        let outcome = code.map(|code| match code {
            0 => Outcome::Connected,
            code => {
                Outcome::from_os_for(OsError { operation: Operation::Connect, code }, connect.address, None)
            }
        });
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.line(&Record {
            program: self.program().to_owned(),
            process_id: std::process::id(),
            api: connect.api.to_owned(),
            address: Some(connect.address.to_string()),
            done: connect.done,
            outcome,
            os_error: code.filter(|code| *code != 0),
            elapsed_ns: elapsed.map(ns),
            estimated_saved_ns: elapsed.map(|elapsed| ns(estimated_saved(connect.done, outcome, elapsed))),
            note: None,
        });
    }

    /// A child has not got the fixes.
    pub(crate) fn not_followed(&self, process_id: u32, why: &str) {
        self.line(&Record {
            program: self.program().to_owned(),
            process_id,
            api: "CreateProcess".to_owned(),
            address: None,
            done: Done::NotFollowed,
            outcome: None,
            os_error: None,
            elapsed_ns: None,
            estimated_saved_ns: None,
            note: Some(format!("its child {process_id} runs without the fixes: {why}")),
        });
    }

    fn program(&self) -> &str {
        self.program.get_or_init(|| {
            let path = std::env::current_exe().unwrap_or_default();
            path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        })
    }

    fn line(&self, record: &Record) {
        let file = self.file.get_or_init(|| OpenOptions::new().append(true).open(&self.path).ok());
        let (Some(mut file), Ok(mut line)) = (file.as_ref(), serde_json::to_string(record)) else { return };
        line.push('\n');
        // A record that cannot be written is missing from the report; the program goes on.
        let _ = file.write_all(line.as_bytes());
    }
}
