//! A connect as a qlog file, for viewers such as qvis.
//!
//! `cargo run --features qlog --example qlog_file -- localhost:8080 connect.qlog`

use std::error::Error;
use std::path::Path;
use unstall::{Connector, Target};

/// Writes the file whether or not it connects.
pub(crate) fn run(target: &str, file: &Path) -> Result<(), Box<dyn Error>> {
    let target: Target = target.parse()?;
    let connector = Connector::new();
    let (result, timeline) = connector.connect_timeline(&target);
    std::fs::write(file, connector.qlog(&timeline))?;
    result?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("say where to connect to")?;
    let file = arguments.next().ok_or("say which file to write")?;
    run(&target, Path::new(&file))
}
