//! Pushes a text file through a few pooled HTTP connections, then through one connection for each
//! request, and prints both side by side.
//!
//! Every line is the body of a `POST /`, and what comes back must be the same, byte for byte. The
//! server is a hyper server in this process, unless `--server` names another that answers so.
//!
//! ```text
//! cargo run --release --example quickstart [-- [FILE] [--server HOST:PORT]]
//! ```

use std::error::Error;
use std::ffi::OsString;
use std::fmt::Display;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::HOST;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use sfo_pool::{
    PoolResult, Worker, WorkerFactory, WorkerGuard, WorkerPool, WorkerPoolRef, pool_err,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

const MAX_CONNECTIONS: u16 = 8;
const POOLED_TASKS: usize = 200;
const FEW_LINES: usize = 1000;
const PATIENCE: Duration = Duration::from_secs(10);
const USAGE: &str = "usage: quickstart [FILE] [--server HOST:PORT]";

static OPENED_CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let Some(arguments) = Arguments::parse(std::env::args_os().skip(1))? else {
        println!("{USAGE}");
        return Ok(());
    };
    let text = load(arguments.file)?;
    let server = match arguments.server {
        Some(name) => Server::find(&name).await?,
        None => Server::start().await?,
    };
    let compared = compare(server, &text).await;
    compared.map_err(|failure| no_echo(server.address, &*failure))
}

async fn compare(server: Server, text: &Bytes) -> Result<(), Failure> {
    println!("server  {}\n", server.address);

    println!("pooled: {POOLED_TASKS} tasks share at most {MAX_CONNECTIONS} connections ...");
    let pool = WorkerPool::new(MAX_CONNECTIONS, server);
    let pooled = measure(Way::Pooled(pool), POOLED_TASKS, text).await?;

    println!("one each: every request opens a connection, {MAX_CONNECTIONS} at a time ...\n");
    let one_each = measure(Way::OneEach(server), MAX_CONNECTIONS.into(), text).await?;

    print_side_by_side(&pooled, &one_each);
    Ok(())
}

/// The worker.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    server: SocketAddr,
    is_new: bool,
}

impl Worker for Connection {
    fn is_work(&self) -> bool {
        self.sender.is_ready()
    }
}

/// What makes workers.
#[derive(Clone, Copy)]
struct Server {
    address: SocketAddr,
}

#[async_trait::async_trait]
impl WorkerFactory<Connection> for Server {
    async fn create(&self) -> PoolResult<Connection> {
        self.connect().await.map_err(|failure| pool_err!("{failure}"))
    }
}

#[derive(Clone)]
enum Way {
    Pooled(WorkerPoolRef<Connection, Server>),
    OneEach(Server),
}

impl Way {
    /// Tells how long the line waited for a connection that others used, if it had to.
    async fn send(&self, line: &Bytes) -> Result<Option<Duration>, Failure> {
        match self {
            Self::Pooled(pool) => {
                let (mut connection, wait) = get_timed(pool).await?;
                connection.echo(line).await?;
                Ok(wait)
            }
            Self::OneEach(server) => {
                server.connect().await?.echo(line).await?;
                Ok(None)
            }
        }
    }
}

/// Tells how long the wait was, if all connections were in use.
async fn get_timed(
    pool: &WorkerPoolRef<Connection, Server>,
) -> Result<(WorkerGuard<Connection, Server>, Option<Duration>), Failure> {
    let start = Instant::now();
    let mut get = pin!(pool.get_worker());
    let mut polls = 0;
    let got = poll_fn(|context| {
        polls += 1;
        get.as_mut().poll(context)
    });
    let connection = got.await.map_err(|error| error.msg().to_owned())?;
    // An idle connection is there at the first poll, and a new one was not used by others.
    let has_waited = polls > 1 && !connection.is_new;
    Ok((connection, has_waited.then(|| start.elapsed())))
}

impl Connection {
    async fn open(server: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        OPENED_CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        Ok(Self { sender, server, is_new: true })
    }

    /// Sends a line and checks that the same comes back.
    async fn echo(&mut self, line: &Bytes) -> Result<(), Failure> {
        let (status, answer) = patiently(self.post(line)).await?;
        if answer != line {
            let (sent, received) = (line.len(), answer.len());
            return Err(format!("sent {sent} bytes, got {received} others ({status})").into());
        }
        Ok(())
    }

    async fn post(&mut self, line: &Bytes) -> Result<(StatusCode, Bytes), Failure> {
        self.is_new = false;
        let request = Request::post("/").header(HOST, self.server.to_string());
        let request = request.body(Full::new(line.clone()))?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?;
        // hyper is ready for another request only a moment after the last byte of an answer; `is_work`
        // asked before that would say no. A connection that the server closes never is.
        let _ = self.sender.ready().await;
        Ok((status, body.to_bytes()))
    }
}

struct Measurement {
    opened: usize,
    served: usize,
    waits: Vec<Duration>,
    total: Duration,
}

/// Has `tasks` tasks send the lines of `text`, each task one line after another.
async fn measure(way: Way, tasks: usize, text: &Bytes) -> Result<Measurement, Failure> {
    let start = Instant::now();
    let rest = Arc::new(Mutex::new(text.clone()));
    let mut running = JoinSet::new();
    for _ in 0..tasks {
        running.spawn(send_lines(way.clone(), rest.clone()));
    }
    let mut outcomes = Vec::new();
    while let Some(task) = running.join_next().await {
        outcomes.extend(task??);
    }
    let total = start.elapsed();
    let served = outcomes.len();
    let mut waits: Vec<_> = outcomes.into_iter().flatten().collect();
    waits.sort_unstable();
    let opened = OPENED_CONNECTIONS.swap(0, Ordering::Relaxed);
    Ok(Measurement { opened, served, waits, total })
}

async fn send_lines(way: Way, rest: Arc<Mutex<Bytes>>) -> Result<Vec<Option<Duration>>, Failure> {
    let mut waits = Vec::new();
    while let Some(line) = next_line(&rest) {
        waits.push(way.send(&line).await?);
    }
    Ok(waits)
}

/// Cuts the first line off, its end included, without copying it.
fn next_line(rest: &Mutex<Bytes>) -> Option<Bytes> {
    let mut rest = rest.lock().expect("no task panics while it cuts a line off");
    if rest.is_empty() {
        return None;
    }
    let newline = rest.iter().position(|byte| *byte == b'\n');
    let length = newline.map_or(rest.len(), |position| position + 1);
    Some(rest.split_to(length))
}

fn print_side_by_side(pooled: &Measurement, one_each: &Measurement) {
    let row = |name: &str, value: &dyn Fn(&Measurement) -> String| {
        println!("{name:20}{:>14}{:>14}", value(pooled), value(one_each));
    };
    println!("{:20}{:>14}{:>14}", "", "pooled", "one each");
    row("connections opened", &|run| run.opened.to_string());
    row("requests served", &|run| run.served.to_string());
    row("had to wait", &|run| run.waits.len().to_string());
    row("  median wait", &|run| run.wait_at(50));
    row("  max wait", &|run| run.wait_at(100));
    row("total time", &|run| milliseconds(run.total));

    let ratio = one_each.total.as_secs_f64() / pooled.total.as_secs_f64();
    let served = pooled.served;
    let [pooled, one_each] = [pooled, one_each].map(|run| milliseconds(run.total));
    println!("\npooled {pooled}, one each {one_each}, ratio {ratio:.1}");
    if ratio < 1.0 && served < FEW_LINES {
        println!("With so few lines the start counts most.");
    } else if ratio < 1.0 {
        println!("The server may lack TCP_NODELAY, which delays answers on kept connections.");
    }
}

impl Measurement {
    fn wait_at(&self, percent: usize) -> String {
        let last = self.waits.len().saturating_sub(1);
        self.waits.get(last * percent / 100).map_or("-".into(), |wait| milliseconds(*wait))
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

impl Server {
    async fn find(name: &str) -> Result<Self, Failure> {
        let probe = async { Ok(TcpStream::connect(name).await?.peer_addr()?) };
        let address = patiently(probe).await;
        let address = address.map_err(|failure| no_echo(name, &*failure))?;
        Ok(Self { address })
    }

    async fn start() -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(serve(listener));
        Ok(Self { address })
    }

    async fn connect(self) -> Result<Connection, Failure> {
        patiently(Connection::open(self.address)).await
    }
}

/// Echoes the body of every request.
async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            stream.set_nodelay(true)?;
            let echo = service_fn(async |request: Request<Incoming>| {
                Ok::<_, hyper::Error>(Response::new(request.into_body()))
            });
            let http = hyper::server::conn::http1::Builder::new();
            http.serve_connection(TokioIo::new(stream), echo).await?;
            Ok::<_, Failure>(())
        });
    }
}

async fn patiently<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let outcome = timeout(PATIENCE, work).await;
    outcome.unwrap_or_else(|_| Err(format!("no answer within {PATIENCE:?}").into()))
}

fn no_echo(server: impl Display, error: &(dyn Error + 'static)) -> Failure {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let found: Vec<_> = causes.map(ToString::to_string).collect();
    let found = found.join(": ");
    format!(
        "expected {server} to answer `POST /` with its body over HTTP/1.1, but: {found}\n\
         Give the HOST:PORT of a server that does, or leave --server out to use the built-in one."
    )
    .into()
}

fn load(file: Option<PathBuf>) -> Result<Bytes, Failure> {
    let (name, text) = match file {
        None => ("the source of this example".to_owned(), include_bytes!("quickstart.rs").to_vec()),
        Some(path) => {
            let name = path.display().to_string();
            let text =
                std::fs::read(path).map_err(|error| format!("cannot read {name}: {error}"))?;
            (name, text)
        }
    };
    if text.is_empty() {
        return Err(format!("{name} is empty: give a file with at least one line").into());
    }
    let lines = text.split_inclusive(|byte| *byte == b'\n').count();
    println!("input   {name}\nlines   {lines}");
    Ok(text.into())
}

#[derive(Default)]
struct Arguments {
    file: Option<PathBuf>,
    server: Option<String>,
}

impl Arguments {
    /// `None` if the user asks for help.
    fn parse(mut given: impl Iterator<Item = OsString>) -> Result<Option<Self>, Failure> {
        let mut arguments = Self::default();
        while let Some(argument) = given.next() {
            match argument.to_str() {
                Some("--help" | "-h") => return Ok(None),
                Some("--server") => {
                    let name = given.next().and_then(|name| name.into_string().ok());
                    arguments.server = Some(name.ok_or(format!("--server of what?\n{USAGE}"))?);
                }
                Some(option) if option.starts_with('-') => {
                    return Err(format!("there is no option {option}\n{USAGE}").into());
                }
                _ if arguments.file.is_some() => {
                    return Err(format!("{argument:?} is one file too many\n{USAGE}").into());
                }
                _ => arguments.file = Some(argument.into()),
            }
        }
        Ok(Some(arguments))
    }
}
