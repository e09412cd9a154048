//! Bounds on a caller that stops in the middle: of its request body, or of reading our answer. Silence is bounded,
//! not the total time, so a slow line may still upload a large file.

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

/// A request body that fails once nothing has come for `limit`.
pub(crate) struct TimedBody {
    inner: Body,
    alarm: Alarm,
}

impl TimedBody {
    pub(crate) fn new(inner: Body, limit: Duration) -> Self {
        Self {
            inner,
            alarm: Alarm::new(limit),
        }
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(frame) => {
                self.alarm.disarm();
                Poll::Ready(frame.map(|result| result.map_err(Into::into)))
            }
            Poll::Pending => {
                ready!(self.alarm.poll(cx));
                Poll::Ready(Some(Err(silent("the request body").into())))
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

/// A connection that fails once its peer has taken nothing for `limit` while something waits to be sent.
pub(crate) struct TimedIo<T> {
    inner: T,
    alarm: Alarm,
}

impl<T> TimedIo<T> {
    pub(crate) fn new(inner: T, limit: Duration) -> Self {
        Self {
            inner,
            alarm: Alarm::new(limit),
        }
    }

    fn watch<V>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<V>>) -> Poll<io::Result<V>> {
        if written.is_ready() {
            self.alarm.disarm();
            return written;
        }
        ready!(self.alarm.poll(cx));
        Poll::Ready(Err(silent("reading")))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for TimedIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for TimedIo<T> {
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

/// A timer that exists only while something is waited for.
struct Alarm {
    limit: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    armed: bool,
}

impl Alarm {
    fn new(limit: Duration) -> Self {
        Self {
            limit,
            sleep: None,
            armed: false,
        }
    }

    fn disarm(&mut self) {
        self.armed = false;
    }

    /// Ready once it has been polled for `limit` without a [`Alarm::disarm`] between.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let limit = self.limit;
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
