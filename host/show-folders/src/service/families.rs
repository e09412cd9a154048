//! Families of shows, as people look at them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use qm_file_operations::Control;
use qm_kernel::Caller;
use qm_lanes::Cancel;
use qm_ports::folders::FolderShow;

use super::Folders;
use crate::error::MergeError;
use crate::lanes::WALKS;
use crate::model::{Family, FileKind, MOST_FILES, find_families};
use crate::ops::walk;

/// Folders walked in one go: others get their turn between two.
const SOME: usize = 20;
/// Number of walked folders beyond which an answer gets no further family.
const MOST_FOLDERS: usize = 1000;

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
        let user = &*caller.principal.user_id;
        let finding = WALKS.run_for(Some(user.into()), move |_| find_families(&shows));
        let mut families = finding.await?;
        let total = families.len();
        families.truncate(count_fitting(&families, limit));
        let mut listed = Vec::with_capacity(families.len());
        for family in families {
            let mut members = Vec::with_capacity(family.shows.len());
            for some in family.shows.chunks(SOME) {
                members.extend(self.look_at_members(user, some.to_vec()).await?);
            }
            let comparing = WALKS.run_for(Some(user.into()), move |_| to_listed(family, members));
            listed.push(comparing.await?);
        }
        Ok(Page {
            families: listed,
            total,
        })
    }

    /// Walks the folders of shows, and reads the names in them; ends when nobody waits for it any more.
    async fn look_at_members(&self, user: &str, shows: Vec<FolderShow>) -> Result<Vec<Member>, MergeError> {
        let (roots, token) = (self.roots.clone(), self.stopping.child_token());
        let _guard = token.clone().drop_guard();
        let walking = WALKS.run_for(Some(user.into()), move |_: Cancel| {
            let control = Control::quiet(token);
            let looked = shows.into_iter().map(|show| {
                let walked = walk(&roots, &show.path, MOST_FILES, &control);
                let contents = walked.unwrap_or_else(|error| {
                    tracing::debug!(path = show.path, %error, "the folder of a show was not walked");
                    <_>::default()
                });
                Member {
                    videos: contents.count(FileKind::Video),
                    size: contents.size(),
                    episodes: in_order(contents.episodes(&show.library_kind).iter()),
                    unique: Vec::new(),
                    subtitles: contents.count(FileKind::Subtitle),
                    nfo: contents.count(FileKind::Nfo),
                    artwork: contents.count(FileKind::Artwork),
                    other: contents.count(FileKind::Other),
                    show,
                }
            });
            looked.collect()
        });
        Ok(walking.await?)
    }
}

/// Number of families whose folders are walked for one answer: at least one, however large it is.
fn count_fitting(families: &[Family], limit: usize) -> usize {
    let mut folders = 0;
    let fits = |family: &&Family| {
        let is_first = folders == 0;
        folders += family.shows.len();
        is_first || folders <= MOST_FOLDERS
    };
    families.iter().take(limit).take_while(fits).count()
}

/// Compares the episodes of a family's members.
fn to_listed(family: Family, mut members: Vec<Member>) -> Listed {
    let mut owners: HashMap<String, usize> = HashMap::new();
    for key in members.iter().flat_map(|member| &member.episodes) {
        *owners.entry(key.clone()).or_default() += 1;
    }
    for member in &mut members {
        let unique = member.episodes.iter().filter(|key| owners.get(*key) == Some(&1));
        member.unique = unique.cloned().collect();
    }
    members.sort_by_key(|member| std::cmp::Reverse(member.videos));
    let several: BTreeSet<&String> = owners
        .iter()
        .filter(|(_, count)| **count > 1)
        .map(|(key, _)| key)
        .collect();
    Listed {
        family,
        colliding: in_order(several.into_iter()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_about_so_many_folders_and_one_family_at_least() {
        let family = |count: usize| Family {
            tie: <_>::default(),
            needs_review: false,
            shows: vec![FolderShow::default(); count],
        };
        let some = [family(600), family(400), family(2), family(2)];
        assert_eq!(count_fitting(&some, 25), 2);
        assert_eq!(count_fitting(&some, 1), 1);
        assert_eq!(count_fitting(&[family(5000), family(2)], 25), 1);
        assert_eq!(count_fitting(&[], 25), 0);
    }
}
