//! A bucket of connections for each database: a busy one delays nobody else.
//!
//! Three TCP servers in this process play databases. Each greets a client with its name and answers
//! the number of a row with the row; one of them is slow. At most two connections are open to each.
//!
//! ```text
//! cargo run --example keyed
//! ```

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
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

const USERS: &[&str] = &["Ada", "Ben", "Eve"];
const ORDERS: &[&str] = &["three pens", "a lamp"];
const ARCHIVE: &[&str] = &["310 sold", "325 sold", "290 sold", "402 sold", "398 sold"];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let users = start_database("users", USERS, Duration::ZERO).await?;
    let orders = start_database("orders", ORDERS, Duration::ZERO).await?;
    let archive = start_database("archive", ARCHIVE, Duration::from_millis(100)).await?;

    let limits = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(2));
    let pool = KeyedWorkerPool::new(Connector::default(), limits);

    println!("reuse: the second query finds the connection of the first");
    query(&pool, users, 1).await?;
    query(&pool, users, 2).await?;

    println!("a limit for each key: five queries to the slow archive, two at a time");
    let mut slow = JoinSet::new();
    for row in 1..=5 {
        let pool = pool.clone();
        slow.spawn(async move { query(&pool, archive, row).await });
    }
    sleep(Duration::from_millis(50)).await;

    println!("no key delays another: others are served while the archive has a queue");
    query(&pool, users, 3).await?;
    query(&pool, orders, 1).await?;

    while let Some(answered) = slow.join_next().await {
        answered??;
    }
    Ok(())
}

async fn query(pool: &Pool, database: SocketAddr, row: usize) -> PoolResult<()> {
    let start = Instant::now();
    let mut connection = pool.get_worker(database).await?;
    let waited = start.elapsed().as_millis();
    let answer = connection.ask(&row.to_string()).await;
    let answer = answer.map_err(into_pool_err!("no answer from {database}"))?;
    let Connection { name, number, .. } = &*connection;
    println!("  {name:8} row {row}: {answer:12} waited {waited:>3} ms for connection {number}");
    Ok(())
}

/// The worker.
struct Connection {
    database: SocketAddr,
    name: String,
    stream: BufReader<TcpStream>,
    number: u32,
    answer_is_due: bool,
}

impl Connection {
    async fn open(database: SocketAddr, number: u32) -> io::Result<Self> {
        let mut stream = BufReader::new(TcpStream::connect(database).await?);
        let name = read_line(&mut stream).await?;
        Ok(Self { database, name, stream, number, answer_is_due: false })
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

#[derive(Default)]
struct Connector {
    opened: AtomicU32,
}

#[async_trait::async_trait]
impl KeyedWorkerFactory<SocketAddr, Connection> for Connector {
    async fn create(&self, database: SocketAddr) -> PoolResult<Connection> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let opened = Connection::open(database, number).await;
        opened.map_err(into_pool_err!("cannot connect to {database}"))
    }
}

/// Greets every client with `name`, and answers the number of a row with the row after `delay`.
async fn start_database(
    name: &'static str,
    rows: &'static [&'static str],
    delay: Duration,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(BufReader::new(stream), name, rows, delay));
        }
    });
    Ok(address)
}

async fn serve(
    mut client: BufReader<TcpStream>,
    name: &str,
    rows: &[&str],
    delay: Duration,
) -> io::Result<()> {
    client.write_all(format!("{name}\n").as_bytes()).await?;
    loop {
        let number: usize = read_line(&mut client).await?.parse().map_err(io::Error::other)?;
        let row = number.checked_sub(1).and_then(|index| rows.get(index)).unwrap_or(&"no such row");
        sleep(delay).await;
        client.write_all(format!("{row}\n").as_bytes()).await?;
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
