//! Ctrl-C for commands that have something to say before they end: the first ends the work, the next ends the program.

use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// Who wants to hear of the first Ctrl-C.
static WATCHER: Mutex<Option<Sender<()>>> = Mutex::new(None);

/// What the handler of Ctrl-C does. A program that was started ends too.
pub(crate) fn happened() {
    let watcher = WATCHER.lock().ok().and_then(|mut watcher| watcher.take());
    if watcher.is_none_or(|watcher| watcher.send(()).is_err()) {
        unstall_clients::abandon(130);
    }
}

/// Hears of the first Ctrl-C.
pub(crate) struct Interrupt(Receiver<()>);

impl Interrupt {
    /// From now on. Without a handler (there can be none twice) the program ends as it did before.
    pub(crate) fn watch() -> Self {
        let (send, receive) = mpsc::channel();
        if let Ok(mut watcher) = WATCHER.lock() {
            *watcher = Some(send);
        }
        // Windows has its handler from the start.
        #[cfg(not(windows))]
        let _ = ctrlc::set_handler(happened);
        Self(receive)
    }

    /// Whether it has come by the end of this time; returns at once when it comes.
    pub(crate) fn within(&self, time: Duration) -> bool {
        match self.0.recv_timeout(time) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(time);
                false
            }
        }
    }
}
