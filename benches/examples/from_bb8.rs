use std::time::Duration;

use bb8::{ManageConnection, Pool};

struct Connection {
    number: u64,
    is_closed: bool,
}

struct Server;

impl ManageConnection for Server {
    type Connection = Connection;
    type Error = std::io::Error;

    async fn connect(&self) -> Result<Connection, std::io::Error> {
        Ok(Connection { number: 7, is_closed: false })
    }

    async fn is_valid(&self, connection: &mut Connection) -> Result<(), std::io::Error> {
        match connection.is_closed {
            true => Err(std::io::Error::other("closed")),
            false => Ok(()),
        }
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        connection.is_closed
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = Pool::builder()
        .max_size(8)
        .min_idle(2)
        .connection_timeout(Duration::from_secs(30))
        .idle_timeout(Duration::from_secs(10 * 60))
        .max_lifetime(Duration::from_secs(30 * 60))
        .build(Server)
        .await?;

    let connection = pool.get().await.map_err(|error| error.to_string())?;
    assert_eq!(connection.number, 7);
    assert!(pool.state().connections <= 8);
    Ok(())
}
