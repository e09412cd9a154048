//! Families of shows, as people look at them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use qm_kernel::Caller;
use qm_ports::folders::FolderShow;

use super::Folders;
use crate::error::MergeError;
use crate::model::{Contents, Family, FileKind, find_families};

/// A show of a family. What its folder holds is nothing where it could not be walked.
pub struct Member {
    pub show: FolderShow,
    pub videos: usize,
    pub size: u64,
    /// Keys of its episodes.
    pub episodes: Vec<String>,
    /// Those of them that no other member has.
    pub unique: Vec<String>,
    pub subtitles: usize,
    pub nfo: usize,
    pub artwork: usize,
    pub other: usize,
}

/// A family with its members, those with the most videos first.
pub struct Listed {
    pub family: Family,
    /// Keys of episodes that several members have.
    pub colliding: Vec<String>,
    pub members: Vec<Member>,
}

/// Some families, and the number of all.
pub struct Page {
    pub families: Vec<Listed>,
    pub total: usize,
}

impl Folders {
    /// Families of a library, or of all, the largest first. Their folders are walked.
    pub async fn list_families(
        &self,
        caller: Caller<'_>,
        library_id: Option<&str>,
        limit: usize,
    ) -> Result<Page, MergeError> {
        let shows = self.shows.list_shows(library_id).await?;
        let mut families = find_families(&shows);
        let total = families.len();
        families.truncate(limit);
        let user = &caller.principal.user_id;
        let mut listed = Vec::with_capacity(families.len());
        // One after another: others get their turn between two.
        for family in families {
            let walked = self.walk_each(user, family.shows.clone()).await?;
            listed.push(to_listed(family, walked));
        }
        Ok(Page {
            families: listed,
            total,
        })
    }
}

fn to_listed(family: Family, walked: Vec<(FolderShow, Result<Contents, MergeError>)>) -> Listed {
    let walked = walked.into_iter().map(|(show, contents)| {
        let contents = contents.unwrap_or_else(|error| {
            tracing::debug!(path = show.path, %error, "the folder of a show was not walked");
            Contents::default()
        });
        let episodes = contents.episodes(&show.library_kind);
        (show, contents, episodes)
    });
    let walked: Vec<(FolderShow, Contents, BTreeSet<String>)> = walked.collect();
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for (.., episodes) in &walked {
        for key in episodes {
            *owners.entry(key).or_default() += 1;
        }
    }
    let is_unique = |key: &&String| owners.get(key.as_str()) == Some(&1);
    let members = walked.iter().map(|(show, contents, episodes)| Member {
        show: show.clone(),
        videos: contents.count(FileKind::Video),
        size: contents.size(),
        episodes: in_order(episodes.iter()),
        unique: in_order(episodes.iter().filter(is_unique)),
        subtitles: contents.count(FileKind::Subtitle),
        nfo: contents.count(FileKind::Nfo),
        artwork: contents.count(FileKind::Artwork),
        other: contents.count(FileKind::Other),
    });
    let mut members: Vec<Member> = members.collect();
    members.sort_by_key(|member| std::cmp::Reverse(member.videos));
    let all: BTreeSet<&String> = walked.iter().flat_map(|(.., episodes)| episodes).collect();
    Listed {
        family,
        colliding: in_order(all.into_iter().filter(|key| !is_unique(key))),
        members,
    }
}

/// Keys in the order of their seasons and episodes.
fn in_order<'a>(keys: impl Iterator<Item = &'a String>) -> Vec<String> {
    let numbered = keys.map(|key| {
        let numbers = key.strip_prefix('s').and_then(|rest| rest.split_once('e'));
        let numbers = numbers.map(|(season, episode)| {
            let number = |text: &str| text.parse::<i64>().unwrap_or(i64::MAX);
            (number(season), number(episode))
        });
        ((numbers, key), key.clone())
    });
    let sorted: BTreeMap<_, String> = numbered.collect();
    sorted.into_values().collect()
}
