//! A gate before a server on loopback: requests to the server go through it. It can hold one of them, and the sender
//! may be killed there.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use qm_lanes::IgnorePoison;
use qm_testkit::wait::until_true;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The action of a gate on the next request that holds some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    Open,
    BeforeRequest,
    BeforeAnswer,
    /// It lets request and answer pass, and says that the answer has.
    AfterAnswer,
}

struct Watched {
    trap: Mutex<Trap>,
    /// A request is held, or its answer has passed.
    caught: Mutex<bool>,
    /// Requests that were let through.
    passed: AtomicUsize,
    /// The text that is looked for in a request.
    needle: &'static str,
    ports: (u16, u16),
}

impl Watched {
    fn trap(&self) -> Trap {
        *self.trap.lock().ignore_poison()
    }

    fn catch(&self) {
        *self.caught.lock().ignore_poison() = true;
    }

    fn is_caught(&self) -> bool {
        *self.caught.lock().ignore_poison()
    }

    /// A client that is asked by name expects its own port in it.
    fn renamed(&self, bytes: &[u8]) -> Vec<u8> {
        let (from, to) = self.ports;
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        let text = text.replace(&format!("127.0.0.1:{from}"), &format!("127.0.0.1:{to}"));
        text.chars().filter_map(|char| u8::try_from(char).ok()).collect()
    }

    async fn carry(self: Arc<Self>, mut near: TcpStream) {
        let Ok(mut far) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.ports.1)).await else {
            return;
        };
        let (mut up, mut down) = (vec![0; 64 << 10], vec![0; 64 << 10]);
        let mut tail: Vec<u8> = Vec::new();
        // The request of this connection that was looked for is being answered.
        let mut is_meant = false;
        loop {
            tokio::select! {
                read = near.read(&mut up) => {
                    let Ok(read @ 1..) = read else { return };
                    tail.extend(&up[..read]);
                    if tail.windows(self.needle.len()).any(|part| part == self.needle.as_bytes()) {
                        tail.clear();
                        if self.trap() == Trap::BeforeRequest {
                            self.catch();
                            // Until whoever asks is gone.
                            while matches!(near.read(&mut up).await, Ok(1..)) {}
                            return;
                        }
                        self.passed.fetch_add(1, Ordering::SeqCst);
                        is_meant = true;
                    }
                    tail.drain(..tail.len().saturating_sub(self.needle.len() - 1));
                    if far.write_all(&self.renamed(&up[..read])).await.is_err() {
                        return;
                    }
                }
                read = far.read(&mut down) => {
                    let Ok(read @ 1..) = read else { return };
                    if is_meant && self.trap() == Trap::BeforeAnswer {
                        self.catch();
                        while matches!(near.read(&mut up).await, Ok(1..)) {}
                        return;
                    }
                    if near.write_all(&down[..read]).await.is_err() {
                        return;
                    }
                    if is_meant && self.trap() == Trap::AfterAnswer {
                        self.catch();
                    }
                    is_meant = false;
                }
            }
        }
    }
}

/// A gate before a server on loopback; it stops at one of the requests to it.
pub struct Gate {
    watched: Arc<Watched>,
    task: JoinHandle<()>,
}

impl Gate {
    pub async fn before(port: u16, needle: &'static str) -> Gate {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let own = listener
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        let watched = Arc::new(Watched {
            trap: Mutex::new(Trap::Open),
            caught: Mutex::new(false),
            passed: AtomicUsize::new(0),
            needle,
            ports: (own, port),
        });
        let shared = watched.clone();
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(shared.clone().carry(near));
            }
        });
        Gate { watched, task }
    }

    pub fn port(&self) -> u16 {
        self.watched.ports.0
    }

    pub fn set(&self, trap: Trap) {
        *self.watched.caught.lock().ignore_poison() = false;
        *self.watched.trap.lock().ignore_poison() = trap;
    }

    pub async fn caught(&self) {
        until_true("the server to be caught at its request", || async {
            self.watched.is_caught()
        })
        .await;
    }

    pub fn passed(&self) -> usize {
        self.watched.passed.load(Ordering::SeqCst)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
    }
}
