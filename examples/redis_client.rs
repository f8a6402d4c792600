//! Read a key from Redis: `cargo run --bin redis_client -- localhost:6379 key`

use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, AsyncConnectionConfig, RedisConnectionInfo};
use std::error::Error;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (target, key) = arguments.next().zip(arguments.next()).ok_or("usage: redis_client TARGET KEY")?;
    println!("{:?}", get(&target, &key).await?);
    Ok(())
}

pub(crate) async fn get(target: &str, key: &str) -> Result<Option<String>, Box<dyn Error>> {
    let stream = unstall::tokio::connect(target).await?;
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(10)));
    // User, password and database, if there are any, go into the first argument.
    let login = RedisConnectionInfo::default();
    let (mut connection, driver) = MultiplexedConnection::new_with_config(&login, stream, config).await?;
    tokio::spawn(driver);
    Ok(connection.get(key).await?)
}
