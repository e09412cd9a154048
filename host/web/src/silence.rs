//! Limits on a caller that stops within its request body, or stops reading our answer.
//!
//! A request body may be silent for as long as its owner allows, and from its second minute on it must have
//! come at 4 KiB a second on average: single bytes hold a connection for at most a minute, while a slow line
//! may still upload a large file. So 16 KiB take at most 64 s, 1 MiB 316 s. Of an answer only silence is
//! limited: media players read as slowly as they play.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Time without a check of the average rate.
const GRACE: Duration = Duration::from_mins(1);
/// Lowest average rate after that, in bytes per second.
const SLOWEST: u64 = 4096;

/// A request body that fails after too much silence, or at too low a rate.
pub(crate) struct TimedBody {
    inner: Body,
    silence: Duration,
    alarm: Alarm,
    /// Time of the first read.
    began: Option<Instant>,
    /// Bytes.
    received: u64,
}

impl TimedBody {
    pub(crate) fn new(inner: Body, silence: Duration) -> Self {
        Self {
            inner,
            silence,
            alarm: Alarm::new(),
            began: None,
            received: 0,
        }
    }

    /// Deadline for the next part of the body.
    fn due(&self, began: Instant) -> Instant {
        began + GRACE + Duration::from_millis(self.received.saturating_mul(1000) / SLOWEST)
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        let due = self.due(began);
        match Pin::new(&mut self.inner).poll_frame(cx) {
            // Also where every poll finds a byte.
            Poll::Ready(Some(Ok(_))) if now > due => Poll::Ready(Some(Err(too_slow().into()))),
            Poll::Ready(frame) => {
                self.alarm.disarm();
                let data = frame.as_ref().and_then(|result| result.as_ref().ok()?.data_ref());
                self.received += data.map_or(0, |data| data.len() as u64);
                Poll::Ready(frame.map(|result| result.map_err(Into::into)))
            }
            Poll::Pending => {
                let until_due = due.saturating_duration_since(now);
                let limit = self.silence.min(until_due);
                ready!(self.alarm.poll(cx, limit));
                let error = if until_due > Duration::ZERO && Instant::now() < due {
                    silent("the request body")
                } else {
                    too_slow()
                };
                Poll::Ready(Some(Err(error.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A connection that fails once its peer has read nothing for `limit` while data is waiting.
///
/// It owns `held` for its whole life: an upgraded connection outlives the code that accepted it.
pub(crate) struct TimedIo<T, H = ()> {
    inner: T,
    limit: Duration,
    alarm: Alarm,
    _held: H,
}

impl<T, H> TimedIo<T, H> {
    pub(crate) fn new(inner: T, limit: Duration, held: H) -> Self {
        Self {
            inner,
            limit,
            alarm: Alarm::new(),
            _held: held,
        }
    }

    fn watch<V>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<V>>) -> Poll<io::Result<V>> {
        if written.is_ready() {
            self.alarm.disarm();
            return written;
        }
        ready!(self.alarm.poll(cx, self.limit));
        Poll::Ready(Err(silent("reading")))
    }
}

impl<T: AsyncRead + Unpin, H: Unpin> AsyncRead for TimedIo<T, H> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin, H: Unpin> AsyncWrite for TimedIo<T, H> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.watch(cx, ended)
    }
}

fn silent(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("the peer fell silent in the middle of {what}"),
    )
}

fn too_slow() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("the request body came at less than {SLOWEST} bytes a second"),
    )
}

/// A timer that exists only while something is awaited.
struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    armed: bool,
}

impl Alarm {
    const fn new() -> Self {
        Self {
            sleep: None,
            armed: false,
        }
    }

    fn disarm(&mut self) {
        self.armed = false;
    }

    /// Ready once it has been polled for `limit` without [`Alarm::disarm`]; only the limit of the first poll
    /// counts.
    fn poll(&mut self, cx: &mut Context<'_>, limit: Duration) -> Poll<()> {
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        if !self.armed {
            self.armed = true;
            sleep.as_mut().reset(Instant::now() + limit);
        }
        sleep.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};
    use http_body_util::BodyExt;

    use super::*;

    const SILENCE: Duration = Duration::from_secs(30);

    /// `count` pieces of `size` bytes, one every `pause`: true for a complete body, and the seconds it took.
    async fn read(count: usize, size: usize, pause: Duration) -> (bool, u64) {
        let pieces = stream::iter(0..count).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, io::Error>(Bytes::from(vec![b'x'; size]))
        });
        let start = Instant::now();
        let whole = TimedBody::new(Body::from_stream(pieces), SILENCE).collect().await;
        (whole.is_ok(), start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_be_slow_but_not_for_ever() {
        for (count, size, pause, expected) in [
            // Single bytes, within the allowed silence.
            (1000, 1, Duration::from_secs(29), (false, 60)),
            (1_000_000, 1, Duration::from_millis(100), (false, 60)),
            // Silence ends it sooner.
            (2, 1, Duration::from_secs(31), (false, 30)),
            // Slow but steady: 25 MiB at 5 KiB a second.
            (5120, 5120, Duration::from_secs(1), (true, 5120)),
            // Short enough for any rate.
            (2, 1, Duration::from_secs(29), (true, 58)),
        ] {
            assert_eq!(
                read(count, size, pause).await,
                expected,
                "{count} × {size} every {pause:?}"
            );
        }
    }
}
