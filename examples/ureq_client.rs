//! Get a page with ureq, without any async: `cargo run --bin ureq_client -- http://localhost:4200/`

use std::time::Duration;
use unstall::{Connector, connect_error};

fn main() -> Result<(), ureq::Error> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://localhost:4200/".to_owned());
    let page = get(&url).inspect_err(|error| {
        for attempt in
            connect_error(error).and_then(|error| error.timeline()).into_iter().flat_map(|t| &t.attempts)
        {
            println!("{}: {} after {:?}", attempt.address, attempt.outcome, attempt.took());
        }
    })?;
    println!("{page}");
    Ok(())
}

pub(crate) fn get(url: &str) -> Result<String, ureq::Error> {
    let connector = Connector::new().connect_timeout(Duration::from_secs(5));
    let agent = unstall::ureq::agent(ureq::config::Config::default(), connector);
    agent.get(url).call()?.body_mut().read_to_string()
}
