//! Get a page with reqwest, which makes its connections itself: unstall races the addresses of the name first, and reqwest gets the
//! one that answers. `cargo run --bin reqwest_client -- http://localhost:4200/`

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, StatusCode, Url};
use std::error::Error;
use unstall::Connector;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://localhost:4200/".to_owned());
    println!("{}", get(&url).await?);
    Ok(())
}

/// The address that answers on one port. reqwest's resolvers are not told which port it is about.
struct Racing {
    port: u16,
}

impl Resolve for Racing {
    fn resolve(&self, name: Name) -> Resolving {
        let port = self.port;
        Box::pin(async move {
            let connected = Connector::new().connect_tokio((name.as_str(), port)).await?;
            Ok(Box::new(std::iter::once(connected.peer_addr()?)) as Addrs)
        })
    }
}

pub(crate) async fn get(url: &str) -> Result<StatusCode, Box<dyn Error>> {
    let port = Url::parse(url)?.port_or_known_default().ok_or("a URL without a port")?;
    let client = Client::builder().no_proxy().dns_resolver(Racing { port }).build()?;
    Ok(client.get(url).send().await?.status())
}
