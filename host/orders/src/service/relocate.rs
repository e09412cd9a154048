//! Job that moves items into another library: whole folders if nothing else is in them, otherwise only the files. Then what came
//! is named by the rules of that library, as far as the person may rename.
//!
//! The area of files moves the data; at every moment it is whole at one place. The next move is stored before it begins, so
//! that a server that was killed finds the data and stores its place.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use qm_db::Tx;
use qm_jobs::{Done, JobContext, JobError, JobHandler, JobType};
use qm_kernel::Permission;
use qm_media::LibraryError;
use qm_media::lanes::LOOKS;
use qm_media::model::bulk::{folder_along, moved};
use qm_media::model::library::MediaLibrary;
use qm_media::ops::guard::guarded;
use qm_media::repo;
use qm_media::service::jobs::{self, Standing, in_service, stopped};
use qm_media_names::naming::member::owner_of;
use qm_media_names::place;
use qm_ports::carry::{DataMove, Whereabouts as Lies};
use qm_ports::helpers::NamingOrder;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Orders;
use super::whereabouts::Whereabouts;
use crate::ops::erase::{Eraser, describe_errno, identities};

/// Type of the jobs.
pub const TYPE: &str = "media.media_move";
/// Most warnings about files that keep their names.
const WARNINGS: usize = 20;
const NEEDED: [Permission; 1] = [Permission::MediaManagerMoveFiles];

pub fn job_type(room: &Arc<Orders>) -> JobType {
    let handler = Arc::new(Relocating(Arc::downgrade(room)));
    jobs::job_type(TYPE, "jobs.type.media.media_move", handler)
}

struct Relocating(Weak<Orders>);

/// A folder or file that is moved as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Unit {
    /// Place of the folder, or of the file, in the library it comes from.
    place: String,
    /// Whole path of the folder or file.
    source: String,
    /// Whole path of the directory it goes into.
    directory: String,
}

/// Progress of the order, stored as the checkpoint of its job.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    #[serde(flatten)]
    standing: Standing,
    /// Unit that is being moved, or has arrived and is not stored yet.
    moving: Option<Unit>,
    /// Ids of the items that were in the target library before; `None`: nobody has looked.
    there: Option<Vec<String>>,
}

#[async_trait]
impl JobHandler for Relocating {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let room = in_service(&self.0)?;
        let target = job.input()["targetLibraryId"].as_str().unwrap_or_default();
        room.move_ordered(job, target).await
    }
}

impl Orders {
    async fn move_ordered(&self, job: &JobContext, target: &str) -> Result<Done, JobError> {
        let ids = jobs::ids(job);
        let mut state: State = jobs::saved(job);
        let there = match state.there.clone() {
            Some(there) => there,
            None => self.find_there(&ids, target).await?,
        };
        state.there = Some(there.clone());
        let going: HashSet<String> = ids.iter().cloned().collect();
        let mut libraries = BTreeSet::from([target.to_owned()]);
        for id in &ids[state.standing.done.min(ids.len())..] {
            if job.is_cancelled() {
                return Err(stopped());
            }
            // A move that has begun is completed without another check.
            if state.moving.is_none() {
                self.rights.check_order(job, &NEEDED).await?;
            }
            let at = self.whereabouts(id).await?;
            let became = match at {
                None => Err("Item not found".to_owned()),
                // It came with its folder before, or was always there.
                Some(at) if at.library.id == target => Ok(()),
                Some(at) => {
                    libraries.insert(at.library.id.clone());
                    self.move_item(job, &at, target, &going, &mut state).await?
                }
            };
            state.moving = None;
            state.standing.note(job, id, became).await?;
            jobs::save(job, &state).await?;
            job.progress(jobs::progress(state.standing.done, ids.len()))
                .await?;
        }
        self.scanner.recount(&libraries).await?;
        let there: HashSet<String> = there.into_iter().collect();
        let came: Vec<String> = ids.iter().filter(|id| !there.contains(*id)).cloned().collect();
        let renamed = self.name_moved(job, target, &came).await?;
        let Standing {
            completed,
            failed,
            failures,
            ..
        } = state.standing;
        Ok(Done::result(json!({
            "total": ids.len(), "completed": completed, "failed": failed, "renamed": renamed, "failures": failures,
        })))
    }

    /// Those of the items that are in a library.
    async fn find_there(&self, ids: &[String], library_id: &str) -> Result<Vec<String>, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let lying = repo::bulk::lying(&mut tx, ids).await?;
        let there = lying
            .into_iter()
            .filter(|(_, item)| item.library_id == library_id);
        Ok(there.map(|(id, _)| id).collect())
    }

    /// Names items that came into a library by its rules, and returns the number of those that got names. They have come
    /// anyway, so a fault is a warning.
    async fn name_moved(&self, job: &JobContext, target: &str, came: &[String]) -> Result<usize, JobError> {
        let Some(naming) = self.helpers.naming().filter(|_| !came.is_empty()) else {
            return Ok(0);
        };
        let mut tx = self.db.begin_read().await?;
        let who = self
            .rights
            .find_person(&mut tx, job.created_by(), job.id())
            .await?;
        drop(tx);
        let Some(who) = who else {
            let gone = "Nothing was named: the account of whoever gave the order is gone or deactivated";
            job.warning(gone).await?;
            return Ok(0);
        };
        let order = NamingOrder {
            library_id: target,
            item_ids: came,
            torrent_hash: None,
            is_moving: true,
        };
        match self.name_patiently(job, &*naming, &who, order).await? {
            Ok(named) => {
                for (item, why) in named.failed.iter().take(WARNINGS) {
                    let warning = format!("Item {item}: its file was not named: {why}");
                    job.warning(&warning).await?;
                }
                Ok(named.renamed.len())
            }
            Err(error) => {
                job.warning(&format!("Nothing was named: {error}")).await?;
                Ok(0)
            }
        }
    }

    /// Moves one item, with its folder if nothing else is in it. After an error of the job, another attempt does it.
    async fn move_item(
        &self,
        job: &JobContext,
        at: &Whereabouts,
        target: &str,
        going: &HashSet<String>,
        state: &mut State,
    ) -> Result<Result<(), String>, JobError> {
        let Some(target) = at.libraries.iter().find(|library| library.id == target) else {
            return Ok(Err("Target library not found.".to_owned()));
        };
        let begun = state.moving.take();
        let begun_whole = begun.clone().filter(|unit| {
            unit.source == place::absolute(&at.library.path, &unit.place)
                && place::is_within(&at.item.place, &unit.place)
        });
        let is_begun = begun_whole.is_some();
        let unit = match begun_whole {
            Some(unit) => unit,
            None => match self.unit(at, target, going).await? {
                Ok(unit) => unit,
                Err(why) => return Ok(Err(why)),
            },
        };
        // Its other files move first: as long as the first one is there, so is the item that knows them.
        for file in further(at).filter(|file| !place::is_within(&file.place, &unit.place)) {
            let one = Unit {
                place: file.place.clone(),
                source: place::absolute(&at.library.path, &file.place),
                directory: unit.directory.clone(),
            };
            let is_begun = begun.as_ref() == Some(&one);
            if let Err(why) = self.carry_unit(job, &one, is_begun, state).await? {
                return Ok(Err(why));
            }
            self.write_further(target, &file, &moved(&file.place, &one.place))
                .await?;
        }
        if let Err(why) = self.carry_unit(job, &unit, is_begun, state).await? {
            return Ok(Err(why));
        }
        self.write_down(at, target, &unit).await?;
        Ok(Ok(()))
    }

    /// Moves a file or folder. `is_begun`: true if an earlier attempt may have begun it.
    async fn carry_unit(
        &self,
        job: &JobContext,
        unit: &Unit,
        is_begun: bool,
        state: &mut State,
    ) -> Result<Result<(), String>, JobError> {
        let carried = DataMove {
            id: self.ctx.id(),
            source: unit.source.clone(),
            directory: unit.directory.clone(),
        };
        let mover = &self.outside.mover;
        let lies = match mover.whereabouts(&carried).await {
            Ok(lies) => lies,
            Err(error) => return Ok(Err(format!("{}: {error}", unit.source))),
        };
        let exists = || format!("{} exists already in {}", name(&unit.source), unit.directory);
        let carry = match lies {
            Lies::Source => true,
            Lies::Neither => return Ok(Err(format!("{} is not there", unit.source))),
            Lies::Destination if is_begun => false,
            Lies::Both if is_begun => match mover.remove_original(&carried).await {
                Ok(true) => false,
                Ok(false) => return Ok(Err(exists())),
                Err(error) => return Ok(Err(format!("{}: {error}", unit.source))),
            },
            Lies::Destination => return Ok(Err(format!("{} is not there", unit.source))),
            Lies::Both => return Ok(Err(exists())),
        };
        if carry {
            state.moving = Some(unit.clone());
            jobs::save(job, state).await?;
            if let Err(error) = mover.carry(&carried, None).await {
                return Ok(Err(format!("{}: {error}", unit.source)));
            }
        }
        Ok(Ok(()))
    }

    /// Unit that is moved with an item: the item's file, or the largest folder around it that may go as a whole.
    async fn unit(
        &self,
        at: &Whereabouts,
        target: &MediaLibrary,
        going: &HashSet<String>,
    ) -> Result<Result<Unit, String>, LibraryError> {
        // Folders whose items all go, with these items; from the item's own folder upwards.
        let mut whole: HashMap<String, HashSet<Vec<u8>>> = HashMap::new();
        let mut above = place::parent(&at.item.place);
        while let Some(folder) = above.filter(|folder| !folder.is_empty()) {
            let Some(rows) = self.all_going(at, &folder, going).await? else {
                break;
            };
            let files = rows.iter().map(|(_, item)| place::decode(item)).collect();
            above = place::parent(&folder);
            whole.insert(folder, files);
        }
        let (library, item) = (at.library.path.clone(), at.item.place.clone());
        let (target, roots, own) = (target.path.clone(), self.file_roots.clone(), self.own.clone());
        let choosing = LOOKS.run(move |_| {
            for path in [&library, &target] {
                let is_same = guarded(path, &roots, &own).is_ok_and(|guarded| guarded == *path);
                if !is_same {
                    return Err(format!("{path}: {}", LibraryError::Outside(roots.join(", "))));
                }
            }
            if !Path::new(&target).is_dir() {
                return Err(format!("{target} is not there: make it, or mount its disk"));
            }
            let reach = Eraser::open(Path::new(&library))
                .map_err(|errno| format!("{library}: {}", describe_errno(errno)))?;
            let own = identities(&own);
            let is_owned = |folder: &str| {
                whole.get(folder).is_some_and(|files| {
                    // The target may be inside the folder that would be moved into it.
                    let is_above = Path::new(&target).starts_with(place::absolute(&library, folder));
                    let owned = reach.is_own_folder(&place::decode(folder), files, &own);
                    !is_above && owned == Ok(true)
                })
            };
            let place = folder_along(&item, is_owned).unwrap_or(item);
            Ok(Unit {
                source: place::absolute(&library, &place),
                directory: target,
                place,
            })
        });
        Ok(choosing.await?)
    }

    /// Stores the new places of the items of a unit.
    async fn write_down(
        &self,
        at: &Whereabouts,
        target: &MediaLibrary,
        unit: &Unit,
    ) -> Result<(), LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let is_file = unit.place == at.item.place;
        let rows = if is_file {
            vec![(at.item.id.clone(), at.item.place.clone())]
        } else {
            repo::bulk::below(&mut tx, &at.library.id, &unit.place).await?
        };
        let now = self.ctx.now();
        let mut directories: HashMap<String, String> = HashMap::new();
        for (id, item) in rows
            .iter()
            .filter(|(_, item)| place::is_within(item, &unit.place))
        {
            let item = moved(item, &unit.place);
            let directory = self.row_of(&mut tx, target, &item, &mut directories).await?;
            repo::bulk::relocate(&mut tx, id, &target.id, &directory, &item, now).await?;
        }
        if !is_file {
            let copies = repo::copies::below(&mut tx, &at.library.id, &unit.place).await?;
            let copies = copies.into_iter().map(|copy| Further {
                id: copy.id,
                place: copy.place,
                is_extra: false,
            });
            let extras = repo::extras::below(&mut tx, &at.library.id, &unit.place).await?;
            let extras = extras.into_iter().map(|extra| Further {
                id: extra.id,
                place: extra.place,
                is_extra: true,
            });
            for file in copies
                .chain(extras)
                .filter(|file| place::is_within(&file.place, &unit.place))
            {
                let to = moved(&file.place, &unit.place);
                self.put_further(&mut tx, target, &file, &to, &mut directories)
                    .await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }

    /// Stores the new place of a further file of an item.
    async fn write_further(
        &self,
        target: &MediaLibrary,
        file: &Further,
        to: &str,
    ) -> Result<(), LibraryError> {
        let mut tx = self.db.begin_write().await?;
        self.put_further(&mut tx, target, file, to, &mut HashMap::new())
            .await?;
        tx.commit().await?;
        Ok(())
    }

    async fn put_further(
        &self,
        tx: &mut Tx,
        target: &MediaLibrary,
        file: &Further,
        to: &str,
        directories: &mut HashMap<String, String>,
    ) -> Result<(), LibraryError> {
        let directory = self.row_of(tx, target, to, directories).await?;
        if file.is_extra {
            let owner = owner_of(&place::shown(to), target.kind).folder;
            repo::extras::relocate(tx, &file.id, &target.id, &directory, to, &owner).await?;
        } else {
            repo::copies::relocate(tx, &file.id, &target.id, &directory, to).await?;
        }
        Ok(())
    }

    /// Id of the row of the directory in the target library that a file is in.
    async fn row_of(
        &self,
        tx: &mut Tx,
        target: &MediaLibrary,
        file: &str,
        directories: &mut HashMap<String, String>,
    ) -> Result<String, LibraryError> {
        let folder = place::parent(file).unwrap_or_default();
        if let Some(known) = directories.get(&folder) {
            return Ok(known.clone());
        }
        let row = repo::bulk::directory(tx, &target.id, &folder, self.ctx.id()).await?;
        directories.insert(folder, row.clone());
        Ok(row)
    }
}

/// A file that moves along with the first one of an item.
struct Further {
    id: String,
    place: String,
    is_extra: bool,
}

/// Files that move along with an item's first one.
fn further(at: &Whereabouts) -> impl Iterator<Item = Further> + '_ {
    let copies = at.copies.iter().map(|copy| Further {
        id: copy.id.clone(),
        place: copy.place.clone(),
        is_extra: false,
    });
    let extras = at.extras.iter().map(|extra| Further {
        id: extra.id.clone(),
        place: extra.place.clone(),
        is_extra: true,
    });
    copies.chain(extras)
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
