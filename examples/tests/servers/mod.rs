//! As much of each server as its client needs, on a free port of 127.0.0.1 alone, so that the name `localhost` has a second address
//! where nobody listens.

use rustls::RootCertStore;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Serves one client after another, each until it is gone.
fn serve(serve: impl Fn(TcpStream) -> io::Result<()> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that goes away is no failure of the server.
            let _ = serve(stream);
        }
    });
    port
}

/// An HTTPS server, and the certificate to trust.
pub(crate) fn https() -> (u16, RootCertStore) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
    let port = serve(move |stream| {
        let session = rustls::ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
        let mut stream = rustls::StreamOwned::new(session, stream);
        let _ = stream.read(&mut [0; 1024])?;
        stream.write_all(PAGE)?;
        stream.conn.send_close_notify();
        stream.flush()
    });
    (port, roots)
}

/// A gRPC server that is well.
pub(crate) fn grpc() -> u16 {
    let (_, health) = tonic_health::server::health_reporter();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.set_nonblocking(true).unwrap();
    let address = free.local_addr().unwrap();
    let incoming =
        tonic::transport::server::TcpIncoming::from(tokio::net::TcpListener::from_std(free).unwrap());
    tokio::spawn(tonic::transport::Server::builder().add_service(health).serve_with_incoming(incoming));
    address.port()
}

/// Accepts a WebSocket and waits for its end.
pub(crate) async fn websocket() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        // Answers the close and ends.
        while futures_util::StreamExt::next(&mut socket).await.is_some() {}
    });
    port
}

/// Answers what Redis' clients say first, and `GET`.
pub(crate) fn redis() -> u16 {
    serve(|stream| {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let mut next = || lines.next().ok_or(io::ErrorKind::UnexpectedEof)?;
        loop {
            // An array of strings: "*2", then for each its length and itself.
            let count = next()?.trim_start_matches('*').parse().unwrap_or(0);
            let mut words = Vec::new();
            for _ in 0..count {
                next()?;
                words.push(next()?);
            }
            let is_get = words.first().is_some_and(|word| word.eq_ignore_ascii_case("get"));
            (&stream).write_all(if is_get { b"$5\r\nvalue\r\n" } else { b"+OK\r\n" })?;
        }
    })
}

/// A message of PostgreSQL: its kind, its length, its content.
fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).unwrap().to_be_bytes();
    [&[kind], &length[..], content].concat()
}

/// Lets everybody in and answers every question with one row of one text.
pub(crate) fn postgres() -> u16 {
    serve(|stream| {
        let read = |kind: bool| {
            let mut head = [0; 5];
            (&stream).read_exact(&mut head[usize::from(!kind)..])?;
            let length = u32::from_be_bytes(head[1..].try_into().unwrap());
            io::copy(&mut (&stream).take(u64::from(length - 4)), &mut io::sink())?;
            Ok::<u8, io::Error>(head[0])
        };
        read(false)?;
        let ready = message(b'Z', b"I");
        (&stream).write_all(&[message(b'R', &[0; 4]), ready.clone()].concat())?;
        while read(true)? == b'Q' {
            let text = b"PostgreSQL 17";
            let column =
                [&b"\0\x01version\0"[..], &[0; 6], &25_u32.to_be_bytes(), &[0xFF; 6], &[0; 2]].concat();
            let row = [&b"\0\x01"[..], &u32::try_from(text.len()).unwrap().to_be_bytes(), text].concat();
            let done = message(b'C', b"SELECT 1\0");
            let answer = [message(b'T', &column), message(b'D', &row), done, ready.clone()];
            (&stream).write_all(&answer.concat())?;
        }
        Ok(())
    })
}

/// Lets everybody in and answers every question with one row of one text (MS-TDS 2.2).
pub(crate) fn sql_server() -> u16 {
    serve(|stream| {
        let text = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let short = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_le_bytes()[..], bytes].concat();
        let done = |status: u8| [&[0xFD, status, 0, 0, 0][..], &[0; 8]].concat();
        loop {
            let mut head = [0; 8];
            if (&stream).read_exact(&mut head).is_err() {
                return Ok(());
            }
            let length = u64::from(u16::from_be_bytes([head[2], head[3]])) - 8;
            io::copy(&mut (&stream).take(length), &mut io::sink())?;
            let answer = match head[0] {
                // PRELOGIN: the version is at 11, the encryption (not supported) at 17.
                0x12 => [&[0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF][..], &[16, 0, 0, 0, 0, 0], &[2]].concat(),
                // LOGIN7: LOGINACK with the TDS version 7.4, the name and the version of the server.
                0x10 => {
                    let ack = [&[1, 0x74, 0, 0, 4, 3][..], &text("SQL"), &[16, 0, 0, 0]].concat();
                    [&[0xAD][..], &short(&ack), &done(0)].concat()
                }
                // A batch: one column of the type NVARCHAR without a name, and one row.
                _ => {
                    let column =
                        [&[0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0xE7, 0x40, 0x1F][..], &[9, 4, 0, 0, 0], &[0]];
                    let row = [&[0xD1][..], &short(&text("SQL Server 2022"))].concat();
                    [column.concat(), row, done(0x10)].concat()
                }
            };
            let length = u16::try_from(answer.len() + 8).unwrap().to_be_bytes();
            (&stream).write_all(&[&[4, 1, length[0], length[1], 0, 0, 1, 0], &answer[..]].concat())?;
        }
    })
}

/// The status and the whole answer to a GET.
pub(crate) async fn get(port: u16) -> (u16, String) {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(b"GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap(), answer)
}
