//! A bucket of connections for each database: a busy one delays nobody else.
//!
//! Three TCP servers in this process play databases. Each greets a client with its name and answers
//! every line; one of them is slow. At most two connections are open to each.
//!
//! ```text
//! cargo run --example keyed
//! ```

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sfo_pool::{
    KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, KeyedWorkerPoolRef,
    PoolResult, into_pool_err,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

type Pool = KeyedWorkerPoolRef<SocketAddr, Connection, Connector>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let users = start_database("users", Duration::ZERO).await?;
    let orders = start_database("orders", Duration::ZERO).await?;
    let archive = start_database("archive", Duration::from_millis(100)).await?;

    let limits = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(2));
    let pool = KeyedWorkerPool::new(Connector, limits);

    println!("reuse: the second query finds the connection of the first");
    query(&pool, users, "name of 1").await?;
    query(&pool, users, "name of 2").await?;

    println!("a limit for each key: five queries to the slow archive, two at a time");
    let mut slow = JoinSet::new();
    for year in 2021..=2025 {
        let pool = pool.clone();
        slow.spawn(async move { query(&pool, archive, &format!("sum of {year}")).await });
    }
    sleep(Duration::from_millis(50)).await;

    println!("no key delays another: others are served while the archive has a queue");
    query(&pool, users, "name of 3").await?;
    query(&pool, orders, "count").await?;

    while let Some(answered) = slow.join_next().await {
        answered??;
    }
    Ok(())
}

async fn query(pool: &Pool, database: SocketAddr, question: &str) -> PoolResult<()> {
    let start = Instant::now();
    let mut connection = pool.get_worker(database).await?;
    let waited = start.elapsed().as_millis();
    let answer = connection.ask(question).await;
    let answer = answer.map_err(into_pool_err!("no answer from {database}"))?;
    let Connection { name, port, .. } = &*connection;
    println!("  {name:8} {answer:26} after a wait of {waited:>3} ms, over port {port}");
    Ok(())
}

/// The worker.
struct Connection {
    database: SocketAddr,
    name: String,
    stream: BufReader<TcpStream>,
    port: u16,
    answer_is_due: bool,
}

impl Connection {
    async fn open(database: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(database).await?;
        let port = stream.local_addr()?.port();
        let mut stream = BufReader::new(stream);
        let name = read_line(&mut stream).await?;
        Ok(Self { database, name, stream, port, answer_is_due: false })
    }

    async fn ask(&mut self, question: &str) -> io::Result<String> {
        self.answer_is_due = true;
        self.stream.write_all(format!("{question}\n").as_bytes()).await?;
        let answer = read_line(&mut self.stream).await?;
        self.answer_is_due = false;
        Ok(answer)
    }
}

impl KeyedWorker<SocketAddr> for Connection {
    fn is_work(&self) -> bool {
        let read = self.stream.get_ref().try_read(&mut [0]);
        let is_open_and_silent = read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        // One whose user gave up would hand the late answer to the next user.
        is_open_and_silent && !self.answer_is_due
    }

    fn supports(&self, database: SocketAddr) -> bool {
        database == self.database
    }

    fn primary_key(&self) -> SocketAddr {
        self.database
    }
}

struct Connector;

#[async_trait::async_trait]
impl KeyedWorkerFactory<SocketAddr, Connection> for Connector {
    async fn create(&self, database: SocketAddr) -> PoolResult<Connection> {
        let opened = Connection::open(database).await;
        opened.map_err(into_pool_err!("cannot connect to {database}"))
    }
}

/// Greets every client with `name` and answers each line after `delay`.
async fn start_database(name: &'static str, delay: Duration) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(BufReader::new(stream), name, delay));
        }
    });
    Ok(address)
}

async fn serve(mut client: BufReader<TcpStream>, name: &str, delay: Duration) -> io::Result<()> {
    client.write_all(format!("{name}\n").as_bytes()).await?;
    loop {
        let question = read_line(&mut client).await?;
        sleep(delay).await;
        client.write_all(format!("the {question}\n").as_bytes()).await?;
    }
}

async fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    match line.pop() {
        Some('\n') => Ok(line),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}
