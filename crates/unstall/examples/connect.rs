//! Connect to what the command line says and show what happened on the way: `cargo run --example connect -- localhost:4200`

use std::time::Duration;
use unstall::{Connector, Target};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).ok_or("usage: connect TARGET, for example connect localhost:4200")?;
    run(&text)
}

pub(crate) fn run(text: &str) -> Result<(), Box<dyn std::error::Error>> {
    let target: Target = text.parse()?;
    let connector = Connector::new().connect_timeout(Duration::from_secs(5));
    let (result, timeline) = connector.connect_timeline(&target);
    for attempt in &timeline.attempts {
        println!("{}: {} after {:?} ({})", attempt.address, attempt.outcome, attempt.took(), attempt.reason);
    }
    let stream = result?;
    println!("connected to {} after {:?}", stream.peer_addr()?, timeline.elapsed);
    Ok(())
}
