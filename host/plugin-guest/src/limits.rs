//! Limits on a plugin. One value for every plugin; the defaults are the product's.

use std::time::Duration;

/// Bounds on plugin files and instances. Bytes and durations.
#[derive(Clone, Debug)]
pub struct Limits {
    /// A plugin file.
    pub file_bytes: u64,
    /// Memory of one instance, what the host holds for it included.
    pub memory_bytes: usize,
    /// Memory of all instances together; a quarter of it is kept for first-party plugins.
    pub memory_total_bytes: usize,
    /// Computing time of one call; waiting does not count.
    pub cpu: Duration,
    /// Bytes of the arguments of one call of a host's function. Room for a torrent of 20 MiB in base64.
    pub argument_bytes: usize,
    /// Bytes of what one call of a plugin answers.
    pub transfer_bytes: usize,
    /// Bytes of one answer of a product.
    pub body_bytes: usize,
    /// Open connections of one instance, HTTP included.
    pub connections: usize,
    /// Handles and resource table entries of one instance.
    pub handles: usize,
    /// Calls that wait for a lane; one more is answered "busy".
    pub queue: usize,
    /// Time limit on a call in which no byte moves.
    pub silence: Duration,
    /// Time limit on `describe`, by which a file is tried before it is used.
    pub trial: Duration,
    /// Time limit on a poll, although bytes move.
    pub poll_total: Duration,
    /// Time limit on any other call, although bytes move.
    pub call_total: Duration,
    /// Time limit on the run of an action, although bytes move.
    pub run_total: Duration,
    /// Failures in a row that park a lane.
    pub strikes: u32,
    /// The longest pause before a lane tries again, and how long it must be well before its failures are forgotten.
    pub back_off: Duration,
    /// Bytes of memory that a compiling child may write to.
    pub compile_memory_bytes: u64,
    /// Computing time of one compilation, over all its threads.
    pub compile_cpu: Duration,
    /// Time limit on one compilation in all.
    pub compile_total: Duration,
    /// The machine code of one plugin.
    pub code_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 32 << 20,
            memory_bytes: 128 << 20,
            memory_total_bytes: 1 << 30,
            cpu: Duration::from_secs(3),
            argument_bytes: 32 << 20,
            transfer_bytes: 64 << 20,
            body_bytes: 64 << 20,
            connections: 8,
            handles: 4096,
            queue: 32,
            // More than connect (5 s) and silence (15 s) of the network together: the plugin gets to say what happened.
            silence: Duration::from_secs(25),
            trial: Duration::from_secs(5),
            poll_total: Duration::from_mins(10),
            call_total: Duration::from_mins(2),
            run_total: Duration::from_secs(30),
            strikes: 8,
            back_off: Duration::from_mins(1),
            compile_memory_bytes: 1 << 30,
            compile_cpu: Duration::from_mins(2),
            compile_total: Duration::from_mins(5),
            code_bytes: 512 << 20,
        }
    }
}
