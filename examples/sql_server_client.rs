//! Ask SQL Server for its version: `cargo run --bin sql_server_client -- localhost:1433 sa PASSWORD`

use std::error::Error;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio_util::compat::TokioAsyncWriteCompatExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, user, password] = &arguments[..] else {
        return Err("usage: sql_server_client TARGET USER PASSWORD".into());
    };
    println!("{:?}", version(target, user, password).await?);
    Ok(())
}

pub(crate) async fn version(
    target: &str,
    user: &str,
    password: &str,
) -> Result<Option<String>, Box<dyn Error>> {
    let mut config = Config::new();
    config.authentication(AuthMethod::sql_server(user, password));
    // Within this host. With one of tiberius' TLS features leave this line out.
    config.encryption(EncryptionLevel::NotSupported);
    let stream = unstall::tokio::connect(target).await?;
    let mut client = Client::connect(config, stream.compat_write()).await?;
    let row = client.simple_query("select @@version").await?.into_row().await?;
    Ok(row.and_then(|row| row.get::<&str, _>(0).map(str::to_owned)))
}
