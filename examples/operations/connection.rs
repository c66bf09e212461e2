//! The worker, its factory, and a request as the scenes make it.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, KeyedWorker, KeyedWorkerFactory, PoolError,
    PoolErrorCode, PoolResult, Worker, WorkerFactory, WorkerPoolRef, into_pool_err,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::{LONG, wait_until};

pub type Pool = WorkerPoolRef<Connection, Connector>;

const UNPOISONED: &str = "nothing panics under this lock";

/// The worker. Its class, or its key, is the database.
pub struct Connection {
    pub session: u32,
    pub database: String,
    opened: Instant,
    stream: BufReader<TcpStream>,
    answer_is_due: bool,
    lifetimes: Arc<Mutex<Vec<Duration>>>,
}

impl Connection {
    pub async fn ask(&mut self, question: &str) -> io::Result<String> {
        self.answer_is_due = true;
        self.stream.write_all(format!("{question}\n").as_bytes()).await?;
        let answer = read_line(&mut self.stream).await?;
        if answer == "DENIED" {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "the server says DENIED"));
        }
        self.answer_is_due = false;
        Ok(answer)
    }

    /// Whether the other side has neither closed it nor said what nobody asked for.
    pub fn is_open(&self) -> bool {
        let read = self.stream.get_ref().try_read(&mut [0]);
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    fn is_usable(&self) -> bool {
        // One whose user gave up would hand the late answer to the next user.
        self.is_open() && !self.answer_is_due
    }

    /// A real question, whose answer is compared.
    pub async fn prove(&mut self) -> io::Result<()> {
        let expected = format!("{}: hello", self.database);
        assert_eq!(self.ask("hello").await?, expected);
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.lifetimes.lock().expect(UNPOISONED).push(self.opened.elapsed());
    }
}

impl Worker for Connection {
    fn is_work(&self) -> bool {
        self.is_usable()
    }
}

impl ClassifiedWorker<String> for Connection {
    fn is_work(&self) -> bool {
        self.is_usable()
    }

    fn is_valid(&self, database: String) -> bool {
        self.database == database
    }

    fn classification(&self) -> String {
        self.database.clone()
    }
}

impl KeyedWorker<String> for Connection {
    fn is_work(&self) -> bool {
        self.is_usable()
    }

    fn supports(&self, database: String) -> bool {
        self.database == database
    }

    fn primary_key(&self) -> String {
        self.database.clone()
    }
}

/// The factory of all three pools. A clone shares what the others know.
#[derive(Clone)]
pub struct Connector {
    address: SocketAddr,
    password: Arc<Mutex<String>>,
    attempts: Arc<Mutex<Vec<Instant>>>,
    lifetimes: Arc<Mutex<Vec<Duration>>>,
}

impl Connector {
    pub fn new(address: SocketAddr, password: &str) -> Self {
        let password = Arc::new(Mutex::new(password.to_owned()));
        Self { address, password, attempts: Arc::default(), lifetimes: Arc::default() }
    }

    /// For all connections from now on.
    pub fn use_password(&self, password: &str) {
        password.clone_into(&mut self.password.lock().expect(UNPOISONED));
    }

    /// When connections were attempted.
    pub fn attempts(&self) -> Vec<Instant> {
        self.attempts.lock().expect(UNPOISONED).clone()
    }

    /// How long those lived that are gone.
    pub fn lifetimes(&self) -> Vec<Duration> {
        self.lifetimes.lock().expect(UNPOISONED).clone()
    }

    async fn connect(&self, database: String) -> PoolResult<Connection> {
        self.attempts.lock().expect(UNPOISONED).push(Instant::now());
        let connection = self.log_in(&database).await;
        connection.map_err(into_pool_err!("cannot connect to {database}"))
    }

    async fn log_in(&self, database: &str) -> io::Result<Connection> {
        let stream = BufReader::new(TcpStream::connect(self.address).await?);
        let mut connection = Connection {
            session: 0,
            database: database.to_owned(),
            opened: Instant::now(),
            stream,
            answer_is_due: false,
            lifetimes: Arc::clone(&self.lifetimes),
        };
        let password = self.password.lock().expect(UNPOISONED).clone();
        let answer = connection.ask(&format!("LOGIN {password} {database}")).await?;
        let session = answer.strip_prefix("SESSION ").and_then(|number| number.parse().ok());
        connection.session = session.ok_or(ErrorKind::InvalidData)?;
        connection.opened = Instant::now();
        Ok(connection)
    }
}

/// Whether another attempt may succeed: a wrong password stays wrong.
pub fn is_transient(error: &PoolError) -> bool {
    match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(source) => source.kind() != ErrorKind::PermissionDenied,
        None => error.code() == PoolErrorCode::Timeout,
    }
}

const DEFAULT_DATABASE: &str = "users";

#[async_trait::async_trait]
impl WorkerFactory<Connection> for Connector {
    async fn create(&self) -> PoolResult<Connection> {
        self.connect(DEFAULT_DATABASE.to_owned()).await
    }

    async fn recycle(&self, connection: &mut Connection) -> PoolResult<()> {
        let answer = connection.ask("PING").await;
        answer.map(drop).map_err(into_pool_err!("session {} is lost", connection.session))
    }

    async fn destroy(&self, mut connection: Connection) {
        // One that is broken is dropped all the same.
        _ = connection.ask("QUIT").await;
    }
}

#[async_trait::async_trait]
impl ClassifiedWorkerFactory<String, Connection> for Connector {
    async fn create(&self, database: Option<String>) -> PoolResult<Connection> {
        self.connect(database.unwrap_or_else(|| DEFAULT_DATABASE.to_owned())).await
    }
}

#[async_trait::async_trait]
impl KeyedWorkerFactory<String, Connection> for Connector {
    async fn create(&self, database: String) -> PoolResult<Connection> {
        self.connect(database).await
    }
}

/// A request that must be served well. Returns the number of its session.
pub async fn request(name: &str, pool: &Pool) -> Result<u32, Box<dyn Error>> {
    // With a time of its own, for some pools allow very little.
    let mut connection = pool.get_worker_timeout(LONG).await?;
    connection.prove().await?;
    report!("{name} is served by session {}", connection.session);
    Ok(connection.session)
}

/// Lets the pool give up idle connections that the other side has closed, until none is idle.
///
/// Without recycling a request may be faster than the news of the close, and find one of them.
pub async fn drop_closed(pool: &Pool) {
    wait_until("all idle connections are closed", || {
        pool.retain(Connection::is_open);
        pool.status().idle == 0
    })
    .await;
}

pub async fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    match line.pop() {
        Some('\n') => Ok(line),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}
