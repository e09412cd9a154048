//! Statistics of this process and its machine from `/proc`. Values that cannot be read are zero.

/// This process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    /// Memory in use, in bytes.
    pub resident_bytes: u64,
    /// CPU seconds since the start, over all threads.
    pub cpu_seconds: f64,
    /// Open file descriptors, including sockets.
    pub descriptors: u64,
    pub threads: u64,
}

impl Process {
    pub fn read() -> Self {
        let read = |name: &str| std::fs::read_to_string(name).unwrap_or_default();
        let (resident_bytes, threads) = memory_and_threads(&read("/proc/self/status"));
        let descriptors = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64;
        Self {
            resident_bytes,
            cpu_seconds: cpu_ticks(&read("/proc/self/stat")) as f64
                / rustix::param::clock_ticks_per_second() as f64,
            // One of them is the directory that was just read.
            descriptors: descriptors.saturating_sub(1),
            threads,
        }
    }
}

/// Load of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Averages over 1, 5 and 15 minutes.
    pub averages: [f64; 3],
    pub cpus: usize,
}

impl Load {
    pub fn read() -> Self {
        Self {
            averages: averages(&std::fs::read_to_string("/proc/loadavg").unwrap_or_default()),
            cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        }
    }
}

fn memory_and_threads(status: &str) -> (u64, u64) {
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
    };
    (number("VmRSS:") * 1024, number("Threads:"))
}

/// User and system time in clock ticks. The program name before them may hold any text and ends at the last
/// parenthesis.
fn cpu_ticks(stat: &str) -> u64 {
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let times = fields.split_whitespace().skip(11).take(2);
    times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn averages(text: &str) -> [f64; 3] {
    let mut numbers = text
        .split_whitespace()
        .map(|number| number.parse().unwrap_or(0.0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_the_system_are_read() {
        let status = "Name:\tx\nVmPeak:\t  900 kB\nVmRSS:\t   1234 kB\nThreads:\t7\n";
        assert_eq!(memory_and_threads(status), (1234 * 1024, 7));
        let stat = "12 (a ) b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 7";
        assert_eq!(cpu_ticks(stat), 300);
        let shown = |text| averages(text).map(|number| number.to_string());
        assert_eq!(shown("0.52 1.25 3.00 1/234 5678\n"), ["0.52", "1.25", "3"]);
        for nonsense in ["", "no numbers here", ")"] {
            assert_eq!(memory_and_threads(nonsense), (0, 0));
            assert_eq!(cpu_ticks(nonsense), 0);
            assert_eq!(shown(nonsense), ["0", "0", "0"]);
        }
    }

    #[test]
    fn this_process_has_memory_files_and_threads() {
        let before = Process::read();
        assert!(before.resident_bytes > 1 << 20, "{before:?}");
        assert!(before.descriptors > 0 && before.threads > 0, "{before:?}");
        assert!(Load::read().cpus > 0);
    }
}
