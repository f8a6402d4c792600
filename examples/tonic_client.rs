//! Ask a gRPC server for its health with tonic: `cargo run --bin tonic_client -- http://localhost:50051`

use std::error::Error;
use tonic::transport::Endpoint;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use unstall::hyper::HttpConnector;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://localhost:50051".to_owned());
    println!("{}", health(url).await?.as_str_name());
    Ok(())
}

pub(crate) async fn health(url: String) -> Result<ServingStatus, Box<dyn Error>> {
    let channel = Endpoint::from_shared(url)?.connect_with_connector(HttpConnector::new()).await?;
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await?;
    Ok(answer.into_inner().status())
}
