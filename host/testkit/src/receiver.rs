//! A web server on loopback that takes what it is sent: it writes down each request, answers as a test says, and says when one
//! that the test waits for has come, before or after it is answered.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard};

use qm_lanes::IgnorePoison;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// `POST /path?query`.
    pub line: String,
    /// Null when it is no JSON.
    pub body: Value,
    text: String,
}

impl Received {
    /// True if the request holds this text, as it stands there.
    pub fn tells(&self, word: &str) -> bool {
        self.text.contains(word)
    }
}

/// The moment at which a request counts as caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// As soon as all of it has come; it is never answered.
    Taken,
    /// As soon as its answer has been written.
    Answered,
}

struct Trap {
    word: String,
    moment: Moment,
    caught: oneshot::Sender<()>,
}

#[derive(Default)]
struct Kept {
    received: Mutex<Vec<Received>>,
    trap: Mutex<Option<Trap>>,
}

/// A running receiver; it ends when dropped.
pub struct Receiver {
    port: u16,
    kept: Arc<Kept>,
    task: JoinHandle<()>,
}

/// The content of a lock, also after a test panicked while it held the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().ignore_poison()
}

impl Receiver {
    /// `tell` gives the status line and the JSON of each answer.
    pub async fn start(
        tell: impl Fn(&Received) -> (&'static str, Value) + Send + Sync + 'static,
    ) -> Receiver {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (kept, tell) = (Arc::<Kept>::default(), Arc::new(tell));
        let keeps = kept.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (keeps, tell) = (keeps.clone(), tell.clone());
                tokio::spawn(async move { serve(stream, &keeps, &*tell).await });
            }
        });
        Receiver { port, kept, task }
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything that came, oldest first.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.kept.received).clone()
    }

    /// The number of requests that held this word.
    pub fn count(&self, word: &str) -> usize {
        let received = lock(&self.kept.received);
        received.iter().filter(|one| one.tells(word)).count()
    }

    /// Waits for the next request that holds this word. The returned receiver resolves when it has been caught.
    pub fn catch(&self, word: &str, moment: Moment) -> oneshot::Receiver<()> {
        let (caught, catches) = oneshot::channel();
        *lock(&self.kept.trap) = Some(Trap {
            word: word.to_owned(),
            moment,
            caught,
        });
        catches
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    kept: &Kept,
    tell: &(dyn Fn(&Received) -> (&'static str, Value) + Send + Sync),
) {
    let Some(received) = read(&mut stream).await else {
        return;
    };
    lock(&kept.received).push(received.clone());
    let trap = {
        let mut set = lock(&kept.trap);
        let is_meant = set.as_ref().is_some_and(|trap| received.tells(&trap.word));
        set.take_if(|_| is_meant)
    };
    let (status, body) = tell(&received);
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    match trap {
        Some(trap) if trap.moment == Moment::Taken => {
            // Whoever waited for it may have given up.
            let _ = trap.caught.send(());
            // Until the sender hangs up, or dies.
            let _ = stream.read(&mut [0]).await;
        }
        other => {
            let _ = stream.write_all(answer.as_bytes()).await;
            if let Some(trap) = other {
                let _ = trap.caught.send(());
            }
        }
    }
}

/// One request, its body by its length. None: whoever began it hung up.
async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse().ok())?
            });
            let body = bytes.get(end + 4..end + 4 + length.unwrap_or(0_usize));
            if let Some(body) = body {
                let line = head.lines().next().unwrap_or_default();
                return Some(Received {
                    line: line.trim_end_matches(" HTTP/1.1").to_owned(),
                    body: serde_json::from_slice(body).unwrap_or_default(),
                    text: String::from_utf8_lossy(body).into_owned(),
                });
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}
