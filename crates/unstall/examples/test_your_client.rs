//! Put servers that misbehave before your own client: `cargo run --example test_your_client --features testing`

use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use unstall::testing;

/// Stands for the client of yours that is to be tested.
fn your_client(server: SocketAddr) -> io::Result<usize> {
    let mut stream = unstall::Connector::new().connect_timeout(Duration::from_millis(100)).connect(server)?;
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    stream.read(&mut [0; 16])
}

pub(crate) fn main() -> io::Result<()> {
    let servers = [
        ("nobody listens", testing::refused()?),
        ("no answer", testing::silent()?),
        ("closes", testing::closes()?),
        ("resets", testing::resets()?),
        ("says nothing", testing::deaf()?),
    ];
    for (what, server) in &servers {
        let start = Instant::now();
        let result = your_client(server.addr());
        println!("{what}: {result:?} after {:?}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(1), "a client must not wait for {what}");
    }
    Ok(())
}
