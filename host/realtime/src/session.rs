//! Life of one connection: reads the client's messages, writes its outbox, and watches deadlines. All three
//! run in one task and end together.

use std::io::{self, IoSlice};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use qm_kernel::{Principal, Timestamp};
use qm_lanes::IgnorePoison;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::frame::{self, CloseReason, Decoder, Incoming};
use super::hub::Hub;
use super::message::{self, Protocol, Request};
use super::outbox::Next;
use super::socket::Socket;

/// Bytes read at once, and kept between reads.
const READ_CHUNK: usize = 4096;
/// Frames per write call.
const SLICES: usize = 32;
/// Time for the client's side of the closing handshake.
const GOODBYE: Duration = Duration::from_secs(2);

/// Data from the handshake.
pub(super) struct Handshake {
    /// From the query or the `Authorization` header.
    pub(super) token: Option<String>,
}

struct Session<'a> {
    hub: &'a Hub,
    socket: &'a Socket,
    token: Option<String>,
    times: Mutex<Times>,
    /// Wakes the clock: `times` have changed.
    changed: Notify,
}

struct Times {
    heard: Instant,
    pinged: Option<Instant>,
    next_ping: Instant,
    /// Begin of the time without a token.
    waiting_since: Option<Instant>,
    expires: Option<Instant>,
}

/// Runs the connection to its end and removes it from the hub, also when the future is dropped.
pub(super) async fn run<T: AsyncRead + AsyncWrite + Send>(
    io: T,
    hub: Hub,
    socket: Arc<Socket>,
    start: Handshake,
) {
    let _leave = Leave {
        hub: &hub,
        socket: &socket,
    };
    let now = Instant::now();
    let times = Times {
        heard: now,
        pinged: None,
        next_ping: now + hub.config().ping_interval,
        waiting_since: Some(now),
        expires: None,
    };
    let (mut reader, mut writer) = tokio::io::split(io);
    let session = Session {
        hub: &hub,
        socket: &socket,
        token: start.token,
        times: Mutex::new(times),
        changed: Notify::new(),
    };
    session.greet();
    let reason = tokio::select! {
        result = session.write(&mut writer) => {
            if result.is_ok() {
                session.goodbye(&mut reader, &mut writer).await;
            }
            return;
        }
        reason = session.read(&mut reader) => reason,
        reason = session.clock() => Some(reason),
    };
    let Some(reason) = reason else { return };
    session.end(reason);
    // The reader is done; queued frames and the close frame are still sent.
    if let Ok(Ok(())) = timeout(hub.config().stall_timeout, session.write(&mut writer)).await {
        session.goodbye(&mut reader, &mut writer).await;
    }
}

struct Leave<'a> {
    hub: &'a Hub,
    socket: &'a Socket,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.hub.leave(self.socket);
    }
}

impl Session<'_> {
    fn greet(&self) {
        match self.socket.protocol {
            Protocol::Plain => {
                if let Some(token) = &self.token {
                    self.connect_plain(Some(token.clone()));
                }
            }
            Protocol::SocketIo => {
                let config = self.hub.config();
                let open = json!({
                    "sid": self.sid(),
                    "upgrades": [],
                    "pingInterval": config.ping_interval.as_millis() as u64,
                    "pingTimeout": config.ping_timeout.as_millis() as u64,
                    "maxPayload": 1_000_000,
                });
                self.say(&format!("0{open}"));
            }
        }
    }

    /// Reads messages; `None` when the connection broke and nothing can be sent.
    async fn read<R: AsyncRead + Unpin>(&self, reader: &mut R) -> Option<CloseReason> {
        let (mut decoder, mut buffer) = (Decoder::default(), BytesMut::new());
        loop {
            loop {
                match decoder.next(&mut buffer) {
                    Ok(Some(message)) => {
                        if let Err(reason) = self.hear(message) {
                            return Some(reason);
                        }
                    }
                    Ok(None) => break,
                    Err(reason) => return Some(reason),
                }
            }
            if buffer.is_empty() && buffer.capacity() > READ_CHUNK {
                buffer = BytesMut::new();
            }
            buffer.reserve(READ_CHUNK);
            match reader.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => self.times().heard = Instant::now(),
            }
        }
    }

    fn hear(&self, message: Incoming) -> Result<(), CloseReason> {
        match message {
            Incoming::Text(text) => self.answer(message::parse(self.socket.protocol, &text)),
            Incoming::Ping(payload) => self.send(frame::pong(&payload)),
            Incoming::Pong | Incoming::Binary => Ok(()),
            Incoming::Close => Err(CloseReason::NORMAL),
        }
    }

    fn answer(&self, request: Request) -> Result<(), CloseReason> {
        match request {
            Request::Connect { token, delta } => match self.socket.protocol {
                Protocol::Plain => self.connect_plain(token),
                Protocol::SocketIo => self.connect_socket_io(token, delta),
            },
            Request::Disconnect => self.dismiss(),
            Request::UnknownNamespace(name) => {
                self.say(&format!("44{name},{}", json!({ "message": "Invalid namespace" })));
            }
            Request::Ping(payload) => self.say(&format!("3{payload}")),
            Request::Ignore => {}
            Request::Malformed => return Err(CloseReason::BAD_PACKET),
        }
        Ok(())
    }

    /// Handles a token: the first admits; a later one renews, for the same user only. A bad first token ends
    /// the connection, a bad later one changes nothing.
    fn connect_plain(&self, token: Option<String>) {
        let before = self.socket.principal();
        let verified = token
            .as_deref()
            .ok_or("Unauthorized")
            .and_then(|token| self.verify(token));
        let verified = verified.and_then(|principal| match &before {
            Some(before) if before.user_id != principal.user_id => Err("The token belongs to another user"),
            Some(_) | None => Ok(principal),
        });
        match verified {
            Ok(principal) => {
                let data = json!({
                    "userId": &*principal.user_id,
                    "username": &*principal.username,
                    "expiresAt": principal.expires_at,
                });
                self.say_event("auth:ok", &data);
                self.admit(principal);
            }
            Err(message) => {
                self.say_event("auth:error", &json!({ "message": message }));
                if before.is_none() {
                    self.end(CloseReason::UNAUTHORIZED);
                }
            }
        }
    }

    fn connect_socket_io(&self, token: Option<String>, delta: bool) {
        if self.socket.principal().is_some() {
            return;
        }
        self.say(&format!("40{}", json!({ "sid": self.sid() })));
        let token = token.as_ref().or(self.token.as_ref());
        match token.ok_or("Unauthorized").and_then(|token| self.verify(token)) {
            Ok(principal) => {
                self.socket.take_deltas(delta);
                self.admit(principal);
            }
            Err(_) => {
                self.say("41");
                self.end(CloseReason::UNAUTHORIZED);
            }
        }
    }

    fn verify(&self, token: &str) -> Result<Arc<Principal>, &'static str> {
        match self.hub.verifier().verify(token) {
            Ok(principal) if self.hub.has_ended(&principal) => Err("Unauthorized"),
            Ok(principal) if self.hub.ctx().now() < principal.expires_at => Ok(Arc::new(principal)),
            Ok(_) => Err("Unauthorized"),
            Err(qm_kernel::TokenError::Unauthorized) => Err("Unauthorized"),
            Err(qm_kernel::TokenError::WrongType) => Err("Invalid token type"),
        }
    }

    fn admit(&self, principal: Arc<Principal>) {
        let left = self.time_left(principal.expires_at);
        let before = self.socket.admit(principal.clone(), self.hub.ctx().now());
        if self.hub.has_ended(&principal) {
            self.socket.ended.cancel();
        }
        self.hub.admitted(self.socket, before.is_none());
        let mut times = self.times();
        times.waiting_since = None;
        times.expires = Instant::now().checked_add(left);
        self.changed.notify_one();
    }

    fn time_left(&self, expires_at: Timestamp) -> Duration {
        expires_at.since(self.hub.ctx().now()) + self.hub.config().expiry_grace
    }

    /// Handles a client that leaves its namespace: it may come back with another token on the same
    /// connection.
    fn dismiss(&self) {
        if self.socket.principal().is_some() {
            // Counted first: the hub asks the socket if it is waiting when it leaves.
            self.hub.dismissed(self.socket);
            self.socket.set_principal(None);
            let mut times = self.times();
            times.waiting_since = Some(Instant::now());
            times.expires = None;
            self.changed.notify_one();
        }
    }

    /// Ends when a deadline passes (no token, no sign of life, expired token), when the user's sessions end,
    /// or when the server stops.
    async fn clock(&self) -> CloseReason {
        let mut closing = self.hub.closing();
        loop {
            match self.tick() {
                Ok(deadline) => tokio::select! {
                    () = sleep_until(deadline) => {}
                    () = self.changed.notified() => {}
                    () = self.socket.ended.cancelled() => {
                        self.dismiss();
                        return CloseReason::ENDED;
                    }
                    _ = closing.wait_for(|closing| *closing) => return CloseReason::GOING_AWAY,
                },
                Err(reason) => return reason,
            }
        }
    }

    /// Handles what is due; returns the next deadline.
    fn tick(&self) -> Result<Instant, CloseReason> {
        let config = self.hub.config();
        let now = Instant::now();
        let mut times = self.times();
        let mut next = Vec::with_capacity(3);
        if let Some(since) = times.waiting_since {
            next.push((since + config.connect_timeout, CloseReason::NO_AUTH));
        }
        if let Some(expires) = times.expires {
            next.push((expires, CloseReason::EXPIRED));
        }
        if times.pinged.is_some_and(|pinged| times.heard > pinged) {
            times.pinged = None;
        }
        if let Some(pinged) = times.pinged {
            next.push((pinged + config.ping_timeout, CloseReason::NO_PONG));
        } else if times.next_ping <= now {
            times.pinged = Some(now);
            times.next_ping = now + config.ping_interval;
            next.push((now + config.ping_timeout, CloseReason::NO_PONG));
            let ping = match self.socket.protocol {
                Protocol::Plain => frame::ping(),
                Protocol::SocketIo => frame::text(&[b"2"]),
            };
            self.send(ping)?;
        }
        if let Some((_, reason)) = next.iter().find(|(deadline, _)| *deadline <= now) {
            return Err(*reason);
        }
        let earliest = next.into_iter().map(|(deadline, _)| deadline).min();
        Ok(earliest.map_or(times.next_ping, |deadline| deadline.min(times.next_ping)))
    }

    /// Writes frames; ends well once the close frame is sent.
    async fn write<W: AsyncWrite + Unpin>(&self, writer: &mut W) -> io::Result<()> {
        let mut batch = Vec::new();
        loop {
            match self.socket.outbox.next(&mut batch).await {
                Next::Write => {}
                Next::Render(number) => {
                    let Some(topic) = self.hub.topic(number) else {
                        self.socket.outbox.forget(number);
                        continue;
                    };
                    let full = topic.full(self.socket.form());
                    if !self.socket.outbox.rendered(number, full.seq) {
                        continue;
                    }
                    // `full` is held until it is sent, so that other sockets share the same rendering.
                    batch.push(full.frame.clone());
                    self.write_all(writer, &mut batch).await?;
                    continue;
                }
                Next::Last(close) => {
                    batch.push(close);
                    return self.write_all(writer, &mut batch).await;
                }
            }
            self.write_all(writer, &mut batch).await?;
        }
    }

    async fn write_all<W: AsyncWrite + Unpin>(
        &self,
        writer: &mut W,
        batch: &mut Vec<Bytes>,
    ) -> io::Result<()> {
        let tally = self.hub.tally();
        tally.sent_frames.fetch_add(batch.len() as u64, Ordering::Relaxed);
        let mut from = 0;
        while from < batch.len() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = slices.len().min(batch.len() - from);
            for (slice, frame) in slices.iter_mut().zip(&batch[from..]) {
                *slice = IoSlice::new(frame);
            }
            let attempt = timeout(
                self.hub.config().stall_timeout,
                writer.write_vectored(&slices[..count]),
            )
            .await;
            let Ok(written) = attempt else {
                tally.stalled.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(
                    socket = self.socket.id,
                    "a realtime client reads nothing, it is closed"
                );
                return Err(io::ErrorKind::TimedOut.into());
            };
            let mut written = written?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            tally.sent_bytes.fetch_add(written as u64, Ordering::Relaxed);
            while from < batch.len() && written >= batch[from].len() {
                written -= batch[from].len();
                batch[from] = Bytes::new();
                from += 1;
            }
            if written > 0 {
                batch[from].advance(written);
            }
        }
        batch.clear();
        Ok(())
    }

    /// Reads until the client has closed too: closing at once could discard the last frames in transit.
    async fn goodbye<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(&self, reader: &mut R, writer: &mut W) {
        let _ = timeout(GOODBYE, async {
            let mut scrap = [0; 1024];
            if writer.shutdown().await.is_ok() {
                while matches!(reader.read(&mut scrap).await, Ok(1..)) {}
            }
        })
        .await;
    }

    fn end(&self, reason: CloseReason) {
        if matches!(reason, CloseReason::EXPIRED | CloseReason::ENDED)
            && self.socket.protocol == Protocol::SocketIo
        {
            self.say("41");
        }
        self.socket.outbox.finish(frame::close(reason));
    }

    fn say_event(&self, name: &str, data: &serde_json::Value) {
        let frame = message::event(self.socket.protocol, name, data.to_string().as_bytes());
        self.say_frame(frame);
    }

    fn say(&self, packet: &str) {
        self.say_frame(frame::text(&[packet.as_bytes()]));
    }

    fn say_frame(&self, frame: Bytes) {
        if let Err(reason) = self.send(frame) {
            self.end(reason);
        }
    }

    fn send(&self, frame: Bytes) -> Result<(), CloseReason> {
        if self.socket.outbox.control(frame) {
            Ok(())
        } else {
            Err(CloseReason::POLICY)
        }
    }

    /// An unguessable id, although it has no use: no other transport is offered.
    fn sid(&self) -> String {
        use base64::Engine;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(self.hub.ctx().bytes::<15>())
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().ignore_poison()
    }
}
