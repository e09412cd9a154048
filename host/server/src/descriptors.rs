//! How many files the process may have open at once: each connection is one. What a shell or a service manager gives is
//! often 1,024, though the process may raise it by itself.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Connections at once, where there are descriptors for as many.
const MOST_CONNECTIONS: u64 = 8192;
/// Kept for the rest: database, files, plugins, engines. Half of a small number.
const RESERVED: u64 = 1024;

/// Raises the soft limit to the hard one and says so in the log.
pub(crate) fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let wanted = Rlimit {
            current: maximum,
            maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, wanted) {
            tracing::warn!(%error, "the limit on open files cannot be raised");
        }
    }
    let now = getrlimit(Resource::Nofile).current;
    let connections = connections_within(now);
    tracing::info!(
        before = shown(current),
        now = shown(now),
        connections,
        "open files: the soft limit is raised to the hard one"
    );
    if (connections as u64) < MOST_CONNECTIONS {
        tracing::warn!(
            "open files are limited to {}, so connections are to {connections}: raise LimitNOFILE (ulimit -Hn)",
            shown(now)
        );
    }
}

/// Connections that the limit leaves room for.
pub(crate) fn connections() -> usize {
    connections_within(getrlimit(Resource::Nofile).current)
}

/// `None` is no limit.
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
