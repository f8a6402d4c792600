//! Get a page over TLS with hyper-rustls, where unstall makes the connection below:
//! `cargo run --bin https_client -- https://localhost:4433/ roots.pem`

use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error;
use unstall::hyper::HttpConnector;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (url, file) = arguments.next().zip(arguments.next()).ok_or("usage: https_client URL ROOTS.pem")?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file)? {
        roots.add(certificate?)?;
    }
    println!("{}", get(&url, roots).await?);
    Ok(())
}

pub(crate) async fn get(url: &str, roots: RootCertStore) -> Result<http::StatusCode, Box<dyn Error>> {
    let tls = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(HttpConnector::new());
    let client: Client<_, String> = Client::builder(TokioExecutor::new()).build(connector);
    Ok(client.get(url.parse()?).await?.status())
}
