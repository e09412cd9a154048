//! Check for newer versions: one request to the tag list of the configured repository. It never installs
//! anything, and without a repository it makes no request.
//!
//! The list is a JSON array of objects with a `name`; the newest name of the form `1.2.3` or `v1.2.3` counts.
//! Bounds: 10 s and 1 MiB per request, one request at a time, one a day automatically. The operator chooses
//! the address: it may be private, but never link-local or a cloud's metadata; redirects are not followed.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use qm_db::DbError;
use qm_kernel::{Caller, Permission, Timestamp, as_error};
use qm_lanes::IgnorePoison;
use qm_net::{Grants, HttpRequest, Net, Progress};
use qm_platform::{ActingError, AuditEntry, Background, Ground};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::settings::{UPDATE_CHECK, UpdateCheck};

const INTERVAL: Duration = Duration::from_hours(24);
const TOTAL: Duration = Duration::from_secs(10);
const MAX_LIST: usize = 1 << 20;
/// Reason why the check stays off although it was switched on.
const NOBODY: &str =
    "UPDATE_CHECK_URL is not set: there is no repository to ask. Set it and start the server again";

/// Dependencies of the check.
pub struct UpdateDeps {
    pub ground: Ground,
    pub net: Net,
    /// `UPDATE_CHECK_URL`; `None`: no repository is configured.
    pub url: Option<String>,
    /// Version of the running server.
    pub current: &'static str,
}

/// The check for newer versions. Cheap to clone.
#[derive(Clone)]
pub struct Updates(Arc<Inner>);

struct Inner {
    deps: UpdateDeps,
    /// Result of the last check.
    found: Mutex<Found>,
    /// Held during a check.
    looking: tokio::sync::Mutex<()>,
    wanted: Notify,
    /// Time limit of a check.
    total: Duration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    /// Kept after a failed check.
    latest: Option<Version>,
    at: Option<Timestamp>,
    error: Option<String>,
}

/// State of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub current: &'static str,
    pub latest: Option<String>,
    pub available: bool,
    pub container: bool,
    pub enabled: bool,
    pub checked_at: Option<Timestamp>,
    pub error: Option<String>,
}

impl Updates {
    pub fn new(deps: UpdateDeps) -> Self {
        Self::with_total(deps, TOTAL)
    }

    fn with_total(deps: UpdateDeps, total: Duration) -> Self {
        Self(Arc::new(Inner {
            deps,
            found: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            wanted: Notify::new(),
            total,
        }))
    }

    /// Checks at the start, once a day, and when the check is switched on; each time only if it is on.
    pub fn start(&self, background: &Background) {
        if self.0.deps.url.is_none() {
            return;
        }
        let updates = self.clone();
        background.supervise("update_check", INTERVAL, move |stop| updates.clone().run(stop));
    }

    async fn run(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let work = async {
            loop {
                tokio::select! {
                    _ = ticks.tick() => {}
                    () = self.0.wanted.notified() => {}
                }
                match self.is_enabled().await {
                    Ok(true) => self.look().await,
                    Ok(false) => {}
                    Err(error) => {
                        let error = as_error(&error);
                        tracing::warn!(error, "it is not known whether to look for updates");
                    }
                }
            }
        };
        stop.run_until_cancelled(work).await;
    }

    pub async fn standing(&self) -> Result<Standing, DbError> {
        Ok(self.stand(self.is_enabled().await?))
    }

    /// Checks now, even if the check is switched off.
    pub async fn check(&self) -> Result<Standing, DbError> {
        let enabled = self.is_enabled().await?;
        self.look().await;
        Ok(self.stand(enabled))
    }

    /// Switches the check on or off. Switching on starts a check in the background; without a configured
    /// repository the answer holds an error.
    pub async fn switch(&self, enabled: bool, caller: Caller<'_>) -> Result<Standing, ActingError> {
        let deps = &self.0.deps;
        let setting = &UPDATE_CHECK;
        let mut tx = deps.ground.db.begin_write().await?;
        let needed = [Permission::SystemManage];
        let actor = deps
            .ground
            .acting
            .judge(&mut tx, caller.principal, &needed)
            .await?;
        deps.ground
            .settings
            .put(&mut tx, setting, &UpdateCheck { enabled })
            .await?;
        let entry = AuditEntry {
            object_type: Some("setting"),
            object_id: Some(setting.key.to_owned()),
            metadata: Some(json!({ "keys": [setting.key], "enabled": enabled })),
            ..actor.entry("settings.update", caller.client)
        };
        deps.ground.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        if enabled {
            self.0.wanted.notify_one();
        }
        let mut standing = self.stand(enabled);
        if enabled && deps.url.is_none() {
            standing.error = Some(NOBODY.to_owned());
        }
        Ok(standing)
    }

    async fn is_enabled(&self) -> Result<bool, DbError> {
        let mut tx = self.0.deps.ground.db.begin_read().await?;
        let setting = self.0.deps.ground.settings.get(&mut tx, &UPDATE_CHECK).await?;
        Ok(setting.enabled)
    }

    fn stand(&self, enabled: bool) -> Standing {
        let deps = &self.0.deps;
        let found = self.found().clone();
        let newer = |latest| Version::parse(deps.current).is_some_and(|current| latest > current);
        Standing {
            current: deps.current,
            available: found.latest.is_some_and(newer),
            latest: found.latest.map(|version| version.to_string()),
            container: is_container(),
            // Always off without a repository.
            enabled: enabled && deps.url.is_some(),
            checked_at: found.at,
            error: found.error,
        }
    }

    async fn look(&self) {
        let Some(url) = &self.0.deps.url else {
            return;
        };
        let _alone = self.0.looking.lock().await;
        let outcome = self.newest(url).await;
        let mut found = self.found();
        found.at = Some(self.0.deps.ground.ctx.now());
        match outcome {
            Ok(latest) => {
                found.latest = latest;
                found.error = None;
            }
            Err(error) => {
                tracing::warn!(%error, "the check for updates failed");
                found.error = Some(error);
            }
        }
    }

    /// The newest version in the list. The error never holds the URL, which may hold a token.
    async fn newest(&self, url: &str) -> Result<Option<Version>, String> {
        let body = tokio::time::timeout(self.0.total, self.fetch(url))
            .await
            .unwrap_or_else(|_| Err("The repository did not answer in time".to_owned()))?;
        let tags: Vec<Tag> = serde_json::from_slice(&body)
            .map_err(|_| "The repository's answer is no list of tags".to_owned())?;
        Ok(tags.iter().filter_map(|tag| Version::parse(&tag.name)).max())
    }

    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        let deps = &self.0.deps;
        let grants = Grants::of_url("UPDATE_CHECK_URL", url)?;
        let header = |name: &str, value: String| (name.to_owned(), value.into_bytes());
        let request = HttpRequest {
            method: "GET".to_owned(),
            url: url.to_owned(),
            headers: vec![
                header("accept", "application/json".to_owned()),
                header("user-agent", format!("quartermaster/{}", deps.current)),
            ],
            body: Bytes::new(),
            idle: self.0.total,
            max_body: MAX_LIST,
        };
        let failed = |error: qm_net::DialError| format!("The repository cannot be asked: {error}");
        let sent = deps
            .net
            .dialer()
            .send(request, &grants, Progress::default())
            .await;
        let mut response = sent.map_err(failed)?;
        match response.status() {
            200 => response.read_to_end().await.map_err(failed),
            status => Err(format!("The repository answered {status}")),
        }
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.found.lock().ignore_poison()
    }
}

/// True when the server runs in a container of any runtime.
fn is_container() -> bool {
    Machine {
        exists: &|file| Path::new(file).exists(),
        read: &|file| std::fs::read_to_string(file).unwrap_or_default(),
        has_variable: &|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()),
    }
    .is_container()
}

/// View of the machine's files and variables.
struct Machine<'a> {
    exists: &'a dyn Fn(&str) -> bool,
    read: &'a dyn Fn(&str) -> String,
    has_variable: &'a dyn Fn(&str) -> bool,
}

impl Machine<'_> {
    /// Docker and Podman leave a file in every container; Kubernetes, LXC and systemd-nspawn a variable; all
    /// of them show in the mounts of the root directory, or in the control group of the first process.
    fn is_container(&self) -> bool {
        const MARKS: &[&str] = &["/.dockerenv", "/run/.containerenv"];
        const VARIABLES: &[&str] = &["container", "KUBERNETES_SERVICE_HOST"];
        const RUNTIMES: &[&str] = &[
            "/docker",
            "/containerd",
            "/containers/",
            "/kubepods",
            "/libpod",
            "/lxc/",
            "/crio",
        ];
        let names_runtime = |text: &str| RUNTIMES.iter().any(|runtime| text.contains(runtime));
        // The fifth field is the mount point.
        let is_root = |mount: &&str| mount.split(' ').nth(4) == Some("/");
        MARKS.iter().any(|file| (self.exists)(file))
            || VARIABLES.iter().any(|name| (self.has_variable)(name))
            || (self.read)("/proc/self/mountinfo")
                .lines()
                .filter(is_root)
                .any(names_runtime)
            || (self.read)("/proc/1/cgroup").lines().any(names_runtime)
    }
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

/// Three numbers, compared in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u64, u64, u64);

impl Version {
    /// Parses `1.2.3` or `v1.2.3`; any other form, such as a release candidate, is ignored.
    fn parse(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix('v').unwrap_or(name).split('.').map(|part| {
            let digits = part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse().ok()).flatten()
        });
        let version = Self(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(version)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests;
