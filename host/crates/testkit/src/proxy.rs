//! A TCP proxy that a test can make misbehave: the network between a worker and its database.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The most bytes that are passed on at once.
const CHUNK: usize = 64 * 1024;

/// Where the proxy connects to.
#[derive(Clone, Debug)]
pub enum Upstream {
    /// A server on this address.
    Tcp(SocketAddr),
    /// A server on this Unix socket.
    Unix(PathBuf),
}

/// What becomes of the bytes that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are passed on.
    Forward,
    /// They are passed on this much later, each piece for itself.
    Delay(Duration),
    /// They are swallowed, in both directions, and the ends of connections with them. Sockets stay
    /// open, and new connections are accepted and swallowed. A connection that lost bytes stays
    /// dead when the mode changes: nothing could mend it.
    BlackHole,
}

/// See the module's documentation. Dropping it ends it and every connection through it.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    mode: watch::Sender<Mode>,
    resets: watch::Sender<u64>,
    swallowed: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a port of this machine's own choice. Passes everything on until told otherwise.
    pub async fn start(upstream: Upstream) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (mode, resets) = (watch::Sender::new(Mode::Forward), watch::Sender::new(0));
        let swallowed = Arc::<AtomicU64>::default();
        let link = Link {
            upstream,
            mode: mode.subscribe(),
            resets: resets.subscribe(),
            swallowed: swallowed.clone(),
        };
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            // Connections end with the set, when this task is dropped.
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(link.clone().serve(client));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, mode, resets, swallowed, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it does from now on, with open connections as with new ones.
    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// How many bytes it has swallowed so far.
    pub fn swallowed(&self) -> u64 {
        self.swallowed.load(Ordering::Relaxed)
    }

    /// Ends every connection at once, with a reset towards the client.
    pub fn reset(&self) {
        self.resets.send_modify(|count| *count += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What each connection needs to know.
#[derive(Clone)]
struct Link {
    upstream: Upstream,
    mode: watch::Receiver<Mode>,
    resets: watch::Receiver<u64>,
    swallowed: Arc<AtomicU64>,
}

impl Link {
    async fn serve(mut self, mut client: TcpStream) {
        self.resets.mark_unchanged();
        let mut resets = self.resets.clone();
        tokio::select! {
            _ = resets.changed() => {
                // Without this the end would be an orderly one.
                let _ = client.set_zero_linger();
            }
            // A connection that fails is one that ends.
            _ = self.pass(&mut client) => {}
        }
    }

    async fn pass(&self, client: &mut TcpStream) -> io::Result<()> {
        let dead = AtomicBool::new(false);
        let (mut from_client, mut to_client) = client.split();
        if *self.mode.borrow() == Mode::BlackHole {
            dead.store(true, Ordering::Relaxed);
            return self.pump(&mut from_client, &mut io::sink(), &dead).await;
        }
        match &self.upstream {
            Upstream::Tcp(address) => {
                let (mut read, mut write) = TcpStream::connect(address).await?.into_split();
                tokio::select! {
                    ended = self.pump(&mut from_client, &mut write, &dead) => ended,
                    ended = self.pump(&mut read, &mut to_client, &dead) => ended,
                }
            }
            Upstream::Unix(path) => {
                let (mut read, mut write) = UnixStream::connect(path).await?.into_split();
                tokio::select! {
                    ended = self.pump(&mut from_client, &mut write, &dead) => ended,
                    ended = self.pump(&mut read, &mut to_client, &dead) => ended,
                }
            }
        }
    }

    /// Passes bytes on in one direction, until its source ends and that may be known.
    async fn pump(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
        dead: &AtomicBool,
    ) -> io::Result<()> {
        let mut mode = self.mode.clone();
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = from.read(&mut chunk).await;
            let now = *mode.borrow_and_update();
            if let Mode::Delay(by) = now {
                tokio::time::sleep(by).await;
            }
            let bytes = match read {
                Ok(read) if read > 0 => chunk.get(..read).unwrap_or_default(),
                ended => {
                    // A cut network hides the end of a connection as it hides everything else.
                    let _ = mode.wait_for(|mode| *mode != Mode::BlackHole).await;
                    return ended.map(drop);
                }
            };
            if *mode.borrow_and_update() == Mode::BlackHole {
                dead.store(true, Ordering::Relaxed);
            }
            if dead.load(Ordering::Relaxed) {
                self.swallowed.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            } else {
                to.write_all(bytes).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_for;
    use std::time::Instant;

    const BOUND: Duration = Duration::from_secs(10);

    /// A server that answers with what it is told, and a proxy before it.
    async fn echo() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let (mut read, mut write) = socket.split();
                    io::copy(&mut read, &mut write).await
                });
            }
        });
        Proxy::start(Upstream::Tcp(address)).await.unwrap()
    }

    async fn connect(proxy: &Proxy) -> TcpStream {
        TcpStream::connect(proxy.address()).await.unwrap()
    }

    /// Says a word, and hears it again.
    async fn talk(socket: &mut TcpStream) -> io::Result<()> {
        socket.write_all(b"word").await?;
        let mut word = [0; 4];
        socket.read_exact(&mut word).await?;
        assert_eq!(&word, b"word");
        Ok(())
    }

    #[tokio::test]
    async fn bytes_pass_both_ways() {
        let proxy = echo().await;
        talk(&mut connect(&proxy).await).await.unwrap();
    }

    #[tokio::test]
    async fn bytes_pass_later_when_the_network_is_slow() {
        let proxy = echo().await;
        let mut socket = connect(&proxy).await;
        let delay = Duration::from_millis(50);
        proxy.set(Mode::Delay(delay));
        let start = Instant::now();
        talk(&mut socket).await.unwrap();
        assert!(start.elapsed() >= delay * 2, "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn a_connection_that_lost_bytes_stays_dead_and_new_ones_live() {
        let proxy = echo().await;
        let (mut talking, mut silent) = (connect(&proxy).await, connect(&proxy).await);
        talk(&mut talking).await.unwrap();
        talk(&mut silent).await.unwrap();

        // Given a network that swallows what one connection says, and that takes a new one
        proxy.set(Mode::BlackHole);
        let mut swallowed = connect(&proxy).await;
        for socket in [&mut talking, &mut swallowed] {
            let answer = tokio::time::timeout(Duration::from_millis(100), talk(socket)).await;
            assert!(answer.is_err(), "nothing comes back, not even an error");
        }

        // When it is mended, then the one that was silent goes on, and new ones are served
        proxy.set(Mode::Forward);
        talk(&mut silent).await.unwrap();
        talk(&mut connect(&proxy).await).await.unwrap();
        let answer = tokio::time::timeout(Duration::from_millis(100), talk(&mut talking)).await;
        assert!(answer.is_err(), "what was swallowed cannot be mended");
    }

    #[tokio::test]
    async fn a_reset_ends_every_connection_and_new_ones_live() {
        let proxy = echo().await;
        let mut socket = connect(&proxy).await;
        talk(&mut socket).await.unwrap();
        proxy.reset();
        wait_for("the reset", BOUND, async || match talk(&mut socket).await {
            Err(_) => Ok(()),
            Ok(()) => Err("the connection still lives".to_owned()),
        })
        .await;
        talk(&mut connect(&proxy).await).await.unwrap();
    }
}
