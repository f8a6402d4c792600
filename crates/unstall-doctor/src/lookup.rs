//! Names to addresses as any program gets them: by the OS's resolver, with nothing completed, sorted or cached.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// What a look-up came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The addresses in the resolver's order, each once.
    Addresses(Vec<IpAddr>),
    /// No address, and the resolver's words.
    Failed(String),
    /// No answer within the limit.
    Unanswered,
}

/// A look-up and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) answer: Answer,
    pub(crate) elapsed: Duration,
}

impl Lookup {
    pub(crate) fn addresses(&self) -> Option<&[IpAddr]> {
        match &self.answer {
            Answer::Addresses(addresses) => Some(addresses),
            Answer::Failed(_) | Answer::Unanswered => None,
        }
    }
}

/// Looks a name up, and gives up after `limit`; the resolver cannot be stopped, so its thread then ends by itself.
pub(crate) fn lookup(name: &str, limit: Duration) -> Lookup {
    let (sender, receiver) = mpsc::channel();
    let question = name.to_owned();
    let start = Instant::now();
    let worker = thread::Builder::new().name("lookup".to_owned()).spawn(move || {
        let answer = (question.as_str(), 0).to_socket_addrs();
        let elapsed = start.elapsed();
        let answer = answer.map(|addresses| addresses.map(|address| address.ip()).collect::<Vec<_>>());
        // The receiver is gone only when this came too late.
        let _ = sender.send((answer, elapsed));
    });
    if let Err(error) = worker {
        return Lookup {
            answer: Answer::Failed(format!("no thread could be started: {error}")),
            elapsed: start.elapsed(),
        };
    }
    match receiver.recv_timeout(limit) {
        Ok((Ok(addresses), elapsed)) => Lookup { answer: Answer::Addresses(unique(addresses)), elapsed },
        Ok((Err(error), elapsed)) => Lookup { answer: Answer::Failed(words(&error.to_string())), elapsed },
        Err(_) => Lookup { answer: Answer::Unanswered, elapsed: start.elapsed() },
    }
}

/// Without the standard library's own prefix.
fn words(error: &str) -> String {
    error.strip_prefix("failed to lookup address information: ").unwrap_or(error).to_owned()
}

fn unique(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let mut unique = Vec::with_capacity(addresses.len());
    for address in addresses {
        if !unique.contains(&address) {
            unique.push(address);
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_no_resolver() {
        let lookup = lookup("127.0.0.1", Duration::from_secs(5));
        assert_eq!(lookup.addresses(), Some(&["127.0.0.1".parse().expect("address")][..]));
    }

    #[test]
    fn a_name_that_cannot_be_fails_with_the_resolvers_words() {
        let Answer::Failed(words) = lookup("a..b", Duration::from_secs(30)).answer else {
            panic!("resolved")
        };
        assert!(!words.is_empty() && !words.starts_with("failed to lookup"), "{words}");
    }

    #[test]
    fn addresses_come_once_in_their_order() {
        let [a, b]: [IpAddr; 2] = ["::1", "127.0.0.1"].map(|address| address.parse().expect("address"));
        assert_eq!(unique(vec![a, b, a, b]), [a, b]);
    }
}
