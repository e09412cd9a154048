//! The contract tests of the role `engine`, for `plugin check`. None of them changes anything at the target.

use futures_util::future::BoxFuture;
use qm_plugin_host::Check;
use qm_plugin_host::role::{Answer, SessionTrial, Trial, note, word};
use qm_ports::engine::*;

use super::{More, Session, open};

/// No product has a torrent of this hash.
const NOBODY: &str = "00000000000000000000000000000000000000ff";

/// Runs them all against the engine that the target configures.
pub(super) async fn run(trial: Trial) -> Vec<Check> {
    let contract = Contract {
        session: SessionTrial::new(trial, open),
        listed: None,
        checks: Vec::new(),
    };
    contract.run().await
}

/// The tests under way.
struct Contract {
    session: SessionTrial<Session>,
    /// A torrent the target has.
    listed: Option<String>,
    checks: Vec<Check>,
}

/// The plugin's word, or the reason why there was none.
type Heard<T> = qm_plugin_host::role::Heard<T, EngineError>;

impl Contract {
    async fn run(mut self) -> Vec<Check> {
        let opened = self.session.open().await;
        let ready = opened.is_ok();
        self.note(
            "it opens a session with this configuration",
            opened.map(|()| String::new()),
        );
        if ready {
            self.product().await;
            self.polls().await;
            self.strangers().await;
            self.names().await;
            self.optional().await;
        }
        if let Some(closed) = self.session.close().await {
            self.note("it closes its session", closed.map(|()| String::new()));
        }
        self.checks
    }

    fn note(&mut self, name: &'static str, result: Result<String, String>) {
        note(&mut self.checks, name, result);
    }

    async fn ask<T>(
        &mut self,
        work: impl for<'s> FnOnce(&'s mut Session) -> BoxFuture<'s, Answer<T, EngineError>>,
    ) -> Heard<T> {
        self.session.call(work).await
    }

    async fn product(&mut self) {
        let heard = self.ask(|session| session.health()).await;
        let health = word(heard).and_then(|health| {
            if health.version.is_empty() {
                Err("the version is empty".to_owned())
            } else {
                Ok(health.version)
            }
        });
        self.note("health tells the product's version", health);
        let stats = self.ask(|session| session.session_stats()).await;
        self.note(
            "session-stats answers",
            word(stats).map(|stats| stats.engine_version),
        );
    }

    async fn polls(&mut self) {
        let first = word(
            self.ask(|session| session.poll(None, Attention::Watched, Vec::new()))
                .await,
        );
        let full = match &first {
            Ok(delta) => unique(delta).map(|()| format!("{} torrents", delta.changed.len())),
            Err(why) => Err(why.clone()),
        };
        self.note("a first poll gives every torrent once", full);
        let Ok(first) = first else { return };
        self.listed = first.changed.first().map(|torrent| torrent.hash.to_string());
        let cursor = first.cursor;
        let next = self.follow(&first, cursor, Attention::Watched).await;
        let followed = next.as_ref().map(|(cursor, _)| *cursor).ok();
        let next = next.map(|(_, what)| what);
        self.note("a poll with that cursor gives what changed", next);
        let Some(cursor) = followed else { return };
        let quiet = self.follow(&first, cursor, Attention::Quiet).await;
        self.note("so does a quiet one", quiet.map(|(_, what)| what));
    }

    /// Polls for what changed since `cursor`; the next cursor, and what it came to.
    async fn follow(
        &mut self,
        first: &Delta,
        cursor: u64,
        attention: Attention,
    ) -> Result<(u64, String), String> {
        // One that it has, and one that it has not.
        let fresh: Vec<String> = self.listed.iter().cloned().chain([NOBODY.to_owned()]).collect();
        let delta = word(
            self.ask(move |session| session.poll(Some(cursor), attention, fresh))
                .await,
        )?;
        let known = |hash: &String| first.changed.iter().any(|torrent| *torrent.hash == **hash);
        if delta.full {
            // Allowed: such a plugin keeps nothing.
            unique(&delta)?;
            let what = format!(
                "everything again, {} torrents: fine up to some thousand",
                delta.changed.len()
            );
            return Ok((delta.cursor, what));
        }
        if let Some(hash) = delta.removed.iter().find(|hash| !known(hash)) {
            return Err(format!("it removed {hash}, which it had not listed"));
        }
        unique(&delta)?;
        let what = format!("{} changed, {} removed", delta.changed.len(), delta.removed.len());
        Ok((delta.cursor, what))
    }

    async fn strangers(&mut self) {
        let got = word(self.ask(|session| session.get(NOBODY.to_owned())).await);
        let got = got.and_then(|found| found.map_or(Ok(String::new()), |_| Err("it found one".to_owned())));
        self.note("get of an unknown torrent gives none", got);
        let files = self
            .ask(|session| session.files(NOBODY.to_owned()))
            .await
            .map(|word| word.map(drop));
        self.note("files of an unknown torrent are not found", missing(files));
        let peers = self
            .ask(|session| session.peers(NOBODY.to_owned()))
            .await
            .map(|word| word.map(drop));
        self.note("peers of an unknown torrent are not found", missing(peers));
        let trackers = self
            .ask(|session| session.trackers(NOBODY.to_owned()))
            .await
            .map(|word| word.map(drop));
        self.note("trackers of an unknown torrent are not found", missing(trackers));
        let started = self
            .ask(|session| session.run(vec![NOBODY.to_owned()], Command::Start))
            .await;
        let started =
            word(started).and_then(|outcomes| match outcomes.first().map(|outcome| &outcome.result) {
                Some(Err(error)) => Ok(error.to_string()),
                _ => Err("it said that it was done".to_owned()),
            });
        self.note("a command to an unknown torrent fails", started);
        let hash = self.listed.clone().unwrap_or_else(|| NOBODY.to_owned());
        let other = self
            .ask(|session| session.run_other(vec![hash], "no-such-command", "{}"))
            .await;
        let refused = match other {
            // A plugin may refuse the call as a whole, or each torrent, where it may look for the torrent first.
            Ok(Ok(outcomes)) => match outcomes.into_iter().map(|outcome| outcome.result).next() {
                Some(Err(EngineError::NotFound(_))) if self.listed.is_none() => Ok(String::new()),
                Some(result) => unsupported(Ok(result)),
                None => Err("it said nothing".to_owned()),
            },
            heard => unsupported(heard),
        };
        self.note("an unknown command is unsupported", refused);
    }

    /// Labels and tags: what no torrent has is asked for, and of a torrent that is there nothing is changed.
    async fn names(&mut self) {
        let label = Command::SetLabel {
            label: "label".to_owned(),
        };
        let heard = self.command(NOBODY, label).await;
        let refused = match heard {
            Ok(Err(EngineError::Unsupported(text))) => Ok(text),
            heard => missing(heard),
        };
        self.note("a label for an unknown torrent is not found", refused);
        let unknown = self.tags(NOBODY, &["tag".to_owned()]).await;
        self.note("tags of an unknown torrent are refused", unknown);
        if let Some(listed) = self.listed.clone() {
            let none = self.tags(&listed, &[]).await;
            self.note("a list of no tags is as the capabilities say", none);
        }
    }

    /// Adds and removes `tags`: none of a torrent that is there, or some of one that is not.
    async fn tags(&mut self, hash: &str, tags: &[String]) -> Result<String, String> {
        let (keeps, is_there) = (self.has(capability::TAGS), tags.is_empty());
        let tags = tags.to_vec();
        for command in [
            Command::AddTags { tags: tags.clone() },
            Command::RemoveTags { tags },
        ] {
            let heard = self.command(hash, command).await;
            match heard {
                // Also one without tags may look for the torrent first.
                heard @ Ok(Err(EngineError::NotFound(_))) if !is_there => missing(heard),
                heard if !keeps => unsupported(heard),
                heard if is_there => word(heard).map(|()| String::new()),
                heard => missing(heard),
            }?;
        }
        Ok(String::new())
    }

    /// Result for the one hash, or of the call.
    async fn command(&mut self, hash: &str, command: Command) -> Heard<()> {
        let hashes = vec![hash.to_owned()];
        let heard = self.ask(move |session| session.run(hashes, command)).await?;
        match heard {
            Ok(outcomes) => match outcomes.into_iter().next() {
                Some(outcome) => Ok(outcome.result),
                None => Err("it said nothing".to_owned()),
            },
            Err(error) => Ok(Err(error)),
        }
    }

    fn has(&self, word: &str) -> bool {
        let capabilities = &self.session.about().capabilities;
        capabilities.iter().any(|capability| capability == word)
    }

    async fn optional(&mut self) {
        let (limits, totals) = (
            self.has(capability::GLOBAL_LIMITS),
            self.has(capability::ALL_TIME),
        );
        let heard = self.ask(|session| session.rate_limits(RateMode::Normal)).await;
        let result = if limits {
            word(heard).map(|_| String::new())
        } else {
            unsupported(heard)
        };
        self.note("get-rate-limits is as the capabilities say", result);
        let heard = word(self.ask(|session| session.all_time()).await);
        let result = heard.and_then(|counters| match (counters.is_some(), totals) {
            (true, true) | (false, false) => Ok(String::new()),
            (given, _) => Err(format!("given: {given}, declared: {totals}")),
        });
        self.note("all-time is as the capabilities say", result);
        self.more().await;
    }

    /// Reads what a capability stands for: it answers with it, and refuses without.
    async fn more(&mut self) {
        for (name, capability, question) in [
            (
                "list-categories is as the capabilities say",
                capability::CATEGORIES,
                More::Categories,
            ),
            (
                "get-rate-mode is as the capabilities say",
                capability::ALTERNATIVE_LIMITS,
                More::RateMode,
            ),
            (
                "preferences-schema is as the capabilities say",
                capability::PREFERENCES,
                More::PreferencesSchema,
            ),
            (
                "get-preferences is as the capabilities say",
                capability::PREFERENCES,
                More::Preferences,
            ),
            (
                "get-banned-peers is as the capabilities say",
                capability::BANNED_PEERS,
                More::BannedPeers,
            ),
        ] {
            let has = self.has(capability);
            let heard = self.ask(move |session| session.ask_more(question)).await;
            let result = if has {
                word(heard).map(|_| String::new())
            } else {
                unsupported(heard)
            };
            self.note(name, result);
        }
        let has = self.has(capability::EXPORT);
        let heard = self
            .ask(|session| session.ask_more(More::Export(NOBODY.to_owned())))
            .await;
        let result = match heard {
            heard if !has => unsupported(heard),
            heard => missing(heard.map(|answer| answer.map(drop))),
        };
        self.note("export-metainfo of an unknown torrent is refused", result);
    }
}

fn missing(heard: Heard<()>) -> Result<String, String> {
    match heard? {
        Err(EngineError::NotFound(Subject::Torrent)) => Ok(String::new()),
        Err(other) => Err(format!("it answered: {other}")),
        Ok(()) => Err("it gave some".to_owned()),
    }
}

fn unsupported<T>(heard: Heard<T>) -> Result<String, String> {
    match heard? {
        Err(EngineError::Unsupported(text)) => Ok(text),
        Err(other) => Err(format!("it answered: {other}")),
        Ok(_) => Err("it accepted".to_owned()),
    }
}

fn unique(delta: &Delta) -> Result<(), String> {
    let mut seen = std::collections::HashSet::new();
    match delta.changed.iter().find(|torrent| !seen.insert(&*torrent.hash)) {
        Some(twice) => Err(format!("{} is listed twice", twice.hash)),
        None => Ok(()),
    }
}
