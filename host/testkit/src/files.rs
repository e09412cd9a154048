//! A web server on loopback that serves fixed answers: where torrents are fetched from by URL.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Serves whole raw HTTP answers by path; anything else is a 404. Counts what it was asked.
pub struct FileServer {
    port: u16,
    asked: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl FileServer {
    /// `answers`: path to a raw answer, status line included; see [`ok`] and [`redirect`].
    pub async fn start(answers: HashMap<String, Vec<u8>>) -> FileServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let port = listener
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        let asked = Arc::new(AtomicUsize::new(0));
        let (answers, counter) = (Arc::new(answers), asked.clone());
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let answers = answers.clone();
                tokio::spawn(async move {
                    let mut head = vec![0; 8192];
                    let read = stream.read(&mut head).await.unwrap_or(0);
                    let head = String::from_utf8_lossy(&head[..read]).into_owned();
                    let path = head.split_whitespace().nth(1).unwrap_or("/");
                    let missing =
                        b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec();
                    // A client that hangs up early is its own affair.
                    let _ = stream.write_all(answers.get(path).unwrap_or(&missing)).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        FileServer { port, asked, task }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The number of connections it has accepted.
    pub fn connections(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A 200 with a body.
pub fn ok(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/x-bittorrent\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A 302 to another address.
pub fn redirect(location: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .into_bytes()
}
