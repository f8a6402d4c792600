//! Get a page with hyper-util's client, and say everything that was tried when nobody answers:
//! `cargo run --example hyper_client --features hyper -- http://localhost:4200/`

use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::time::Duration;
use unstall::hyper::{HttpConnector, connect_error};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://localhost:4200/".to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", runtime.block_on(get(&url))?);
    Ok(())
}

pub(crate) async fn get(url: &str) -> Result<http::StatusCode, Box<dyn std::error::Error>> {
    let connector = unstall::Connector::new().connect_timeout(Duration::from_secs(5));
    let client: Client<_, String> =
        Client::builder(TokioExecutor::new()).build(HttpConnector::from(connector));
    match client.get(url.parse()?).await {
        Ok(response) => Ok(response.status()),
        Err(error) => {
            for attempt in
                connect_error(&error).and_then(|error| error.timeline()).into_iter().flat_map(|t| &t.attempts)
            {
                println!("{}: {} after {:?}", attempt.address, attempt.outcome, attempt.took());
            }
            Err(error.into())
        }
    }
}
