//! Pass requests on to another server with axum and hyper-util's client, and say why when it cannot be reached:
//! `cargo run --bin axum_proxy -- http://localhost:4200`

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use unstall::hyper::HttpConnector;

type Upstream = (Client<HttpConnector, Body>, String);

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://localhost:4200".to_owned());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    Ok(axum::serve(listener, router(url)).await?)
}

pub(crate) fn router(url: String) -> Router {
    let client = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    Router::new().fallback(pass_on).with_state((client, url))
}

async fn pass_on(State((client, url)): State<Upstream>, mut request: Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    match format!("{url}{path}").parse() {
        Ok(uri) => *request.uri_mut() = uri,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    }
    client.request(request).await.map_or_else(|error| failed(&error), IntoResponse::into_response)
}

fn failed(error: &hyper_util::client::legacy::Error) -> Response {
    let why = unstall::connect_error(error).map_or_else(|| error.to_string(), ToString::to_string);
    (StatusCode::BAD_GATEWAY, format!("{why}\n")).into_response()
}
