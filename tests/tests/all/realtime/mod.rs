//! The realtime channel.

mod channel;
