//! Categories and tags as clients have them: on their torrents, and in lists of their own where they keep such.
//!
//! Bounds: a client is asked for its own lists once in [`FRESH`] however many look, and for [`ANSWER`]; one that does not answer counts with
//! what it told last.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use qm_engines::{Engine, TorrentsError};
use qm_ports::engine::{Category, Torrent, capability};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Torrents;
use crate::model::groups::{Home, Listed, merge};
use crate::model::stored::{CategoryRow, TagRow};

/// Time for which the answer of a client counts.
const FRESH: Duration = Duration::from_secs(30);
/// Time limit on the answer of a client.
const ANSWER: Duration = Duration::from_secs(3);

/// Lists of one client.
#[derive(Clone, Default)]
struct Told {
    asked: Option<Instant>,
    categories: Vec<Category>,
    tags: Vec<String>,
}

/// The clients' own lists, as they were told last, by engine.
#[derive(Default)]
pub struct Groups(Mutex<HashMap<Arc<str>, Told>>);

impl Groups {
    /// The lists of these engines. Whoever comes while they are asked waits for the same answer.
    async fn read(&self, engines: &[Arc<Engine>]) -> HashMap<Arc<str>, Told> {
        let mut known = self.0.lock().await;
        known.retain(|id, _| engines.iter().any(|engine| engine.id == *id));
        let is_fresh = |told: &Told| told.asked.is_some_and(|asked| asked.elapsed() < FRESH);
        let stale = engines
            .iter()
            .filter(|engine| !engine.is_down() && !known.get(&engine.id).is_some_and(is_fresh));
        let asked = join_all(stale.map(|engine| async { (engine.id.clone(), ask(engine).await) })).await;
        for (id, (categories, tags)) in asked {
            let told = known.entry(id).or_default();
            told.asked = Some(Instant::now());
            told.categories = categories.unwrap_or_else(|| std::mem::take(&mut told.categories));
            told.tags = tags.unwrap_or_else(|| std::mem::take(&mut told.tags));
        }
        known.clone()
    }
}

/// A client's own categories and tags, each as far as it keeps such a list and tells it in time.
async fn ask(engine: &Engine) -> (Option<Vec<Category>>, Option<Vec<String>>) {
    let driver = &engine.driver;
    let categories = async {
        let is_asked = driver.has(capability::CATEGORIES);
        let asked = is_asked.then(|| tokio::time::timeout(ANSWER, driver.categories()));
        asked?.await.ok()?.ok()
    };
    let tags = async {
        let is_asked = driver.has(capability::TAGS);
        let asked = is_asked.then(|| tokio::time::timeout(ANSWER, driver.tags()));
        asked?.await.ok()?.ok()
    };
    tokio::join!(categories, tags)
}

impl Torrents {
    /// All categories by name, the server's and those of clients, each with where it lives.
    pub async fn listed_categories(&self) -> Result<Vec<Listed<CategoryRow>>, TorrentsError> {
        let rows = self.categories().await?;
        let engines = self.engines.all();
        let told = self.groups.read(&engines).await;
        let mut homes = BTreeMap::new();
        for engine in &engines {
            let own = told.get(&engine.id).map_or(&[][..], |told| &told.categories);
            let own = own.iter().map(|own| (own.name.as_str(), own.save_path.clone()));
            add_homes(&mut homes, engine, own, |torrent| torrent.label.as_slice());
        }
        Ok(merge(rows, homes, |row| &row.name))
    }

    /// All tags by name, as the categories.
    pub async fn listed_tags(&self) -> Result<Vec<Listed<TagRow>>, TorrentsError> {
        let rows = self.tags().await?;
        let engines = self.engines.all();
        let told = self.groups.read(&engines).await;
        let mut homes = BTreeMap::new();
        for engine in &engines {
            let own = told.get(&engine.id).map_or(&[][..], |told| &told.tags);
            let own = own.iter().map(|tag| (tag.as_str(), None));
            add_homes(&mut homes, engine, own, |torrent| &torrent.tags);
        }
        Ok(merge(rows, homes, |row| &row.name))
    }
}

/// Notes what one engine has: names in its client's own list, and those on its torrents.
fn add_homes<'a>(
    homes: &mut BTreeMap<String, Vec<Home>>,
    engine: &Engine,
    own: impl Iterator<Item = (&'a str, Option<String>)>,
    names_of: impl Fn(&Torrent) -> &[String],
) {
    let home = || Home {
        engine_id: engine.id.clone(),
        torrents: 0,
        is_listed: false,
        save_path: None,
    };
    let mut here: HashMap<String, Home> = HashMap::new();
    for (name, save_path) in own {
        let listed = here.entry(name.to_owned()).or_insert_with(home);
        (listed.is_listed, listed.save_path) = (true, save_path.filter(|path| !path.is_empty()));
    }
    let snapshot = engine.snapshot();
    for entry in snapshot.iter().flat_map(|snapshot| snapshot.entries()) {
        for name in names_of(&entry.torrent) {
            if let Some(known) = here.get_mut(name) {
                known.torrents += 1;
            } else {
                here.insert(
                    name.clone(),
                    Home {
                        torrents: 1,
                        ..home()
                    },
                );
            }
        }
    }
    for (name, home) in here.into_iter().filter(|(name, _)| !name.is_empty()) {
        homes.entry(name).or_default().push(home);
    }
}
