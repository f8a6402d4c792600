//! A name server for scenarios: it answers everything with 127.0.0.1, late, or nothing at all.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a waiting server looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);
/// The length of a message's header (RFC 1035 section 4.1.1).
const HEADER: usize = 12;
/// The type of an IPv4 address record.
const TYPE_A: [u8; 2] = [0, 1];

/// A name server that runs. Dropping it ends it.
#[derive(Debug)]
pub(super) struct NameServer {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    /// Serves on a bound socket. `delay`: how long each answer takes; `None`: there is none.
    pub(super) fn start(socket: UdpSocket, delay: Option<Duration>) -> io::Result<Self> {
        socket.set_read_timeout(Some(LOOK))?;
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let thread = thread::Builder::new()
            .name("scenario name server".to_owned())
            .spawn(move || serve(&socket, delay, &ends))?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(socket: &UdpSocket, delay: Option<Duration>, over: &AtomicBool) {
    let mut due: Vec<(Instant, SocketAddr, Vec<u8>)> = Vec::new();
    let mut question = [0; 512];
    while !over.load(Ordering::Acquire) {
        if let (Ok((length, from)), Some(delay)) = (socket.recv_from(&mut question), delay) {
            due.extend(answer(&question[..length]).map(|answer| (Instant::now() + delay, from, answer)));
        }
        let now = Instant::now();
        due.retain(|(at, to, answer)| {
            if *at <= now {
                // Who asked may be gone.
                let _ = socket.send_to(answer, to);
            }
            *at > now
        });
    }
}

/// The answer to a question of one name: 127.0.0.1 if an IPv4 address was asked for, else that there is no such record.
fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let mut end = HEADER;
    while *question.get(end)? != 0 {
        end += usize::from(question[end]) + 1;
    }
    // The name's last byte, its type and its class.
    let end = end + 5;
    let asks_address = *question.get(end - 4..end - 2)? == TYPE_A;
    let mut answer = question.get(..end)?.to_vec();
    // A response, recursion available, no error (RFC 1035 section 4.1.1); one question, no additional records.
    answer[2..4].copy_from_slice(&[0x81, 0x80]);
    answer[4..HEADER].copy_from_slice(&[0, 1, 0, u8::from(asks_address), 0, 0, 0, 0]);
    if asks_address {
        // The name by a pointer to the question, type A, class IN, 60 s to live, 4 bytes.
        answer.extend_from_slice(&[0xc0, HEADER as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: u8) -> Vec<u8> {
        let header = [0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
        [&header[..], b"\x04slow\x04test\0", &[0, kind, 0, 1], b"additional"].concat()
    }

    #[test]
    fn an_address_is_answered_and_another_type_is_not() {
        let answered = answer(&question(1)).expect("an answer");
        assert_eq!(answered[..8], [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1]);
        assert!(answered.ends_with(&[127, 0, 0, 1]));
        let none = answer(&question(28)).expect("an answer");
        assert_eq!((none[7], none.len()), (0, HEADER + 11 + 4));
    }

    #[test]
    fn rubbish_gets_no_answer() {
        for length in 0..question(1).len() - b"additional".len() {
            assert_eq!(answer(&question(1)[..length]), None, "{length} bytes");
        }
    }
}
