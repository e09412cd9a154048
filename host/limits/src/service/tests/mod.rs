//! Tests of use cases over both databases, with a client in memory and a clock that stands still.

mod acts;
mod sharing;
mod speeds;
