use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, KeyedWorker, KeyedWorkerFactory, PoolResult, Worker,
    WorkerFactory, into_pool_err,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::pools::{Region, Size};

/// The worker of all three pools.
pub struct Connection {
    stream: BufReader<TcpStream>,
    answer_is_due: bool,
    region: Region,
    size: Size,
}

impl Connection {
    pub async fn ask(&mut self, question: &str) -> io::Result<String> {
        self.answer_is_due = true;
        self.stream.write_all(format!("{question}\n").as_bytes()).await?;
        let answer = self.read_line().await?;
        self.answer_is_due = false;
        Ok(answer)
    }

    async fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        match line.pop() {
            Some('\n') => Ok(line),
            _ => Err(io::Error::new(ErrorKind::UnexpectedEof, "the backend has hung up")),
        }
    }

    fn is_usable(&self) -> bool {
        let read = self.stream.get_ref().try_read(&mut [0]);
        let is_open = read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        // One whose user gave up would hand the late answer to the next user.
        is_open && !self.answer_is_due
    }
}

impl Worker for Connection {
    fn is_work(&self) -> bool {
        self.is_usable()
    }
}

impl KeyedWorker<Region> for Connection {
    fn is_work(&self) -> bool {
        self.is_usable()
    }

    fn supports(&self, region: Region) -> bool {
        self.region == region
    }

    fn primary_key(&self) -> Region {
        self.region
    }
}

impl ClassifiedWorker<Size> for Connection {
    fn is_work(&self) -> bool {
        self.is_usable()
    }

    /// A large one serves those who want a small one as well.
    fn is_valid(&self, size: Size) -> bool {
        self.size >= size
    }

    fn classification(&self) -> Size {
        self.size
    }
}

/// The factory of all three pools.
pub struct Connector(pub SocketAddr);

impl Connector {
    async fn connect(&self, region: Region, size: Size) -> PoolResult<Connection> {
        let connected = TcpStream::connect(self.0).await;
        let stream = BufReader::new(connected.map_err(into_pool_err!("cannot connect"))?);
        let mut connection = Connection { stream, answer_is_due: false, region, size };
        let welcome = connection.read_line().await;
        welcome.map_err(into_pool_err!("the backend does not greet"))?;
        Ok(connection)
    }
}

#[async_trait::async_trait]
impl WorkerFactory<Connection> for Connector {
    async fn create(&self) -> PoolResult<Connection> {
        self.connect(Region::East, Size::Small).await
    }
}

#[async_trait::async_trait]
impl KeyedWorkerFactory<Region, Connection> for Connector {
    async fn create(&self, region: Region) -> PoolResult<Connection> {
        self.connect(region, Size::Small).await
    }

    fn label(&self, region: &Region) -> Option<String> {
        Some(format!("{region:?}").to_lowercase())
    }
}

#[async_trait::async_trait]
impl ClassifiedWorkerFactory<Size, Connection> for Connector {
    async fn create(&self, size: Option<Size>) -> PoolResult<Connection> {
        self.connect(Region::East, size.unwrap_or(Size::Small)).await
    }

    fn label(&self, size: &Size) -> Option<String> {
        Some(format!("{size:?}").to_lowercase())
    }
}
