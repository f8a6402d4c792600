//! Ask a web server on this host, whichever family it listens on, and say why when it does not answer:
//! `cargo run --example http_get -- http://localhost:4200/`

use std::io::{self, Read, Write};
use std::time::Duration;
use unstall::Connector;

fn main() -> io::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://localhost:4200/".to_owned());
    let answer = match get(&url) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("is the server up? {error}")
        }
        answer => answer?,
    };
    println!("{answer}");
    Ok(())
}

pub(crate) fn get(url: &str) -> io::Result<String> {
    // A ConnectError becomes an io::Error by itself, with the kind that std has for it.
    let mut stream = Connector::new().connect_timeout(Duration::from_secs(5)).connect(url)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
