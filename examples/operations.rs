//! What an operator sees of a pool of TCP connections: a request that is given up, a connection that
//! the server has closed, idle ones that expire, and a clear under load.
//!
//! Every line begins with the time since the start. A server in this process answers.
//!
//! ```text
//! cargo run --example operations
//! ```

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sfo_pool::{
    PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig, WorkerPoolRef, into_pool_err,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

type Pool = WorkerPoolRef<Connection, Server>;

const IDLE_TIMEOUT: Duration = Duration::from_millis(300);
const MOMENT: Duration = Duration::from_millis(100);

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

macro_rules! report {
    ($($message:tt)*) => {
        println!("{:>5} ms  {}", START.elapsed().as_millis(), format_args!($($message)*))
    };
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start().await?;
    let config =
        WorkerPoolConfig::default().with_max_count(Some(2)).with_idle_timeout(Some(IDLE_TIMEOUT));
    let pool = WorkerPool::new_with_config(server, config);
    report!("a pool of at most 2 connections, which may be idle for {IDLE_TIMEOUT:?}");

    println!("\na waiting request is given up");
    give_up_waiting(&pool).await?;
    println!("\nthe server closes a connection");
    replace_closed_connection(&pool).await?;
    println!("\nidle connections expire");
    let_idle_expire(&pool).await;
    println!("\nthe pool is cleared under load");
    clear_under_load(&pool).await?;
    println!("\nthe program ends, and the pool with it");
    Ok(())
}

/// The place in the line goes with the request; the next in the line loses nothing.
async fn give_up_waiting(pool: &Pool) -> PoolResult<()> {
    let held = [pool.get_worker().await?, pool.get_worker().await?];
    let impatient = async {
        report!("an impatient request asks, and will not wait longer than {MOMENT:?}");
        if timeout(MOMENT, pool.get_worker()).await.is_err() {
            report!("the impatient request gives up");
        }
    };
    let hold = async {
        sleep(2 * MOMENT).await;
        report!("both connections come back");
        drop(held);
    };
    tokio::join!(biased; impatient, request("the patient request", pool), hold);
    Ok(())
}

async fn replace_closed_connection(pool: &Pool) -> PoolResult<()> {
    let mut connection = pool.get_worker().await?;
    let number = connection.number;
    let answer = connection.ask("quit").await;
    let reason = answer.expect_err("the server closes the connection instead of an answer");
    report!("connection {number} gets no answer: {reason}");
    drop(connection);
    // With the other connection lent out, the next request needs a new one.
    let _held = pool.get_worker().await?;
    request("the next request", pool).await;
    Ok(())
}

async fn let_idle_expire(pool: &Pool) {
    report!("a cleanup finds {} expired", pool.cleanup_idle_worker());
    sleep(IDLE_TIMEOUT).await;
    report!("a cleanup finds {} expired", pool.cleanup_idle_worker());
}

async fn clear_under_load(pool: &Pool) -> PoolResult<()> {
    let held = [pool.get_worker().await?, pool.get_worker().await?];
    let clear = async {
        report!("the clear begins");
        pool.clear_all_worker().await;
        report!("the clear is over");
    };
    let hold = async {
        for connection in held {
            sleep(MOMENT).await;
            report!("connection {} comes back", connection.number);
        }
    };
    // Polled in this order: two wait already when the clear begins.
    tokio::join!(
        biased;
        request("the first waiting request", pool),
        request("the second waiting request", pool),
        clear,
        request("a request during the clear", pool),
        hold,
    );
    request("a request after the clear", pool).await;
    Ok(())
}

async fn request(name: &str, pool: &Pool) {
    report!("{name} asks");
    let mut connection = match pool.get_worker().await {
        Ok(connection) => connection,
        Err(error) => return report!("{name} gets the error {:?}: {}", error.code(), error.msg()),
    };
    match connection.ask("ping").await {
        Ok(answer) => report!("{name} gets a {answer} over connection {}", connection.number),
        Err(error) => report!("{name} gets no answer: {error}"),
    }
}

/// The worker.
struct Connection {
    number: u32,
    stream: BufReader<TcpStream>,
    answer_is_due: bool,
}

impl Connection {
    async fn ask(&mut self, question: &str) -> io::Result<String> {
        self.answer_is_due = true;
        self.stream.write_all(format!("{question}\n").as_bytes()).await?;
        let mut answer = String::new();
        self.stream.read_line(&mut answer).await?;
        if answer.pop() != Some('\n') {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.answer_is_due = false;
        Ok(answer)
    }
}

impl Worker for Connection {
    fn is_work(&self) -> bool {
        let read = self.stream.get_ref().try_read(&mut [0]);
        let is_open_and_silent = read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        // One whose user gave up would hand the late answer to the next user.
        is_open_and_silent && !self.answer_is_due
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        report!("connection {} is closed", self.number);
    }
}

struct Server {
    address: SocketAddr,
    connections: AtomicU32,
}

impl Server {
    async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Ok(Self { address, connections: AtomicU32::new(0) })
    }
}

/// Answers every line until one of them is `quit`.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let (questions, mut answers) = stream.split();
    let mut questions = BufReader::new(questions).lines();
    while questions.next_line().await?.is_some_and(|question| question != "quit") {
        answers.write_all(b"pong\n").await?;
    }
    Ok(())
}

#[async_trait::async_trait]
impl WorkerFactory<Connection> for Server {
    async fn create(&self) -> PoolResult<Connection> {
        let stream = TcpStream::connect(self.address).await;
        let stream = stream.map_err(into_pool_err!("cannot connect to {}", self.address))?;
        let number = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        report!("connection {number} is opened");
        Ok(Connection { number, stream: BufReader::new(stream), answer_is_due: false })
    }
}
