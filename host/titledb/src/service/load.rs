//! Loading a store: files, keys, names, indexes, and the exchange with the present store.
//!
//! Each batch is one transaction of the store together with the progress, so a killed import continues behind
//! the last batch. The store in use stays untouched until the new one is complete. Bounds: two batches wait
//! while a third is read and a fourth is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use qm_db::{Db, DbError, Tx};
use qm_lanes::LaneError;
use tokio::sync::mpsc;

use super::store::Store;
use crate::lanes::{COMPUTE, FILES, IMPORTS, LOOKS};
use crate::model::file::Sort;
use crate::model::ids::IdSet;
use crate::model::plan::{Loaded, Plan, Stage};
use crate::model::postings::{BLOCK, Lists, block as block_of};
use crate::model::trigrams::{self, Run};
use crate::ops::read::{self, FileFault, Piece, Present, Reach};
use crate::repo::names::{self, Named, NewName, NewSeries};
use crate::repo::{load, postings, schema};
use qm_titles::{key, normalise};

const WAITING: usize = 2;
/// Interval of the stop check while there is nothing to write.
const SILENCE: Duration = Duration::from_millis(500);
/// Share of the files in the whole work, in percent.
const FILES_PERCENT: f64 = 70.0;
const NAMES_PERCENT: f64 = 18.0;
const LISTS_PERCENT: f64 = 10.0;
/// Names read at a time for the posting lists.
const NAMES_AT_ONCE: i64 = 1 << 14;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{0}")]
    File(#[from] FileFault),
    #[error(transparent)]
    Database(#[from] DbError),
    /// A user asked it to stop.
    #[error("it was stopped")]
    Stopped,
    #[error("{0}")]
    Failed(LaneError),
}

impl From<LaneError> for LoadError {
    fn from(error: LaneError) -> Self {
        match error {
            // The process ends; the next one continues the import.
            LaneError::Stopped => LoadError::Stopped,
            other => LoadError::Failed(other),
        }
    }
}

/// Receives the progress of a load, and can end it.
#[async_trait]
pub trait Watch: Send + Sync {
    /// Called after each step; `percent` of the whole work. An error ends the load; loaded data stays.
    async fn step(&self, percent: f64, phase: &str, loaded: &Loaded) -> Result<(), LoadError>;
}

struct Loading<'a> {
    db: Db,
    loaded: Loaded,
    watch: &'a dyn Watch,
    began: Instant,
    /// Milliseconds of earlier runs.
    before: u64,
    /// Bytes of all files, and bytes read so far.
    total: u64,
    read: u64,
}

/// Loads the planned files of a directory, or continues, and publishes the store.
pub async fn load(
    store: &Store,
    directory: &Path,
    plan: &Plan,
    watch: &dyn Watch,
) -> Result<Loaded, LoadError> {
    let files = present(directory, plan).await?;
    let first = plan.sources().next().map(|source| source.file);
    if files.first().map(|file| file.source.file) != first {
        return Err(FileFault::Missing {
            file: first.unwrap_or_default(),
        }
        .into());
    }
    let fingerprint = read::fingerprint(directory, &files, plan);
    // The server was killed right after the exchange, or the files have not changed.
    if let Some(live) = store.live().await?
        && live.loaded.fingerprint == fingerprint
    {
        return Ok(live.loaded.clone());
    }
    let boot = FILES.run_for(None, |_| read::boot()).await?;
    let (db, mut loaded) = store.next(&fingerprint, &boot).await?;
    loaded.dataset_date = files.iter().map(|file| file.modified).max();
    loaded.strategy = Some(plan.strategy);
    let mut loading = Loading {
        before: loaded.stats.duration_ms,
        total: files.iter().map(|file| file.size).sum::<u64>().max(1),
        read: 0,
        began: Instant::now(),
        db,
        loaded,
        watch,
    };
    let done = loading.run(directory, &files, plan).await;
    let Loading { db, loaded, .. } = loading;
    if let Err(error) = done {
        db.close().await;
        return Err(error);
    }
    store.publish(db).await?;
    Ok(loaded)
}

/// The present files of a plan, in order.
pub async fn present(directory: &Path, plan: &Plan) -> Result<Vec<Present>, LoadError> {
    let (directory, plan) = (directory.to_owned(), plan.clone());
    Ok(LOOKS.run(move |_| read::present(&directory, &plan)).await?)
}

impl Loading<'_> {
    async fn run(&mut self, directory: &Path, files: &[Present], plan: &Plan) -> Result<(), LoadError> {
        let mut kept = IdSet::default();
        let resumed = self.loaded.lines > 0 || !self.loaded.done.is_empty();
        if plan.needs_titles() && resumed {
            kept = load::ids(&mut self.db.begin_read().await?).await?;
        }
        for file in files {
            if self.loaded.done.iter().any(|done| done == file.source.key()) {
                self.read += file.size;
                continue;
            }
            kept = self.file(directory, file, plan, kept).await?;
        }
        drop(kept);
        self.keys().await?;
        self.names().await?;
        self.lists().await?;
        self.indexes().await?;
        self.enter(Stage::Complete).await?;
        Ok(())
    }

    /// Reads a file in a lane, and writes its rows. Dropping the future ends the reading too.
    async fn file(
        &mut self,
        directory: &Path,
        file: &Present,
        plan: &Plan,
        mut kept: IdSet,
    ) -> Result<IdSet, LoadError> {
        let (sender, mut pieces) = mpsc::channel::<Piece>(WAITING);
        let bytes = Arc::new(AtomicU64::new(0));
        let (counted, plan, source) = (bytes.clone(), plan.clone(), file.source);
        let (directory, skipped): (PathBuf, u64) = (directory.to_owned(), self.loaded.lines);
        let reader = IMPORTS.start(move |cancel| {
            let opened = read::open(&directory, source, counted, Reach::WHOLE, &cancel)?;
            opened.read(&plan, &mut kept, skipped, |piece| {
                sender.blocking_send(piece).is_ok()
            })?;
            Ok::<_, FileFault>(kept)
        })?;
        loop {
            let Ok(piece) = tokio::time::timeout(SILENCE, pieces.recv()).await else {
                // Within skipped rows; a stop may have been requested meanwhile.
                self.watch
                    .step(self.percent(&bytes), source.file, &self.loaded)
                    .await?;
                continue;
            };
            let Some(piece) = piece else { break };
            self.loaded.lines = piece.lines;
            self.loaded.stats.add(&piece.stats);
            if source.table == crate::model::file::Table::Titles {
                self.loaded.titles += piece.stats.rows_imported;
            }
            self.loaded.stats.duration_ms = self.duration();
            let mut tx = self.db.begin_write().await?;
            load::add(&mut tx, &piece.batch).await?;
            schema::set_loaded(&mut tx, &self.loaded).await?;
            tx.commit().await?;
            let percent = self.percent(&bytes);
            self.watch.step(percent, source.file, &self.loaded).await?;
        }
        let kept = match reader.await? {
            Ok(kept) => kept,
            Err(FileFault::Stopped) => return Err(LoadError::Stopped),
            Err(fault) => return Err(fault.into()),
        };
        self.read += file.size;
        self.loaded.done.push(source.key().to_owned());
        self.loaded.stats.datasets.push(source.key().to_owned());
        self.loaded.lines = 0;
        self.save().await?;
        Ok(kept)
    }

    /// Percentage of the whole work, including the file being read.
    fn percent(&self, bytes: &AtomicU64) -> f64 {
        let done = (self.read + bytes.load(Ordering::Relaxed)) as f64 / self.total as f64;
        done.min(1.0) * FILES_PERCENT
    }

    fn duration(&self) -> u64 {
        self.before + u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn save(&mut self) -> Result<(), DbError> {
        self.loaded.stats.duration_ms = self.duration();
        let mut tx = self.db.begin_write().await?;
        schema::set_loaded(&mut tx, &self.loaded).await?;
        tx.commit().await
    }

    async fn enter(&mut self, stage: Stage) -> Result<(), DbError> {
        self.loaded.stage = stage;
        self.save().await
    }

    async fn keys(&mut self) -> Result<(), LoadError> {
        if self.loaded.stage != Stage::Files {
            return Ok(());
        }
        for key in schema::KEYS {
            self.watch.step(FILES_PERCENT, "keys", &self.loaded).await?;
            if let Err(error) = self.key(*key).await {
                if !error.is_unique_violation() {
                    return Err(error.into());
                }
                let mut tx = self.db.begin_write().await?;
                schema::keep_first(&mut tx, *key).await?;
                tx.commit().await?;
                self.key(*key).await?;
            }
        }
        self.statement(names::ANALYZE).await?;
        self.enter(Stage::Rated {
            votes: i64::MAX,
            id: i64::MAX,
            rank: 0,
        })
        .await?;
        Ok(())
    }

    async fn key(&self, key: schema::Key) -> Result<(), DbError> {
        let mut tx = self.db.begin_write().await?;
        schema::key(&mut tx, key).await?;
        tx.commit().await
    }

    /// Runs a statement on PostgreSQL in its own transaction.
    async fn statement(&self, text: &'static str) -> Result<(), DbError> {
        let mut tx = self.db.begin_write().await?;
        names::index(&mut tx, text).await?;
        tx.commit().await
    }

    /// Builds the names of all titles, [`names::STEP`] titles per transaction.
    async fn names(&mut self) -> Result<(), LoadError> {
        let mut titles: u64 = 0;
        loop {
            let mut tx = self.db.begin_write().await?;
            let (found, akas, stage) = match self.loaded.stage {
                Stage::Rated { votes, id, rank } => {
                    let (found, akas) = names::rated(&mut tx, votes, id).await?;
                    (found, akas, Stage::Rated { votes, id, rank })
                }
                Stage::Unrated { id, rank } => {
                    let (found, akas) = names::unrated(&mut tx, id).await?;
                    (found, akas, Stage::Unrated { id, rank })
                }
                Stage::Files | Stage::Lists { .. } | Stage::Index | Stage::Complete => return Ok(()),
            };
            let rank = match stage {
                Stage::Rated { rank, .. } | Stage::Unrated { rank, .. } => rank,
                _ => 0,
            };
            titles += found.len() as u64;
            let ended = (found.len() as i64) < names::STEP;
            let last = found.last().map(|last| (last.votes, last.id));
            let (new, series, next) = name_all(found, akas, rank);
            names::add(&mut tx, &new, &series).await?;
            self.loaded.stage = match (stage, last) {
                (Stage::Rated { .. }, _) if ended => Stage::Unrated { id: -1, rank: next },
                (Stage::Rated { .. }, Some((votes, id))) => Stage::Rated {
                    votes,
                    id,
                    rank: next,
                },
                (_, Some((_, id))) if !ended => Stage::Unrated { id, rank: next },
                _ => Stage::Lists { block: 0 },
            };
            self.loaded.names = Some(next);
            self.loaded.stats.duration_ms = self.duration();
            schema::set_loaded(&mut tx, &self.loaded).await?;
            tx.commit().await?;
            let share = titles as f64 / self.loaded.titles.max(1) as f64;
            let percent = FILES_PERCENT + share.min(1.0) * NAMES_PERCENT;
            self.watch.step(percent, "names", &self.loaded).await?;
        }
    }

    /// Builds the posting lists, one block of names per transaction.
    async fn lists(&mut self) -> Result<(), LoadError> {
        if !matches!(self.loaded.stage, Stage::Lists { .. }) {
            return Ok(());
        }
        for text in names::INDEXES {
            self.watch
                .step(FILES_PERCENT + NAMES_PERCENT, "indexes", &self.loaded)
                .await?;
            self.statement(text).await?;
        }
        let last = self.loaded.names.unwrap_or(0);
        while let Stage::Lists { block } = self.loaded.stage {
            let mut tx = self.db.begin_write().await?;
            let lists = lists_of(&mut tx, block, last).await?;
            postings::add(&mut tx, block, &lists).await?;
            let next = block + 1;
            self.loaded.stage = if next <= block_of(last) {
                Stage::Lists { block: next }
            } else {
                Stage::Index
            };
            self.loaded.stats.duration_ms = self.duration();
            schema::set_loaded(&mut tx, &self.loaded).await?;
            tx.commit().await?;
            let share = next as f64 / (block_of(last) + 1) as f64;
            let percent = FILES_PERCENT + NAMES_PERCENT + share * LISTS_PERCENT;
            self.watch.step(percent, "names", &self.loaded).await?;
        }
        Ok(())
    }

    async fn indexes(&mut self) -> Result<(), LoadError> {
        let percent = FILES_PERCENT + NAMES_PERCENT + LISTS_PERCENT;
        self.watch.step(percent, "indexes", &self.loaded).await?;
        let mut tx = self.db.begin_write().await?;
        schema::script(&mut tx, names::LISTS).await?;
        tx.commit().await?;
        self.statement(names::ANALYZE).await?;
        Ok(())
    }
}

/// Posting lists of the names of a block, up to the last rank.
async fn lists_of(tx: &mut Tx, block: i64, last: i64) -> Result<Vec<(Run, u64, Vec<u8>)>, LoadError> {
    let end = last.min((block + 1) * BLOCK - 1);
    let (mut lists, mut after) = (Lists::default(), block * BLOCK - 1);
    while after < end {
        let until = end.min(after + NAMES_AT_ONCE);
        let names = postings::names(tx, after, until).await?;
        let adding = COMPUTE.run(move |_| {
            for name in &names {
                lists.add(name.rank, &trigrams::runs_of(&name.name, name.year, name.sort));
            }
            lists
        });
        lists = adding.await?;
        after = until;
    }
    Ok(lists.done())
}

/// Names of titles, each name once per title, and the last rank.
fn name_all(
    found: Vec<Named>,
    mut akas: Vec<(i64, String)>,
    mut rank: i64,
) -> (Vec<NewName>, Vec<NewSeries>, i64) {
    akas.sort_by_key(|(id, _)| *id);
    let (mut new, mut series): (Vec<NewName>, Vec<NewSeries>) = (Vec::new(), Vec::new());
    for named in found {
        let Some(title) = named.title else {
            continue;
        };
        let sort = Sort::from_title_type(named.kind.as_deref().unwrap_or_default());
        if sort == Sort::Tv {
            let key = key(&title);
            if !key.is_empty() {
                series.push(NewSeries {
                    key,
                    id: named.id,
                    start_year: named.start_year,
                });
            }
        }
        let from = akas.partition_point(|(id, _)| *id < named.id);
        let to = akas.partition_point(|(id, _)| *id <= named.id);
        let others = akas[from..to].iter().map(|(_, name)| name.as_str());
        let mut names: Vec<String> = Vec::new();
        for name in [Some(title.as_str()), named.original.as_deref()]
            .into_iter()
            .flatten()
            .chain(others)
        {
            let name = normalise(name);
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        for name in names {
            rank += 1;
            new.push(NewName {
                rank,
                title_id: named.id,
                name,
                year: named.start_year,
                sort: sort as i64,
            });
        }
    }
    (new, series, rank)
}
