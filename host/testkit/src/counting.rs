//! A torrent client that does nothing but count: Transmission's RPC on loopback, as far as `transmission.wasm` asks it, over
//! torrents whose counters grow all the time, asked or not. What it has counted is known to the byte.
//!
//! It outlives the servers that ask it, as a real client would.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_lanes::IgnorePoison;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Interval between two growths of all counters.
const STEP: Duration = Duration::from_millis(7);
/// Longest request that is read, in bytes.
const LONGEST: usize = 64 * 1024;

/// Bytes moved, in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub downloaded: u64,
    pub uploaded: u64,
}

#[derive(Default)]
struct Counts {
    torrents: Vec<Moved>,
    grows: bool,
    /// Lists that were answered.
    lists: u64,
}

/// The running client. It ends when it is dropped.
pub struct CountingClient {
    port: u16,
    counts: Arc<Mutex<Counts>>,
    lists: watch::Receiver<u64>,
    tasks: [JoinHandle<()>; 2],
}

impl CountingClient {
    /// Lists `torrents` torrents, which do not grow yet. The first of them is started or stopped in turn, list by list: a
    /// change that a server stores at once. Of the others nothing but counters changes.
    pub async fn start(torrents: usize) -> CountingClient {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let port = listener
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        let counts = Arc::new(Mutex::new(Counts {
            torrents: vec![Moved::default(); torrents],
            ..Counts::default()
        }));
        let (tell, lists) = watch::channel(0);
        let tasks = [
            tokio::spawn(grow(counts.clone())),
            tokio::spawn(serve(listener, counts.clone(), tell)),
        ];
        CountingClient {
            port,
            counts,
            lists,
            tasks,
        }
    }

    /// `config` of `POST /api/engines`, kind `transmission`.
    pub fn config(&self) -> Value {
        json!({ "url": format!("http://127.0.0.1:{}/transmission/rpc", self.port) })
    }

    /// Starts (`true`) or stops the growth of the counters.
    pub fn grow(&self, grows: bool) {
        self.counts.lock().ignore_poison().grows = grows;
    }

    /// Everything that it has counted so far.
    pub fn moved(&self) -> Moved {
        total(&self.counts.lock().ignore_poison())
    }

    /// Waits until `more` further lists have been answered.
    pub async fn listed(&self, more: u64) {
        let mut lists = self.lists.clone();
        let enough = *lists.borrow_and_update() + more;
        let told = tokio::time::timeout(crate::wait::PATIENCE, lists.wait_for(|lists| *lists >= enough));
        told.await
            .expect("somebody asks for the list")
            .expect("the client is running");
    }
}

impl Drop for CountingClient {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn total(counts: &Counts) -> Moved {
    counts
        .torrents
        .iter()
        .fold(Moved::default(), |all, torrent| Moved {
            downloaded: all.downloaded + torrent.downloaded,
            uploaded: all.uploaded + torrent.uploaded,
        })
}

async fn grow(counts: Arc<Mutex<Counts>>) {
    let mut steps = tokio::time::interval(STEP);
    loop {
        steps.tick().await;
        let mut counts = counts.lock().ignore_poison();
        if !counts.grows {
            continue;
        }
        for (number, torrent) in (1..).zip(&mut counts.torrents) {
            // Odd sums: bytes that are lost or doubled cannot make up for each other.
            torrent.downloaded += 1009 * number + torrent.uploaded % 13;
            torrent.uploaded += 307 * number + torrent.downloaded % 7;
        }
    }
}

async fn serve(listener: TcpListener, counts: Arc<Mutex<Counts>>, tell: watch::Sender<u64>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (counts, tell) = (counts.clone(), tell.clone());
        tokio::spawn(async move {
            // A server that was killed in the middle is what this is for.
            let _ = answer(stream, &counts, &tell).await;
        });
    }
}

async fn answer(
    mut stream: TcpStream,
    counts: &Mutex<Counts>,
    tell: &watch::Sender<u64>,
) -> std::io::Result<()> {
    let Some(asked) = request(&mut stream).await? else {
        return Ok(());
    };
    let is_list = asked["method"] == "torrent-get";
    let reply =
        json!({ "result": "success", "arguments": arguments(&asked, &mut counts.lock().ignore_poison()) })
            .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reply.len()
    );
    stream
        .write_all(&[head.as_bytes(), reply.as_bytes()].concat())
        .await?;
    stream.shutdown().await?;
    if is_list {
        tell.send_modify(|lists| *lists += 1);
    }
    Ok(())
}

/// The body of one request; `None` when its caller hung up before it was whole.
async fn request(stream: &mut TcpStream) -> std::io::Result<Option<Value>> {
    let mut read = Vec::new();
    while read.len() < LONGEST {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0_usize) {
                return Ok(serde_json::from_str(body).ok());
            }
        }
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    }
    Ok(None)
}

fn arguments(asked: &Value, counts: &mut Counts) -> Value {
    match asked["method"].as_str() {
        Some("torrent-get") => {
            counts.lists += 1;
            let ids = asked["arguments"]["ids"].as_array();
            let wanted = |torrent: &Value| ids.is_none_or(|ids| ids.contains(&torrent["hashString"]));
            let torrents = (0..counts.torrents.len()).map(|number| torrent(number, counts));
            json!({ "torrents": torrents.filter(wanted).collect::<Vec<_>>() })
        }
        Some("session-stats") => {
            let Moved { downloaded, uploaded } = total(counts);
            json!({ "cumulative-stats": { "downloadedBytes": downloaded, "uploadedBytes": uploaded } })
        }
        _ => json!({ "version": "counting 1.0" }),
    }
}

fn torrent(number: usize, counts: &Counts) -> Value {
    let Moved { downloaded, uploaded } = counts.torrents[number];
    let is_stopped = number == 0 && counts.lists.is_multiple_of(2);
    json!({
        "hashString": format!("{:040x}", number + 1), "name": format!("counted-{number}"),
        "status": if is_stopped { 0 } else { 4 }, "error": 0, "errorString": "", "percentDone": 0.5,
        "sizeWhenDone": 1_u64 << 40, "downloadedEver": downloaded, "uploadedEver": uploaded, "uploadRatio": 0.3,
        "rateDownload": 1000, "rateUpload": 300, "eta": 3600, "peersSendingToUs": 1, "peersGettingFromUs": 1,
        "peersConnected": 2, "bandwidthPriority": 0, "downloadDir": "/downloads", "isPrivate": false,
        "addedDate": 1_700_000_000, "doneDate": 0,
    })
}
