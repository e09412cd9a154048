//! Limit on open files of the process: each connection is one. A shell or a service manager often gives 1,024, but the
//! process may raise it itself.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Most connections at once, if there are enough descriptors.
const MOST_CONNECTIONS: u64 = 8192;
/// Descriptors kept for the rest: database, files, plugins, engines. At most half of a small limit.
const RESERVED: u64 = 1024;

/// The soft limit as it was found and as it is now; `None` is no limit.
#[must_use = "the log says what became of the limit, once the start has gone well"]
pub(crate) struct Raised {
    before: Option<u64>,
    now: Option<u64>,
    failure: Option<rustix::io::Errno>,
}

/// Raises the soft limit to the hard one.
pub(crate) fn raise() -> Raised {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: maximum,
        maximum,
    };
    let failure = (current != maximum)
        .then(|| setrlimit(Resource::Nofile, wanted).err())
        .flatten();
    Raised {
        before: current,
        now: getrlimit(Resource::Nofile).current,
        failure,
    }
}

impl Raised {
    /// Logs the change of the limit. It is called once the start has gone well: a start that fails logs only its own line.
    pub(crate) fn tell(&self) {
        let connections = connections_within(self.now);
        match self.failure {
            Some(error) => tracing::warn!(%error, "the limit on open files cannot be raised"),
            None => tracing::info!(
                before = shown(self.before),
                now = shown(self.now),
                connections,
                "open files: the soft limit is the hard one"
            ),
        }
        if (connections as u64) < MOST_CONNECTIONS {
            tracing::warn!(
                "open files are limited to {}, so connections are to {connections}: raise LimitNOFILE (ulimit -Hn)",
                shown(self.now)
            );
        }
    }
}

/// Number of connections that the limit leaves room for.
pub(crate) fn connections() -> usize {
    connections_within(getrlimit(Resource::Nofile).current)
}

/// Number of connections within a limit of open files; `None` is no limit.
fn connections_within(limit: Option<u64>) -> usize {
    let free = limit.map_or(MOST_CONNECTIONS, |limit| limit - RESERVED.min(limit / 2));
    free.min(MOST_CONNECTIONS) as usize
}

fn shown(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_the_rest() {
        for (limit, expected) in [
            (None, 8192),
            (Some(1_048_576), 8192),
            (Some(9216), 8192),
            (Some(4096), 3072),
            (Some(1024), 512),
            (Some(256), 128),
        ] {
            assert_eq!(connections_within(limit), expected, "{limit:?}");
        }
    }
}
