//! A server that accepts connections and then behaves badly, as a broken or hostile torrent client would.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The misbehaviour of a server, the same for every connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Accepts and never answers.
    Silent,
    /// Answers 1 KiB a second, without end.
    Slow,
    /// Answers bytes that are no protocol.
    Garbage,
    /// Answers half of what it announced and hangs up.
    Half,
    /// Answers more than 64 MiB.
    Huge,
    /// Answers 403 to everything.
    Banned,
}

impl Manner {
    pub const ALL: &'static [Manner] = &[
        Manner::Silent,
        Manner::Slow,
        Manner::Garbage,
        Manner::Half,
        Manner::Huge,
        Manner::Banned,
    ];
}

/// The protocol it pretends to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Scgi,
    Http,
}

/// A running hostile server.
pub struct HostileServer {
    port: u16,
    protocol: Protocol,
    accepted: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl HostileServer {
    pub async fn start(protocol: Protocol, manner: Manner) -> HostileServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let port = listener
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        let accepted = Arc::new(AtomicUsize::new(0));
        let counter = accepted.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                // Whatever the other side does to the connection is what the test is about.
                tokio::spawn(async move { drop(misbehave(stream, protocol, manner).await) });
            }
        });
        HostileServer {
            port,
            protocol,
            accepted,
            task,
        }
    }

    /// The engine kind that speaks to it, and its `config`.
    pub fn engine(&self) -> (&'static str, Value) {
        match self.protocol {
            Protocol::Scgi => (
                "scgi_client",
                json!({ "mode": "scgi-tcp", "host": "127.0.0.1", "port": self.port }),
            ),
            Protocol::Http => {
                let base = format!("http://127.0.0.1:{}", self.port);
                (
                    "webapi_client",
                    json!({ "baseUrl": base, "username": "admin", "password": "secret" }),
                )
            }
        }
    }

    /// The number of connections it has accepted.
    pub fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn misbehave(mut stream: TcpStream, protocol: Protocol, manner: Manner) -> std::io::Result<()> {
    let mut request = vec![0; 64 * 1024];
    if stream.read(&mut request).await? == 0 {
        return Ok(());
    }
    // An HTTP client is let in first, so that the fault meets its real calls.
    if protocol == Protocol::Http
        && manner != Manner::Banned
        && request.starts_with(b"POST /api/v2/auth/login")
    {
        let reply = "HTTP/1.1 200 OK\r\nset-cookie: SID=hostile; path=/\r\ncontent-length: 3\r\nconnection: close\r\n\r\nOk.";
        stream.write_all(reply.as_bytes()).await?;
        return stream.shutdown().await;
    }
    let status = |line: &str, length: usize| match protocol {
        Protocol::Scgi => {
            format!("Status: {line}\r\nContent-Type: text/xml\r\nContent-Length: {length}\r\n\r\n")
        }
        Protocol::Http => {
            format!("HTTP/1.1 {line}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n")
        }
    };
    match manner {
        Manner::Silent => std::future::pending().await,
        Manner::Slow => {
            stream.write_all(status("200 OK", 1 << 30).as_bytes()).await?;
            loop {
                stream.write_all(&[b' '; 1024]).await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        Manner::Garbage => {
            let noise: Vec<u8> = (0..4096u32)
                .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
                .collect();
            stream.write_all(&noise).await?;
            stream.shutdown().await
        }
        Manner::Half => {
            stream.write_all(status("200 OK", 4096).as_bytes()).await?;
            stream
                .write_all(b"<?xml version=\"1.0\"?><methodResponse><params><param><value><array><da")
                .await?;
            stream.shutdown().await
        }
        Manner::Huge => {
            const SIZE: usize = 80 * 1024 * 1024;
            stream.write_all(status("200 OK", SIZE).as_bytes()).await?;
            let chunk = vec![b' '; 64 * 1024];
            for _ in 0..SIZE / chunk.len() {
                stream.write_all(&chunk).await?;
            }
            stream.shutdown().await
        }
        Manner::Banned => {
            stream.write_all(status("403 Forbidden", 6).as_bytes()).await?;
            stream.write_all(b"banned").await?;
            stream.shutdown().await
        }
    }
}
