//! Ask PostgreSQL for its version: `cargo run --bin postgres_client -- localhost:5432 user=postgres`

use std::error::Error;
use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let both = arguments.next().zip(arguments.next());
    let (target, login) = both.ok_or("usage: postgres_client TARGET \"user=NAME password=WORD\"")?;
    println!("{:?}", version(&target, &login.parse()?).await?);
    Ok(())
}

pub(crate) async fn version(target: &str, login: &Config) -> Result<Option<String>, Box<dyn Error>> {
    let stream = unstall::tokio::connect(target).await?;
    let (client, connection) = login.connect_raw(stream, NoTls).await?;
    tokio::spawn(connection);
    let rows = client.simple_query("select version()").await?;
    Ok(rows.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}
