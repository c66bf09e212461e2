//! A database server with an operator: it can be slow, lose its connections, and restart.
//!
//! One line asks, one line answers:
//!
//! ```text
//! LOGIN password database   SESSION 1, or DENIED and the connection is closed
//! PING                      PONG
//! QUIT                      BYE, and the connection is closed
//! hello                     users: hello, for the database `users`
//! ```
//!
//! A session whose password is no longer the server's gets DENIED instead of any answer but BYE.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::connection::{Connector, read_line};

const FIRST_PASSWORD: &str = "swordfish";
const UNPOISONED: &str = "nothing panics under this lock";

/// The server, as its operator sees it.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
    /// Holds the port while nobody listens, so that nobody else gets it.
    reserved: Option<TcpSocket>,
}

struct Shared {
    password: Mutex<String>,
    login_delay: watch::Sender<Duration>,
    answer_delay: watch::Sender<Duration>,
    tally: Mutex<Tally>,
    connections: Mutex<JoinSet<io::Result<()>>>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub logins: u32,
    pub sessions: usize,
    pub handshakes: usize,
    pub most_handshakes: usize,
    pub pings: usize,
    pub quits: usize,
}

impl Server {
    pub async fn start() -> io::Result<Self> {
        let socket = bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = socket.local_addr()?;
        let shared = Arc::new(Shared {
            password: Mutex::new(FIRST_PASSWORD.to_owned()),
            login_delay: watch::Sender::new(Duration::ZERO),
            answer_delay: watch::Sender::new(Duration::ZERO),
            tally: Mutex::default(),
            connections: Mutex::default(),
        });
        let mut server = Self { address, shared, accepting: None, reserved: Some(socket) };
        server.listen()?;
        Ok(server)
    }

    /// Listens, for the first time or again.
    pub fn listen(&mut self) -> io::Result<()> {
        let socket = self.reserved.take().ok_or_else(|| io::Error::other("it listens already"))?;
        let listener = socket.listen(1024)?;
        self.accepting = Some(tokio::spawn(accept(listener, Arc::clone(&self.shared))));
        Ok(())
    }

    /// Stops listening and drops every connection. From now on connections are refused.
    pub async fn stop(&mut self) -> io::Result<()> {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            _ = accepting.await;
            self.reserved = Some(bind(self.address)?);
        }
        self.kill_connections().await;
        Ok(())
    }

    /// Returns when all of them are closed on this side.
    pub async fn kill_connections(&self) {
        let mut connections = mem::take(&mut *self.shared.connections.lock().expect(UNPOISONED));
        connections.shutdown().await;
    }

    /// Also for handshakes that are under way.
    pub fn delay_logins(&self, delay: Duration) {
        self.shared.login_delay.send_replace(delay);
    }

    /// Also for answers that are due. A `BYE` takes as long.
    pub fn delay_answers(&self, delay: Duration) {
        self.shared.answer_delay.send_replace(delay);
    }

    pub fn rotate_password(&self, password: &str) {
        password.clone_into(&mut self.shared.password.lock().expect(UNPOISONED));
    }

    pub fn tally(&self) -> Tally {
        *self.shared.tally.lock().expect(UNPOISONED)
    }

    /// What a client needs to know.
    pub fn connector(&self) -> Connector {
        Connector::new(self.address, FIRST_PASSWORD)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
        self.shared.connections.lock().expect(UNPOISONED).abort_all();
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // On Unix a port is not free at once after its connections; on Windows this would share it.
    socket.set_reuseaddr(cfg!(unix))?;
    socket.bind(address)?;
    Ok(socket)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let serving = serve(BufReader::new(stream), Arc::clone(&shared));
        shared.connections.lock().expect(UNPOISONED).spawn(serving);
    }
}

async fn serve(mut client: BufReader<TcpStream>, shared: Arc<Shared>) -> io::Result<()> {
    let Some((password, database)) = shared.log_in(&mut client).await? else {
        return client.write_all(b"DENIED\n").await;
    };
    let (_session, session) = {
        let counted = Counted::new(&shared, |tally| &mut tally.sessions);
        let mut tally = shared.tally.lock().expect(UNPOISONED);
        tally.logins += 1;
        (counted, tally.logins)
    };
    client.write_all(format!("SESSION {session}\n").as_bytes()).await?;
    loop {
        let question = read_line(&mut client).await?;
        wait(&shared.answer_delay).await;
        let answer = if question == "QUIT" {
            shared.tally.lock().expect(UNPOISONED).quits += 1;
            return client.write_all(b"BYE\n").await;
        } else if !shared.admits(&password) {
            "DENIED".to_owned()
        } else if question == "PING" {
            shared.tally.lock().expect(UNPOISONED).pings += 1;
            "PONG".to_owned()
        } else {
            format!("{database}: {question}")
        };
        client.write_all(format!("{answer}\n").as_bytes()).await?;
    }
}

impl Shared {
    /// The password and the database, if the password is right.
    async fn log_in(
        &self,
        client: &mut BufReader<TcpStream>,
    ) -> io::Result<Option<(String, String)>> {
        let login = read_line(client).await?;
        let counted = Counted::new(self, |tally| &mut tally.handshakes);
        {
            let mut tally = self.tally.lock().expect(UNPOISONED);
            tally.most_handshakes = tally.most_handshakes.max(tally.handshakes);
        }
        wait(&self.login_delay).await;
        drop(counted);
        let words = login.strip_prefix("LOGIN ").and_then(|words| words.split_once(' '));
        let words = words.filter(|(password, _)| self.admits(password));
        Ok(words.map(|(password, database)| (password.to_owned(), database.to_owned())))
    }

    fn admits(&self, password: &str) -> bool {
        *self.password.lock().expect(UNPOISONED) == password
    }
}

async fn wait(delay: &watch::Sender<Duration>) {
    let start = Instant::now();
    let mut delay = delay.subscribe();
    loop {
        let time = *delay.borrow_and_update();
        if time.is_zero() {
            return;
        }
        tokio::select! {
            () = sleep_until(start + time) => return,
            Ok(()) = delay.changed() => {}
        }
    }
}

/// Counts as long as it lives.
struct Counted<'a> {
    shared: &'a Shared,
    count: fn(&mut Tally) -> &mut usize,
}

impl<'a> Counted<'a> {
    fn new(shared: &'a Shared, count: fn(&mut Tally) -> &mut usize) -> Self {
        *count(&mut shared.tally.lock().expect(UNPOISONED)) += 1;
        Self { shared, count }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        *(self.count)(&mut self.shared.tally.lock().expect(UNPOISONED)) -= 1;
    }
}
