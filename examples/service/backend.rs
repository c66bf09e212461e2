use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

const HANDSHAKE: Duration = Duration::from_millis(15);
const UNPOISONED: &str = "nothing panics under this lock";

/// The other side of all connections. It answers each line with the same line.
pub struct Backend {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    answer_ms: AtomicU64,
    is_down: AtomicBool,
    connections: Mutex<JoinSet<io::Result<()>>>,
}

impl Backend {
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting })
    }

    /// How long an answer takes from now on.
    pub fn answer_after(&self, time: Duration) {
        self.shared.answer_ms.store(time.as_millis() as u64, Ordering::Relaxed);
    }

    /// Drops everybody, and whoever comes, or serves again.
    pub async fn set_down(&self, is_down: bool) {
        self.shared.is_down.store(is_down, Ordering::Relaxed);
        if is_down {
            let mut connections =
                mem::take(&mut *self.shared.connections.lock().expect(UNPOISONED));
            connections.shutdown().await;
        }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        if shared.is_down.load(Ordering::Relaxed) {
            continue;
        }
        let serving = serve(BufReader::new(stream), Arc::clone(&shared));
        let mut connections = shared.connections.lock().expect(UNPOISONED);
        while connections.try_join_next().is_some() {}
        connections.spawn(serving);
    }
}

async fn serve(mut client: BufReader<TcpStream>, shared: Arc<Shared>) -> io::Result<()> {
    sleep(HANDSHAKE).await;
    client.write_all(b"welcome\n").await?;
    let mut line = String::new();
    while client.read_line(&mut line).await? > 0 {
        sleep(Duration::from_millis(shared.answer_ms.load(Ordering::Relaxed))).await;
        client.write_all(line.as_bytes()).await?;
        line.clear();
    }
    Ok(())
}
