//! A local HTTP listener that counts connections, and a scripted resolver.

#![allow(dead_code, reason = "each test crate uses its part")]

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_net::Resolver;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Answers every connection with the same bytes and counts them.
pub struct Listener {
    pub addr: SocketAddr,
    count: Arc<AtomicUsize>,
}

impl Listener {
    pub async fn on(addr: &str, answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind(addr).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let (seen, answer) = (count.clone(), Arc::new(answer.into()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                seen.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer_one(stream, answer.clone()));
            }
        });
        Self { addr, count }
    }

    /// A listener that also records the head of the last request.
    pub async fn hearing(answer: Vec<u8>) -> (Self, Arc<Mutex<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (count, heard) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(String::new())));
        let (seen, hears) = (count.clone(), heard.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                seen.fetch_add(1, Ordering::SeqCst);
                let mut buffer = [0; 8192];
                let read = stream.read(&mut buffer).await.unwrap_or(0);
                *hears.lock().unwrap() = String::from_utf8_lossy(&buffer[..read]).into_owned();
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        });
        (Self { addr, count }, heard)
    }

    pub fn port(&self) -> u16 {
        self.addr.port()
    }

    pub fn connections(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// Reads the head of one request, writes the answer, and stays silent if the answer is empty.
async fn answer_one(mut stream: TcpStream, answer: Arc<Vec<u8>>) {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(n) if n > 0 => head.extend_from_slice(&buffer[..n]),
            _ => return,
        }
    }
    if answer.is_empty() {
        let _ = stream.read(&mut buffer).await;
        return;
    }
    let _ = stream.write_all(&answer).await;
    let _ = stream.shutdown().await;
    while matches!(stream.read(&mut buffer).await, Ok(n) if n > 0) {}
}

/// An HTTP answer with this body.
pub fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Returns its answers in turn, the last one repeatedly, and counts the queries.
pub struct Script {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Script {
    pub fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|ip| ip.parse().unwrap()).collect();
        Arc::new(Self {
            answers: Mutex::new(answers.iter().map(parse).collect()),
            asked: AtomicUsize::new(0),
        })
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Resolver for Script {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let next = if answers.len() > 1 {
            answers.pop_front()
        } else {
            answers.front().cloned()
        };
        next.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such name"))
    }
}
