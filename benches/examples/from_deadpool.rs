use std::time::Duration;

use deadpool::managed::{Manager, Metrics, Object, Pool, RecycleError, RecycleResult};

struct Connection {
    number: u64,
    is_closed: bool,
}

struct Server;

impl Manager for Server {
    type Type = Connection;
    type Error = std::io::Error;

    async fn create(&self) -> Result<Connection, std::io::Error> {
        Ok(Connection { number: 7, is_closed: false })
    }

    async fn recycle(
        &self,
        connection: &mut Connection,
        _: &Metrics,
    ) -> RecycleResult<std::io::Error> {
        match connection.is_closed {
            true => Err(RecycleError::message("closed")),
            false => Ok(()),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool: Pool<Server> = Pool::builder(Server)
        .max_size(8)
        .runtime(deadpool::Runtime::Tokio1)
        .wait_timeout(Some(Duration::from_secs(1)))
        .create_timeout(Some(Duration::from_secs(5)))
        .build()?;

    let connection = pool.get().await?;
    assert_eq!(connection.number, 7);
    let taken: Connection = Object::take(connection);
    assert!(!taken.is_closed);

    pool.resize(4);
    pool.retain(|connection, _| !connection.is_closed);
    pool.close();
    Ok(())
}
