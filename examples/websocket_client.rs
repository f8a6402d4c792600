//! Open a WebSocket with tokio-tungstenite: `cargo run --bin websocket_client -- ws://localhost:9001/`

use std::error::Error;
use tokio::net::TcpStream;
use tokio_tungstenite::{WebSocketStream, client_async};
use unstall::Target;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "ws://localhost:9001/".to_owned());
    let socket = open(&url).await?;
    println!("a WebSocket to {}", socket.get_ref().peer_addr()?);
    Ok(())
}

pub(crate) async fn open(url: &str) -> Result<WebSocketStream<TcpStream>, Box<dyn Error>> {
    // Host and port of a URL; "ws" means port 80.
    let target: Target = url.parse()?;
    let stream = unstall::tokio::connect(target).await?;
    Ok(client_async(url, stream).await?.0)
}
