//! A resolver of your own: names below `.test` are this host, all others are the OS's business.
//!
//! `cargo run --example own_resolver -- shop.test:8080`

use std::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr};
use unstall::Connector;
use unstall::resolver::{Lookup, OsResolver, Question, Resolver};

struct Tests;

impl Resolver for Tests {
    fn lookup(&self, question: Question) -> Lookup<'_> {
        if question.name().strip_suffix(".test").is_none() {
            return OsResolver.lookup(question);
        }
        Box::pin(async move {
            let port = question.port();
            Ok(vec![(Ipv6Addr::LOCALHOST, port).into(), (Ipv4Addr::LOCALHOST, port).into()])
        })
    }

    /// Both families are one answer.
    fn separately(&self) -> bool {
        false
    }
}

pub(crate) fn run(target: &str) -> Result<String, Box<dyn Error>> {
    let stream = Connector::new().resolver(Tests).connect(target)?;
    Ok(format!("{target} is {}", stream.peer_addr()?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let target = std::env::args().nth(1).ok_or("say where to connect to")?;
    println!("{}", run(&target)?);
    Ok(())
}
