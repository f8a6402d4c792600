//! What happens in a connect, as spans of the crate tracing: `connect`, and below it one `attempt` for each.
//!
//! `cargo run --features tracing --example tracing_spans -- localhost:8080`

use tracing_subscriber::fmt::format::FmtSpan;
use unstall::ConnectError;

pub(crate) fn run(target: &str) -> Result<(), ConnectError> {
    unstall::connect(target).map(drop)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = std::env::args().nth(1).ok_or("say where to connect to")?;
    // A program shows of a library what it likes: here everything of unstall's, and when each span is closed.
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .with_span_events(FmtSpan::CLOSE)
        .init();
    Ok(run(&target)?)
}
