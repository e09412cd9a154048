//! Cache of answers, so that the episodes of a season request their show only once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_lanes::IgnorePoison;
use qm_ports::metadata::{
    EpisodeDetails, ExternalId, ImageDetails, Rated, TitleDetails, TitleHit, TitleQuery, TitleSubject,
    TitlesFound,
};
use tokio::time::Instant;

/// Lifetime of an answer.
const KEPT: Duration = Duration::from_hours(24);
/// Lifetime of a negative answer.
const KEPT_UNKNOWN: Duration = Duration::from_hours(1);
/// Largest number of answers.
const MOST: usize = 5000;
/// Largest size of all answers in bytes of JSON.
const BYTES: usize = 32 << 20;

/// Request to a provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    Search(TitleQuery),
    Details(TitleSubject),
    Episodes {
        show: String,
        season: u32,
    },
    Artwork(TitleSubject),
    /// Titles by an id of another source.
    Find(ExternalId),
    /// Rating of the title with this id in the data set of titles.
    Rating(String),
}

/// Answer of a provider.
#[derive(Clone, Debug)]
pub enum Answer {
    Found(Arc<TitlesFound>),
    Title(Arc<TitleDetails>),
    Episodes(Arc<Vec<EpisodeDetails>>),
    Images(Arc<Vec<ImageDetails>>),
    Hits(Arc<Vec<TitleHit>>),
    Rating(Rated),
    Unknown,
}

/// Provider, fingerprint of its configuration, and the request.
pub type Key = (String, u64, Question);

struct Entry {
    answer: Answer,
    bytes: usize,
    until: Instant,
}

#[derive(Default)]
struct Kept {
    entries: HashMap<Key, Entry>,
    bytes: usize,
}

impl Kept {
    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
        }
    }
}

/// Answers of all providers.
#[derive(Default)]
pub struct Cache(Mutex<Kept>);

impl Cache {
    pub fn get(&self, key: &Key) -> Option<Answer> {
        let mut kept = self.0.lock().ignore_poison();
        let entry = kept.entries.get(key)?;
        if entry.until > Instant::now() {
            return Some(entry.answer.clone());
        }
        kept.remove(key);
        None
    }

    pub fn put(&self, key: Key, answer: Answer) {
        let size = |json: serde_json::Result<Vec<u8>>| json.map_or(BYTES, |json| json.len());
        let (bytes, life) = match &answer {
            Answer::Found(found) => (size(serde_json::to_vec(&**found)), KEPT),
            Answer::Title(title) => (size(serde_json::to_vec(&**title)), KEPT),
            Answer::Episodes(all) => (size(serde_json::to_vec(&**all)), KEPT),
            Answer::Images(all) => (size(serde_json::to_vec(&**all)), KEPT),
            // No hit may soon be outdated.
            Answer::Hits(hits) if hits.is_empty() => (0, KEPT_UNKNOWN),
            Answer::Hits(hits) => (size(serde_json::to_vec(&**hits)), KEPT),
            Answer::Rating(_) => (size_of::<Rated>(), KEPT),
            Answer::Unknown => (0, KEPT_UNKNOWN),
        };
        // An answer larger than an eighth of the cache would displace too many others.
        if bytes > BYTES / 8 {
            return;
        }
        let mut kept = self.0.lock().ignore_poison();
        kept.remove(&key);
        kept.bytes += bytes;
        let until = Instant::now() + life;
        kept.entries.insert(key, Entry { answer, bytes, until });
        if kept.entries.len() > MOST || kept.bytes > BYTES {
            shrink(&mut kept);
        }
    }
}

/// Drops expired answers, then those that expire first, down to three quarters, so that it runs seldom.
fn shrink(kept: &mut Kept) {
    let mut all: Vec<(Instant, usize, Key)> = kept
        .entries
        .iter()
        .map(|(key, entry)| (entry.until, entry.bytes, key.clone()))
        .collect();
    all.sort_by_key(|(until, ..)| *until);
    let now = Instant::now();
    for (until, _, key) in all {
        let is_small = kept.entries.len() <= MOST / 4 * 3 && kept.bytes <= BYTES / 4 * 3;
        if is_small && until > now {
            return;
        }
        kept.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Key {
        let question = Question::Episodes {
            show: "1".to_owned(),
            season: number,
        };
        ("a".to_owned(), 0, question)
    }

    fn season(overview: usize) -> Answer {
        let episode = EpisodeDetails {
            overview: Some("x".repeat(overview)),
            ..EpisodeDetails::default()
        };
        Answer::Episodes(Arc::new(vec![episode]))
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_bounded_by_time_by_number_and_by_size() {
        let cache = Cache::default();
        cache.put(key(1), season(1));
        cache.put(key(2), Answer::Unknown);
        assert!(cache.get(&key(1)).is_some() && cache.get(&key(2)).is_some());
        tokio::time::advance(KEPT_UNKNOWN).await;
        assert!(cache.get(&key(1)).is_some() && cache.get(&key(2)).is_none());
        tokio::time::advance(KEPT).await;
        assert!(cache.get(&key(1)).is_none());
        assert_eq!(cache.0.lock().unwrap().bytes, 0);

        for number in 0..=MOST as u32 {
            cache.put(key(number), Answer::Unknown);
        }
        assert_eq!(cache.0.lock().unwrap().entries.len(), MOST / 4 * 3);
        for number in 0..40 {
            cache.put(key(number), season(1 << 20));
        }
        assert!(cache.0.lock().unwrap().bytes <= BYTES);
        assert!(cache.get(&key(39)).is_some(), "the newest stays");
        cache.put(key(99), season(BYTES / 8));
        assert!(
            cache.get(&key(99)).is_none(),
            "one alone must not drive the others out"
        );
    }
}
