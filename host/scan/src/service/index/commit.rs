//! Writing of changes: a few hundred in one transaction.

use std::collections::{HashMap, HashSet};

use qm_db::{DbError, Tx};
use qm_jobs::JobError;
use qm_media::lanes::COMPUTE;
use qm_media::model::extra::Extra;
use qm_media::model::item::Facts;
use qm_media::model::library::Kind;
use qm_media::repo;
use qm_media::repo::copies::NewCopy;
use qm_media::repo::items::{NewItem, Stored};
use qm_media::service::jobs::Stop;
use qm_media_names::name::{Read, read};
use qm_media_names::naming::member::{self, Beside, Member, Owner};
use qm_media_names::naming::tag::Ids;
use qm_media_names::place;
use serde_json::{Map, Value, json};

use super::{Change, Index, Meanwhile};
use crate::model::doubt::KnownDirectory;
use crate::ops::walk::{SeenDirectory, SeenFile};
use crate::repo::directories;
use crate::repo::directories::Stand;
use crate::repo::moves;
use crate::repo::moves::Lying;
use crate::service::moves::{Goal, goal_within};

/// Question about names that a change needs answered.
enum Asked {
    File(String, Beside),
    Moved(Lying, String, Beside),
    Extras(Vec<String>, Beside),
}

/// Answer to a question about names.
enum Said {
    File(Box<Read>, Member),
    Moved(Lying, Box<Goal>, Member),
    Extras(Vec<Owner>),
}

impl Asked {
    fn read(self, kind: Kind) -> Said {
        match self {
            Asked::File(shown, beside) => Said::File(
                Box::new(read(&shown, kind, beside.is_alone)),
                member::member(&shown, kind, &beside),
            ),
            Asked::Moved(item, place, beside) => {
                let member = member::member(&place::shown(&place), kind, &beside);
                let goal = goal_within(&item, place, kind, beside.is_alone);
                Said::Moved(item, Box::new(goal), member)
            }
            Asked::Extras(shown, beside) => {
                let owners = shown.iter().map(|shown| {
                    let owner = member::owner_of(shown, kind);
                    // In the folder of a single film all extras belong to it. In the library's own directory other films may
                    // come.
                    let is_its = beside.is_alone && !owner.folder.is_empty();
                    let key = owner.key.filter(|_| !is_its);
                    Owner { key, ..owner }
                });
                Said::Extras(owners.collect())
            }
        }
    }
}

/// Rows of one transaction.
#[derive(Default)]
struct Batch {
    new: Vec<NewItem>,
    copies: Vec<NewCopy>,
    ids: Vec<(String, Ids)>,
    /// Items by the keys of their files.
    owners: HashMap<String, String>,
    added: u64,
    updated: u64,
    removed: u64,
}

impl<'a> Index<'a> {
    pub(super) async fn commit(&mut self, changes: Vec<Change<'a>>) -> Result<(), Stop> {
        let mut said = self.read_names(&changes).await?;
        let mut tx = self.begin().await?;
        let meanwhile = self.meanwhile(&mut tx, &changes).await?;
        let keys: HashSet<&String> = said.iter().flatten().filter_map(key_of).collect();
        let keys: Vec<String> = keys.into_iter().cloned().collect();
        let mut batch = Batch {
            owners: repo::copies::owners(&mut tx, &self.of.id, &keys).await?,
            ..Batch::default()
        };
        let mut reads = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            match change {
                // Written at the end: the items of the directory are inserted before the commit, and nothing is visible
                // earlier.
                Change::Read(seen, id) => reads.push((*seen, id)),
                change => {
                    let said = said[at].take();
                    self.write(&mut tx, &mut batch, &meanwhile, change, said).await?;
                }
            }
        }
        let now = self.room.ctx.now();
        for (seen, id) in reads {
            let read_at = seen.is_settled.then_some(now.ms());
            let moves = self.known.get(&seen.place).map_or(0, |known| known.moves);
            directories::read(&mut tx, self.row(id), stand(seen), read_at, moves).await?;
        }
        repo::items::insert(&mut tx, &self.of.id, &batch.new, now).await?;
        repo::copies::insert(&mut tx, &self.of.id, &batch.copies, now).await?;
        // For episodes the folder of the show gives the ids.
        batch
            .ids
            .retain(|(_, ids)| !ids.is_empty() && !self.of.kind.has_shows());
        self.room.identify.take_ids(&mut tx, &batch.ids).await?;
        let news = if self.tells { &batch.new[..] } else { &[] };
        for item in news {
            self.room
                .triggers
                .fire(&mut tx, "media.detected", &self.facts_of(item))
                .await?;
        }
        tx.commit().await?;
        self.summary.added += batch.added;
        self.summary.updated += batch.updated;
        self.summary.removed += batch.removed;
        self.report(changes.len()).await
    }

    async fn write(
        &mut self,
        tx: &mut Tx,
        batch: &mut Batch,
        meanwhile: &Meanwhile,
        change: &Change<'a>,
        said: Option<Said>,
    ) -> Result<(), Stop> {
        let now = self.room.ctx.now();
        match (change, said) {
            (Change::Directory(seen, id), _) => {
                let (library, at) = (&self.of.id, &seen.place);
                let other = directories::insert(tx, id, library, at, stand(seen)).await?;
                self.others.extend(other.map(|other| (id.clone(), other)));
            }
            (Change::Add(file, _), _) if meanwhile.came.contains(&file.place) => {}
            (Change::Add(file, directory), Some(Said::File(read, member))) => {
                self.add(batch, file, directory, *read, member);
            }
            (
                Change::Set(_, item)
                | Change::Name(_, item)
                | Change::Key(_, item)
                | Change::Node(_, item)
                | Change::Move(_, item, _)
                | Change::Remove(item, _),
                _,
            ) if meanwhile.went.contains(&item.id) => {}
            (Change::Set(file, item), Some(Said::File(read, member))) => {
                batch.updated += 1;
                self.set(tx, file, item, *read, &member).await?;
            }
            (Change::Name(file, item), _) => batch.ids.push((item.id.clone(), file.ids.clone())),
            (Change::Key(file, item), Some(Said::File(_, member))) => {
                join_or_describe(tx, batch, &item.id, member, file.node).await?;
            }
            (Change::Node(file, item), _) => match &item.copy_id {
                Some(copy) => repo::copies::set_node(tx, copy, file.node).await?,
                None => repo::copies::set_first_node(tx, &item.id, file.node).await?,
            },
            (Change::Move(file, _, directory), Some(Said::Moved(item, goal, member))) => {
                batch.updated += 1;
                let id = item.id.clone();
                self.carry(tx, &item.place, &file.place).await?;
                let is_written = item.mtime != file.mtime;
                let row = self.row(directory).to_owned();
                let settling = self.room.settle_seen(tx, self.of, item, *goal, row);
                settling.await.map_err(|error| Stop::Job(error.into()))?;
                if is_written {
                    repo::items::set_state(tx, &id, file.size, file.mtime).await?;
                }
                join_or_describe(tx, batch, &id, member, file.node).await?;
            }
            (Change::Extras(seen, directory), Some(Said::Extras(owners))) => {
                self.put_extras(tx, seen, directory, owners).await?;
            }
            (Change::Remove(item, _), _) => {
                batch.removed += match &item.copy_id {
                    Some(copy) => repo::copies::delete(tx, copy, &item.place).await?,
                    None if repo::copies::raise_next(tx, &item.id, now).await? => 1,
                    None => repo::items::delete(tx, &item.id).await?,
                };
            }
            (Change::Unsure(id), _) => directories::unsure(tx, id).await?,
            _ => {}
        }
        Ok(())
    }

    /// Adds a file: to the item that has the others of its film or episode, or as one of its own.
    fn add(&self, batch: &mut Batch, file: &SeenFile, directory: &str, read: Read, member: Member) {
        batch.added += 1;
        let directory_id = self.row(directory).to_owned();
        let owner = member.key.as_ref().and_then(|key| batch.owners.get(key));
        if let Some(item_id) = owner {
            batch.copies.push(NewCopy {
                id: self.room.ctx.ordered_id(),
                item_id: item_id.clone(),
                directory_id,
                place: file.place.clone(),
                size: file.size,
                mtime: file.mtime,
                node: file.node,
                tech: read.tech,
                member,
            });
            return;
        }
        let id = self.room.ctx.ordered_id();
        if let Some(key) = &member.key {
            batch.owners.insert(key.clone(), id.clone());
        }
        batch.ids.push((id.clone(), read.ids.or(file.ids.clone())));
        let key = member.key.unwrap_or_else(|| repo::copies::alone(&id));
        batch.new.push(NewItem {
            id,
            file_id: self.room.ctx.ordered_id(),
            directory_id,
            place: file.place.clone(),
            size: file.size,
            mtime: file.mtime,
            facts: read.facts,
            tech: read.tech,
            member: Member {
                key: Some(key),
                ..member
            },
            node: file.node,
        });
    }

    /// Updates a file whose content has changed.
    async fn set(
        &self,
        tx: &mut Tx,
        file: &SeenFile,
        item: &Stored,
        read: Read,
        member: &Member,
    ) -> Result<(), Stop> {
        if let Some(copy) = &item.copy_id {
            repo::copies::set_state(tx, copy, file.size, file.mtime, file.node).await?;
            return Ok(());
        }
        repo::items::set_state(tx, &item.id, file.size, file.mtime).await?;
        repo::items::set_tech(tx, &item.id, &read.tech).await?;
        if let Some(facts) = numbers(item, read.facts) {
            let now = self.room.ctx.now();
            repo::items::set_numbers(tx, &item.id, &facts, now).await?;
        }
        if item.same_key.is_some() {
            repo::copies::set_first_node(tx, &item.id, file.node).await?;
        } else {
            repo::copies::describe(tx, &item.id, member, file.node).await?;
        }
        Ok(())
    }

    /// Moves a show along with its renamed folder, once.
    async fn carry(&mut self, tx: &mut Tx, from: &str, to: &str) -> Result<(), Stop> {
        let ((from, is_below), (to, _)) = (place::top(from), place::top(to));
        let is_gone = is_below && from != to && !self.present.contains(&*from);
        if !is_gone || !self.carried.insert((from.clone(), to.clone())) {
            return Ok(());
        }
        let carrying = self.room.carry_seen_show(tx, self.of, from, to);
        carrying.await.map_err(|error| Stop::Job(error.into()))
    }

    async fn put_extras(
        &self,
        tx: &mut Tx,
        seen: &SeenDirectory,
        directory: &str,
        owners: Vec<Owner>,
    ) -> Result<(), DbError> {
        let extras: Vec<Extra> = seen
            .extras
            .iter()
            .zip(owners)
            .map(|(extra, owner)| Extra {
                id: String::new(),
                library_id: self.of.id.clone(),
                place: extra.place.clone(),
                kind: extra.kind.to_owned(),
                owner: owner.folder,
                season: owner.season,
                same_key: owner.key,
                size: extra.size,
                mtime: extra.mtime,
                created_at: self.room.ctx.now(),
            })
            .collect();
        let new_id = || self.room.ctx.ordered_id();
        repo::extras::put(tx, self.row(directory), &extras, new_id).await
    }

    /// Real id of the row of a directory, by the planned one.
    fn row<'i>(&'i self, id: &'i str) -> &'i str {
        self.others.get(id).map_or(id, String::as_str)
    }

    /// Items that were moved since the walk: the scan knows nothing of that, and leaves them alone.
    async fn meanwhile(&self, tx: &mut Tx, changes: &[Change<'a>]) -> Result<Meanwhile, DbError> {
        let mut new: Vec<(&str, &str)> = Vec::new();
        let mut stored: Vec<(&Stored, Option<&KnownDirectory>)> = Vec::new();
        for change in changes {
            match change {
                Change::Add(file, _) => new.push((&self.of.id, &file.place)),
                Change::Set(_, item)
                | Change::Name(_, item)
                | Change::Key(_, item)
                | Change::Node(_, item)
                | Change::Move(_, item, _) => stored.push((item, None)),
                Change::Remove(item, known) => stored.push((item, Some(known))),
                _ => {}
            }
        }
        let came = moves::taken(tx, &new).await?;
        let mut came: HashSet<String> = came.into_iter().map(|item| item.place).collect();
        came.extend(repo::copies::taken(tx, &new).await?);
        let ids: Vec<String> = stored.iter().map(|(item, _)| item.id.clone()).collect();
        let lying = repo::bulk::lying(tx, &ids).await?;
        let mut quiet: HashMap<&str, bool> = HashMap::new();
        let mut went = HashSet::new();
        for (item, directory) in stored {
            let is_there = lying.get(&item.id).is_some_and(|lies| {
                lies.library_id == self.of.id && (item.copy_id.is_some() || lies.place == item.place)
            });
            let is_quiet = match directory {
                None => true,
                Some(known) => match quiet.get(&*known.id) {
                    Some(is_quiet) => *is_quiet,
                    None => {
                        let is_quiet = directories::is_undisturbed(tx, &known.id, known.moves).await?;
                        quiet.insert(&known.id, is_quiet);
                        is_quiet
                    }
                },
            };
            if !is_there || !is_quiet {
                went.insert(item.id.clone());
            }
        }
        Ok(Meanwhile { came, went })
    }

    /// Answers from the names of files, read off the async threads.
    async fn read_names(&self, changes: &[Change<'a>]) -> Result<Vec<Option<Said>>, Stop> {
        let beside = |place: &str| {
            let above = place::parent(place).unwrap_or_default();
            self.beside.get(&*above).cloned().unwrap_or_default()
        };
        let asked: Vec<Option<Asked>> = changes
            .iter()
            .map(|change| match change {
                Change::Add(file, _) | Change::Set(file, _) | Change::Key(file, _) => {
                    Some(Asked::File(place::shown(&file.place), beside(&file.place)))
                }
                Change::Move(file, item, _) => {
                    let lying = Lying {
                        id: item.id.clone(),
                        place: item.place.clone(),
                        match_status: item.match_status.clone(),
                        locked: item.locked,
                        size: item.size,
                        mtime: item.mtime,
                    };
                    Some(Asked::Moved(lying, file.place.clone(), beside(&file.place)))
                }
                Change::Extras(seen, _) => {
                    let shown = seen.extras.iter().map(|extra| place::shown(&extra.place));
                    let beside = self.beside.get(&*seen.place).cloned().unwrap_or_default();
                    Some(Asked::Extras(shown.collect(), beside))
                }
                _ => None,
            })
            .collect();
        let kind = self.of.kind;
        let reading = COMPUTE.run(move |_| {
            let said = asked.into_iter().map(|asked| asked.map(|asked| asked.read(kind)));
            said.collect()
        });
        Ok(reading
            .await
            .map_err(|error| JobError::new("names", error.to_string()))?)
    }

    fn facts_of(&self, item: &NewItem) -> Map<String, Value> {
        let told = json!({
            "name": item.facts.title, "title": item.facts.title, "mediaType": item.facts.media_type,
            "year": item.facts.year, "season": item.facts.season, "episode": item.facts.episode,
            "path": place::absolute(&self.of.path, &item.place), "size": item.size, "itemId": item.id,
            "libraryId": self.of.id, "libraryName": self.of.name,
        });
        match told {
            Value::Object(told) => told,
            _ => Map::new(),
        }
    }
}

fn key_of(said: &Said) -> Option<&String> {
    match said {
        Said::File(_, member) | Said::Moved(_, _, member) => member.key.as_ref(),
        Said::Extras(_) => None,
    }
}

/// Stores the key of an item's files. Another item with the same key takes it over, unless a person has edited it.
async fn join_or_describe(
    tx: &mut Tx,
    batch: &mut Batch,
    id: &str,
    member: Member,
    node: (i64, i64),
) -> Result<(), DbError> {
    let Some(key) = member.key.clone() else {
        return repo::copies::describe(tx, id, &member, node).await;
    };
    let is_new = |owner: &String| batch.new.iter().any(|item| item.id == *owner);
    match batch.owners.get(&key).cloned().filter(|owner| owner != id) {
        None => {
            batch.owners.insert(key, id.to_owned());
            repo::copies::describe(tx, id, &member, node).await
        }
        Some(owner) if is_new(&owner) || repo::copies::is_said(tx, id).await? => {
            let alone = Member { key: None, ..member };
            repo::copies::describe(tx, id, &alone, node).await
        }
        Some(owner) => {
            repo::copies::describe(tx, id, &member, node).await?;
            repo::copies::join(tx, id, &owner).await
        }
    }
}

fn stand(seen: &SeenDirectory) -> Stand {
    Stand {
        device: seen.device,
        inode: seen.inode,
        mtime: seen.mtime,
    }
}

/// Facts that a name gives now and that were not known: an episode, or the last one of several.
fn numbers(item: &Stored, read: Facts) -> Option<Facts> {
    if item.locked {
        return None;
    }
    if item.season.is_none() && item.episode.is_none() {
        return (read.season.is_some() && read.episode.is_some()).then_some(read);
    }
    let agrees = item.season == read.season && item.episode == read.episode;
    let is_new = item.episode_end.is_none() && read.episode_end.is_some();
    (agrees && is_new).then(|| Facts {
        title: item.title.clone(),
        ..read
    })
}
