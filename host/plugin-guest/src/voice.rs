//! Log lines of plugins, on their way to the log: bounded, on one line each, without the secrets the host gave them.
//!
//! Bounds: 4 KiB a line; 64 KiB in a burst and 4 KiB/s in the long run. What is over is dropped, counted, and reported
//! in one line at the end of the call.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use qm_lanes::IgnorePoison;
use serde_json::{Map, Value};
use tokio::io::AsyncWrite;
use tracing::Level;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Bytes of a line.
pub const LINE: usize = 4 << 10;
const BURST: f64 = 64.0 * 1024.0;
const PER_SECOND: f64 = 4.0 * 1024.0;
/// Bytes that a line costs beyond its own length, so that empty ones are not free.
const LINE_COST: usize = 64;

/// The secrets of one configuration, blotted out wherever a plugin repeats them.
#[derive(Clone, Default)]
pub struct Secrets(Arc<[String]>);

impl Secrets {
    /// The values that are `stored` as secrets, and those properties of `config` that `schema` calls `writeOnly`: a schema comes
    /// from the plugin, and a new one may call nothing so. Shorter ones than 4 characters would blot out half of every text and
    /// are left alone.
    pub fn gather(schema: &Value, config: &Map<String, Value>, stored: &[String]) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object);
        let secret = |property: &Value| {
            property
                .get("writeOnly")
                .and_then(Value::as_bool)
                .unwrap_or(false)
        };
        let texts = properties
            .into_iter()
            .flatten()
            .filter(|(_, property)| secret(property))
            .filter_map(|(name, _)| config.get(name).and_then(Value::as_str))
            .chain(stored.iter().map(String::as_str))
            .filter(|text| text.len() >= 4)
            .map(str::to_owned);
        Self(texts.collect())
    }

    pub fn blot(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| {
            if text.contains(secret.as_str()) {
                text.replace(secret.as_str(), qm_kernel::secret::MASK)
            } else {
                text
            }
        })
    }
}

/// The voice of one instance; clones are the same voice.
#[derive(Clone)]
pub struct Voice {
    who: Arc<Who>,
    flow: Arc<Mutex<Flow>>,
}

struct Who {
    plugin: String,
    owner: String,
    lane: &'static str,
    secrets: Secrets,
    dropped: Arc<AtomicU64>,
}

struct Flow {
    allowance: f64,
    at: Instant,
    dropped: u64,
    last_error: Option<String>,
}

impl Voice {
    /// `dropped` counts the lines dropped over the plugin's life.
    pub fn new(
        plugin: &str,
        owner: &str,
        lane: &'static str,
        secrets: Secrets,
        dropped: Arc<AtomicU64>,
    ) -> Self {
        let who = Who {
            plugin: plugin.to_owned(),
            owner: owner.to_owned(),
            lane,
            secrets,
            dropped,
        };
        let flow = Flow {
            allowance: BURST,
            at: Instant::now(),
            dropped: 0,
            last_error: None,
        };
        Self {
            who: Arc::new(who),
            flow: Arc::new(Mutex::new(flow)),
        }
    }

    fn flow(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock().ignore_poison()
    }

    /// One line of the plugin's.
    pub fn say(&self, level: Level, text: &str) {
        if self.may_say(text.len()) {
            self.say_now(level, text);
        }
    }

    /// Tells whether a line as long as this is logged now, for which it is paid; otherwise it is counted as dropped, and nobody
    /// need read it.
    pub fn may_say(&self, length: usize) -> bool {
        let cost = (length.min(LINE) + LINE_COST) as f64;
        let mut flow = self.flow();
        let now = Instant::now();
        flow.allowance = (flow.allowance + (now - flow.at).as_secs_f64() * PER_SECOND).min(BURST);
        flow.at = now;
        let may = flow.allowance >= cost;
        if may {
            flow.allowance -= cost;
        } else {
            flow.dropped += 1;
        }
        may
    }

    /// Logs a line that [`Self::may_say`] allowed.
    pub fn say_now(&self, level: Level, text: &str) {
        let line = self.who.secrets.blot(one_line(text, LINE));
        self.emit(level, &line);
        if level == Level::ERROR {
            self.flow().last_error = Some(line);
        }
    }

    /// Takes its allowance away for longer than a test runs.
    #[cfg(feature = "testing")]
    pub fn spend_all(&self) {
        self.flow().allowance = f64::from(i32::MIN);
    }

    fn emit(&self, level: Level, line: &str) {
        let Who {
            plugin, owner, lane, ..
        } = &*self.who;
        match level {
            Level::ERROR => tracing::error!(target: "plugin", plugin, owner, lane, "{line}"),
            Level::WARN => tracing::warn!(target: "plugin", plugin, owner, lane, "{line}"),
            Level::INFO => tracing::info!(target: "plugin", plugin, owner, lane, "{line}"),
            Level::DEBUG => tracing::debug!(target: "plugin", plugin, owner, lane, "{line}"),
            Level::TRACE => tracing::trace!(target: "plugin", plugin, owner, lane, "{line}"),
        }
    }

    /// Ends a call: reports what was dropped in it and gives the last error line, which says why a trap happened.
    pub fn settle(&self) -> Option<String> {
        let (dropped, last_error) = {
            let mut flow = self.flow();
            (std::mem::take(&mut flow.dropped), flow.last_error.take())
        };
        if dropped > 0 {
            self.who.dropped.fetch_add(dropped, Relaxed);
            self.emit(
                Level::WARN,
                &format!("{dropped} more log lines in this call were dropped"),
            );
        }
        last_error
    }

    /// Blots the configuration's secrets out of a text that leaves the plugin another way.
    pub fn blot(&self, text: String) -> String {
        self.who.secrets.blot(text)
    }
}

/// At most `max` bytes, control characters (line ends, terminal escapes, turns of direction) as blanks.
pub fn one_line(text: &str, max: usize) -> String {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end]
        .trim_end()
        .chars()
        .map(|c| if c.is_control() || turns(c) { ' ' } else { c })
        .collect()
}

/// Tells whether it changes the direction of what follows, so that a line reads as another one.
const fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Standard output and error of a plugin whose language runtime writes there: lines of the same voice.
pub struct Console(pub Voice, pub Level);

impl IsTerminal for Console {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Console {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.lines())
    }

    /// Written to within the call, on its meter: the stream the library would wrap around the one above hands what is
    /// written to a task of its own.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.lines())
    }
}

impl Console {
    fn lines(&self) -> Lines {
        Lines {
            voice: self.0.clone(),
            level: self.1,
            line: Vec::new(),
        }
    }
}

/// The most of one write. Only a line of it can be kept anyway.
const WRITE: usize = 16 << 10;

struct Lines {
    voice: Voice,
    level: Level,
    /// The begin of a line, at most [`LINE`] bytes.
    line: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = LINE - self.line.len();
            // What is over is left out: the line was cut at its end.
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if text.len() < piece.len() {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.voice.say(self.level, &String::from_utf8_lossy(&self.line));
            self.line.clear();
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.end_line();
    }
}

#[async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > WRITE {
            return Err(StreamError::trap(
                "more was written than the stream takes at once",
            ));
        }
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE)
    }
}

impl AsyncWrite for Lines {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end_line();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_cut_at_a_character_and_hold_no_control() {
        assert_eq!(one_line("a\nb\x1b[31mc\r\n", 100), "a b [31mc");
        assert_eq!(one_line("ääää", 3), "ä");
        let turned: String = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').collect();
        assert_eq!(
            one_line(&format!("a{turned}b\u{2065}"), 100),
            format!("a{}b\u{2065}", " ".repeat(9))
        );
    }

    #[test]
    fn a_flood_is_dropped_and_counted() {
        let dropped = Arc::new(AtomicU64::new(0));
        let voice = Voice::new("p", "e", "sync", Secrets::default(), dropped.clone());
        for _ in 0..10_000 {
            voice.say(Level::TRACE, &"x".repeat(10_000));
        }
        voice.settle();
        let kept = 10_000 - dropped.load(Relaxed);
        assert!((10..40).contains(&kept), "{kept} lines were kept");
        voice.settle();
        assert_eq!(10_000 - dropped.load(Relaxed), kept, "reported once");
    }

    #[test]
    fn secrets_are_blotted_out() {
        let schema =
            json!({"properties": {"password": {"writeOnly": true}, "pin": {"writeOnly": true}, "user": {}}});
        let config = json!({"password": "hunter22", "pin": "123", "user": "admin"});
        let secrets = Secrets::gather(&schema, config.as_object().unwrap(), &[]);
        assert_eq!(
            secrets.blot("admin:hunter22 123".to_owned()),
            "admin:•••••••• 123"
        );
        let replaced = json!({"properties": {"password": {}}});
        let stored = ["hunter22".to_owned()];
        let secrets = Secrets::gather(&replaced, config.as_object().unwrap(), &stored);
        assert_eq!(secrets.blot("admin:hunter22".to_owned()), "admin:••••••••");
    }
}
