//! A name server on loopback that says what the test wants.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread;

/// What it says to a question.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    Addresses(Vec<IpAddr>),
    NoSuchName,
    Nothing,
}

/// Serves until the process ends, AAAA and A as given, whatever the name.
pub(crate) fn serve(v6: Says, v4: Says) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("its address");
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, client)) = socket.recv_from(&mut question) {
            let question = &question[..length];
            let Some(end) = end_of_question(question) else { continue };
            // The type stands before the class, AAAA is 28.
            let says = if question[end - 3] == 28 { &v6 } else { &v4 };
            if let Some(answer) = answer(&question[..end], says) {
                let _ = socket.send_to(&answer, client);
            }
        }
    });
    address
}

/// Behind the header of 12 bytes: labels, each with its length, a zero, type and class (RFC 1035 section 4.1).
fn end_of_question(message: &[u8]) -> Option<usize> {
    let mut at = 12;
    while *message.get(at)? != 0 {
        at += 1 + usize::from(message[at]);
    }
    (message.len() >= at + 5).then_some(at + 5)
}

fn answer(question: &[u8], says: &Says) -> Option<Vec<u8>> {
    let (code, addresses): (u8, &[IpAddr]) = match says {
        Says::Addresses(addresses) => (0, addresses),
        Says::NoSuchName => (3, &[]),
        Says::Nothing => return None,
    };
    let mut message = question.to_vec();
    // A response, recursion desired and available, one question, so many answers.
    message[2..12].copy_from_slice(&[0x81, 0x80 | code, 0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    for address in addresses {
        let bytes = match address {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        let kind = if address.is_ipv6() { 28 } else { 1 };
        // The name of the question, type, class IN, 60 s, the address.
        message.extend([0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, bytes.len() as u8]);
        message.extend(bytes);
    }
    Some(message)
}
