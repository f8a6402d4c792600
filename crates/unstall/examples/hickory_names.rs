//! Names by hickory-resolver, which asks for AAAA and A apart: the first answer that can be used starts the connect.
//!
//! `cargo run --features hickory --example hickory_names -- example.com:443`, or with the name server to ask behind it.

use std::error::Error;
use unstall::hickory::HickoryResolver;
use unstall::{Connector, Target};

pub(crate) async fn run(target: &str, server: Option<&str>) -> Result<String, Box<dyn Error>> {
    let names = match server {
        Some(server) => HickoryResolver::with_servers([server.parse()?])?,
        None => HickoryResolver::from_system()?,
    };
    let target: Target = target.parse()?;
    let (result, timeline) = Connector::new().resolver(names).connect_timeline_tokio(&target).await;
    let stream = result?;
    let answers = timeline.resolution.map_or(Vec::new(), |resolution| resolution.answers);
    let answers: Vec<_> =
        answers.iter().map(|answer| format!("{:?} after {:?}", answer.family, answer.end)).collect();
    Ok(format!("{} answered; {}", stream.peer_addr()?, answers.join(", ")))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("say where to connect to")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", runtime.block_on(run(&target, arguments.next().as_deref()))?);
    Ok(())
}
