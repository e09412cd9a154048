//! The area with feed sites and torrent clients in memory; no background loop runs.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use qm_db::{Db, Tx, all, sql};
use qm_kernel::{Caller, ClientInfo, Ctx, Permission, PermissionSet, Principal, Role, Timestamp};
use qm_matching::CandidateDraft;
use qm_platform::testing::{self, Claims};
use qm_platform::{Acting, ActingError, Actor};
use qm_ports::feed::{FeedSource, FetchError, Fetched, Validators};
use qm_ports::intake::{HashJudge, IntakeError, NewTorrent, TakenTorrent, TorrentIntake};
use qm_ports::shows::{AiringStatus, ShowError, ShowSnapshot, ShowStatuses};
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{Hands, Heard, NoTokens, START_MS, client, principal};
use serde_json::{Value, json};

use crate::model::feed::Feed;
use crate::model::history::HistoryItem;
use crate::model::rule::{Rule, RuleChange};
use crate::service::{Rss, RssDeps};

sql! {
    AUDITED = "SELECT COALESCE(metadata, 'null') FROM audit_logs WHERE action = $1 ORDER BY created_at, id";
}

/// Feed documents by address; an address without a document is unreachable.
#[derive(Default)]
pub struct Sites {
    pub documents: Mutex<HashMap<String, String>>,
    pub faults: Mutex<HashMap<String, FetchError>>,
    /// Requested addresses, each with the version (ETag) that was sent.
    pub asked: Mutex<Vec<(String, Option<String>)>>,
    /// Time of each request.
    pub asked_at: Mutex<Vec<Instant>>,
}

impl Sites {
    /// Serves these items at `url`; the version of the document is its own text.
    pub fn show(&self, url: &str, items: &[String]) {
        let text = format!(
            "<rss version=\"2.0\"><channel><title>t</title>{}</channel></rss>",
            items.join("")
        );
        self.documents.lock().unwrap().insert(url.to_owned(), text);
    }
}

/// An item with a magnet link of this hash.
pub fn item(guid: &str, title: &str, hash: &str) -> String {
    format!("<item><guid>{guid}</guid><title>{title}</title><link>magnet:?xt=urn:btih:{hash}</link></item>")
}

/// An item whose link is the address of a .torrent file.
pub fn linked(guid: &str, title: &str, link: &str) -> String {
    format!("<item><guid>{guid}</guid><title>{title}</title><link>{link}</link></item>")
}

pub fn hash(n: u8) -> String {
    format!("{n:02x}").repeat(20)
}

#[async_trait]
impl FeedSource for Sites {
    async fn fetch(&self, url: &str, validators: &Validators) -> Result<Fetched, FetchError> {
        self.asked
            .lock()
            .unwrap()
            .push((url.to_owned(), validators.etag.clone()));
        self.asked_at.lock().unwrap().push(Instant::now());
        if let Some(fault) = self.faults.lock().unwrap().get(url) {
            return Err(fault.clone());
        }
        let document = self.documents.lock().unwrap().get(url).cloned();
        let Some(text) = document else {
            return Err(FetchError::Unreachable("`feeds.test` does not answer".into()));
        };
        let etag = text.len().to_string();
        if validators.etag.as_ref() == Some(&etag) {
            return Ok(Fetched::NotModified);
        }
        Ok(Fetched::Body {
            bytes: text.into(),
            content_type: Some("application/rss+xml".into()),
            etag: Some(etag),
            last_modified: None,
        })
    }
}

/// A client with the engine id `e`.
#[derive(Default)]
pub struct Client {
    /// Save path of each torrent, by info-hash.
    pub torrents: Mutex<BTreeMap<String, Option<String>>>,
    /// Sources that were added, in order.
    pub taken: Mutex<Vec<String>>,
    pub removed: Mutex<Vec<String>>,
    /// Errors of the next adds; `true` adds the torrent in spite of the error.
    pub faults: Mutex<VecDeque<(IntakeError, bool)>>,
}

impl Client {
    fn hash_of(source: &str) -> String {
        match source.split_once("urn:btih:") {
            Some((_, hash)) => hash[..40].to_owned(),
            // The name of the .torrent file has two digits, from which the hash is made.
            None => {
                let name = source.rsplit('/').next().unwrap_or_default();
                name[..2].repeat(20)
            }
        }
    }
}

#[async_trait]
impl TorrentIntake for Client {
    fn engine(&self, named: Option<&str>) -> Option<String> {
        Some(named.unwrap_or("e").to_owned())
    }

    async fn check_save_path(&self, path: &str) -> Result<String, String> {
        if path.starts_with("/data") {
            Ok(path.to_owned())
        } else {
            Err("Path is outside the allowed storage roots (/data).".into())
        }
    }

    async fn take_in(
        &self,
        torrent: NewTorrent,
        judge: Option<&dyn HashJudge>,
    ) -> Result<TakenTorrent, IntakeError> {
        self.taken.lock().unwrap().push(torrent.source.clone());
        let hash = Self::hash_of(&torrent.source);
        if let Some(judge) = judge
            && !judge.is_wanted(std::slice::from_ref(&hash)).await?
        {
            return Err(IntakeError::Unwanted { hash });
        }
        let fault = self.faults.lock().unwrap().pop_front();
        if let Some((error, is_added)) = fault {
            if is_added {
                self.torrents.lock().unwrap().insert(hash, torrent.save_path);
            }
            return Err(error);
        }
        let mut torrents = self.torrents.lock().unwrap();
        let existed = torrents.contains_key(&hash);
        torrents.entry(hash.clone()).or_insert(torrent.save_path);
        Ok(TakenTorrent { hash, existed })
    }

    fn engines_with(&self, hash: &str) -> Vec<String> {
        let has = self.torrents.lock().unwrap().contains_key(hash);
        has.then(|| "e".to_owned()).into_iter().collect()
    }

    async fn remove(&self, _engine_id: &str, hash: &str) -> Result<(), IntakeError> {
        self.torrents.lock().unwrap().remove(hash);
        self.removed.lock().unwrap().push(hash.to_owned());
        Ok(())
    }
}

/// Shows of `provider_a`, by id.
#[derive(Default)]
pub struct FakeShows {
    pub shows: Mutex<BTreeMap<String, AiringStatus>>,
    /// Provider and id of each lookup and each refresh.
    pub asked: Mutex<Vec<(String, String)>>,
    pub refreshed: Mutex<Vec<(String, String)>>,
    /// True when the provider does not answer.
    pub broken: Mutex<bool>,
}

impl FakeShows {
    pub fn show(&self, id: &str, status: AiringStatus) {
        self.shows.lock().unwrap().insert(id.to_owned(), status);
    }

    pub fn snapshot_of(&self, provider: &str, id: &str) -> Option<ShowSnapshot> {
        let known = self.shows.lock().unwrap().get(id).copied();
        let status = known.filter(|_| provider == "provider_a")?;
        Some(ShowSnapshot {
            provider: provider.to_owned(),
            provider_show_id: id.to_owned(),
            title: Some("Harbor Nine".to_owned()),
            status,
            recommendation: status.recommendation(),
            first_air_date: Some("2023-02-01".to_owned()),
            last_air_date: Some("2026-04-01".to_owned()),
            next_episode_air_date: None,
            warnings: Vec::new(),
            checked_at: Timestamp::from_ms(START_MS),
        })
    }
}

#[async_trait]
impl ShowStatuses for FakeShows {
    async fn snapshot(&self, provider: &str, id: &str) -> ShowSnapshot {
        self.asked
            .lock()
            .unwrap()
            .push((provider.to_owned(), id.to_owned()));
        self.snapshot_of(provider, id).unwrap_or_else(|| ShowSnapshot {
            provider: provider.to_owned(),
            provider_show_id: id.to_owned(),
            title: None,
            status: AiringStatus::Unknown,
            recommendation: AiringStatus::Unknown.recommendation(),
            first_air_date: None,
            last_air_date: None,
            next_episode_air_date: None,
            warnings: vec!["status_unconfirmed".to_owned()],
            checked_at: Timestamp::from_ms(START_MS),
        })
    }

    async fn refresh(&self, provider: &str, id: &str) -> Result<Option<ShowSnapshot>, ShowError> {
        if *self.broken.lock().unwrap() {
            return Err(ShowError("provider_a does not answer".to_owned()));
        }
        self.refreshed
            .lock()
            .unwrap()
            .push((provider.to_owned(), id.to_owned()));
        Ok(self.snapshot_of(provider, id))
    }
}

/// Trusts every token and grants the permissions that the test sets; all of them by default.
#[derive(Default)]
pub struct Authors(Mutex<Option<PermissionSet>>);

impl Authors {
    /// Grants the permissions of this role from now on.
    pub fn are(&self, role: Role) {
        *self.0.lock().unwrap() = Some(role.permissions().collect());
    }
}

#[async_trait]
impl Acting for Authors {
    async fn judge(&self, tx: &mut Tx, who: &Principal, needed: &[Permission]) -> Result<Actor, ActingError> {
        Claims.judge(tx, who, needed).await
    }

    async fn powers(&self, _: &mut Tx, _: &str) -> Result<PermissionSet, ActingError> {
        let held = *self.0.lock().unwrap();
        Ok(held.unwrap_or_else(PermissionSet::all))
    }
}

pub struct House {
    pub app: Arc<Rss>,
    pub db: Db,
    pub clock: Arc<Hands>,
    pub sites: Arc<Sites>,
    pub torrents: Arc<Client>,
    pub shows: Arc<FakeShows>,
    pub heard: Arc<Heard>,
    pub authors: Arc<Authors>,
    principal: Principal,
    client: ClientInfo,
}

impl House {
    pub fn new(db: &Db) -> Self {
        Self::over(db, Hands::starting_at(START_MS), Arc::default(), Arc::default())
    }

    fn over(db: &Db, clock: Arc<Hands>, sites: Arc<Sites>, torrents: Arc<Client>) -> Self {
        let ctx: Ctx = clock.ctx();
        let (shows, heard) = (Arc::<FakeShows>::default(), Arc::<Heard>::default());
        let authors = Arc::<Authors>::default();
        let db = &db.clone().telling(heard.clone());
        let app = Rss::new(RssDeps {
            ground: testing::ground(db, &ctx, authors.clone()),
            feeds: sites.clone(),
            torrents: torrents.clone(),
            shows: shows.clone(),
            hub: Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx),
        });
        Self {
            app,
            db: db.clone(),
            clock,
            sites,
            torrents,
            shows,
            heard,
            authors,
            principal: principal(Role::Administrator),
            client: client(),
        }
    }

    /// The same database after a crash: memory is lost.
    pub fn restarted(&self) -> Self {
        Self::over(
            &self.db,
            self.clock.clone(),
            self.sites.clone(),
            self.torrents.clone(),
        )
    }

    pub fn caller(&self) -> Caller<'_> {
        Caller {
            principal: &self.principal,
            client: &self.client,
        }
    }

    pub async fn feed(&self, url: &str) -> Feed {
        let new = Feed::new(url.to_owned(), url.to_owned(), 900, self.clock.ctx().now());
        self.app.create_feed(self.caller(), new).await.unwrap()
    }

    /// A rule with one candidate per (title pattern, resolution), with priority 1, 2, ….
    pub async fn rule(&self, feed: &Feed, name: &str, prefers: &[(&str, &str)]) -> Rule {
        let change = RuleChange {
            name: Some(name.to_owned()),
            ..RuleChange::default()
        };
        let rule = self
            .app
            .create_rule(self.caller(), &feed.id, change)
            .await
            .unwrap();
        for (pattern, resolution) in prefers {
            let body: Value = json!({
                "name": resolution, "matchType": "smart_episode_match", "pattern": pattern,
                "qualityRules": { "resolution": resolution },
            });
            let draft = CandidateDraft::read(body.as_object().unwrap());
            self.app
                .add_candidate(self.caller(), &rule.id, draft)
                .await
                .unwrap();
        }
        rule
    }

    pub async fn history(&self, feed: &Feed) -> Vec<HistoryItem> {
        let page = qm_kernel::PageQuery {
            page: 1,
            page_size: 100,
        };
        let filter = crate::model::history::HistoryFilter::default();
        self.app.history(&feed.id, &filter, page).await.unwrap().0
    }

    /// Details of each audit entry of this action.
    pub async fn audited(&self, action: &str) -> Vec<Value> {
        let mut tx = self.db.begin_read().await.unwrap();
        let rows = all!(&mut tx, (String,), AUDITED, action).await.unwrap();
        rows.iter()
            .map(|(text,)| serde_json::from_str(text).unwrap())
            .collect()
    }

    pub fn listed(&self) -> Vec<String> {
        self.torrents.torrents.lock().unwrap().keys().cloned().collect()
    }
}
