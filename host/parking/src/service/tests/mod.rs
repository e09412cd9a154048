//! Tests of sweeps over both databases, with clients in memory and a clock that stands still.

mod odds;
mod probes;
