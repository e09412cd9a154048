//! Moves the data of torrents, for the clients that do not: [`DataMover`].
//!
//! Paths are absolute and may be anywhere below the hard roots, whatever the Default Root Path is: they come from torrent
//! clients, not from somebody who browses. A move is an operation as any other, with its messages, and can be cancelled.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use qm_kernel::{Caller, ErrorKind};
use qm_ports::carry::{
    CarryError, DataCheck, DataFile, DataMove, DataMover, DataPlace, DataSeen, Sighting, Stayed, Whereabouts,
};

use super::operations::{Outcome, Subject};
use super::{Files, lane_of};
use crate::error::FilesError;
use qm_confined::{FsError, Roots};
use qm_file_operations::{self as ops, Control, Lane};

const OPERATION: &str = "move";

impl From<FilesError> for CarryError {
    fn from(error: FilesError) -> Self {
        let kind = match &error {
            FilesError::Fs(error) => error.kind(),
            FilesError::TooManyOperations => ErrorKind::Unavailable,
            _ => ErrorKind::Internal,
        };
        Self {
            kind,
            code: error.code(),
            message: error.public(),
        }
    }
}

/// Refusal to touch data: the file system fails, or the data there is not the torrent's.
enum Refusal {
    Fs(FsError),
    Data(CarryError),
}

impl From<FsError> for Refusal {
    fn from(error: FsError) -> Self {
        Refusal::Fs(error)
    }
}

impl From<Refusal> for CarryError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Fs(error) => FilesError::from(error).into(),
            Refusal::Data(error) => error,
        }
    }
}

fn conflict(message: String) -> Refusal {
    Refusal::Data(CarryError {
        kind: ErrorKind::Conflict,
        code: "conflict.other_data",
        message,
    })
}

/// Path that the data gets.
fn target(job: &DataMove) -> Option<PathBuf> {
    let name = Path::new(&job.source).file_name()?;
    Some(Path::new(&job.directory).join(name))
}

fn check(
    roots: &Roots,
    job: &DataMove,
    whole: Vec<DataFile>,
    control: &Control,
) -> Result<DataCheck, Refusal> {
    let item = match ops::find_told(roots, Path::new(&job.source)) {
        Err(FsError::Outside | FsError::Escapes) => {
            return Err(Refusal::Data(CarryError {
                kind: ErrorKind::Forbidden,
                code: "forbidden.data_outside_roots",
                message: format!(
                    "The torrent's data at {} is outside the allowed storage roots ({}): move it with the torrent client",
                    job.source,
                    roots.paths().join(", ")
                ),
            }));
        }
        found => found?,
    };
    let destination = roots.directory(Path::new(&job.directory))?;
    let files = whole.into_iter().map(|file| (file.path, file.size));
    let Some(item) = item else {
        let there = target(job)
            .map(|target| ops::find_told(roots, &target))
            .transpose()?;
        return Ok(match there.flatten() {
            Some(there) if ops::missing(&there, files, control)?.is_none() => DataCheck::Moved,
            _ => DataCheck::Absent,
        });
    };
    if let Some((count, one)) = ops::missing(&item, files, control)? {
        return Err(conflict(format!(
            "What lies at {} is not the torrent's data: {count} of its files are missing or have another size, e.g. {one}; \
             check that the torrent client and this server see the same folder there",
            job.source
        )));
    }
    ops::check_move(&item, &destination, control)?;
    Ok(DataCheck::Ready)
}

fn is_at(roots: &Roots, path: Option<&Path>) -> Result<bool, FsError> {
    match path.map(|path| ops::find_told(roots, path)) {
        None | Some(Ok(None)) => Ok(false),
        Some(Ok(Some(_))) => Ok(true),
        Some(Err(error)) => Err(error),
    }
}

impl Files {
    async fn off_thread<T: Send + 'static>(
        &self,
        lane: Lane<'_>,
        work: impl FnOnce(&Roots) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, CarryError> {
        let roots = self.roots.clone();
        let done: Result<T, Refusal> = self.workers.run(lane, move || work(&roots)).await;
        Ok(done?)
    }
}

#[async_trait]
impl DataMover for Files {
    async fn check(&self, job: &DataMove, whole: &[DataFile]) -> Result<DataCheck, CarryError> {
        let (job, whole) = (job.clone(), whole.to_vec());
        let control = Control::quiet(self.stopping.clone());
        self.off_thread(Lane::Long, move |roots| check(roots, &job, whole, &control))
            .await
    }

    async fn carry(&self, job: &DataMove, by: Option<Caller<'_>>) -> Result<(), CarryError> {
        let caller = by.map(Caller::to_requester);
        let caller = caller.as_ref();
        let subject = Subject {
            operation: OPERATION,
            source: Some(job.source.clone()),
            destination: Some(job.directory.clone()),
        };
        let operation = self
            .operations
            .begin_apart(Some(job.id.clone()), caller, subject)
            .await?;
        let (control, asked) = (operation.control(), job.clone());
        let roots = self.roots.clone();
        let prepared = self.workers.run(Lane::Quick, move || {
            let item = ops::find_told(&roots, Path::new(&asked.source))?;
            let item = item.ok_or_else(|| FsError::NotFound(asked.source.clone()))?;
            let destination = roots.directory(Path::new(&asked.directory))?;
            let meta = item.meta()?;
            let renames = ops::is_one_file_system(&meta, &destination)?;
            Ok::<_, FsError>((item, destination, lane_of(meta.is_dir() || !renames)))
        });
        let moved = match prepared.await {
            Ok((item, destination, lane)) => {
                let how = ops::Transfer {
                    verify: true,
                    ..ops::Transfer::default()
                };
                let work = move || ops::move_to(&item, &destination, &how, &control);
                self.workers.run(lane, work).await.map(Some)
            }
            Err(error) => Err(error),
        };
        let moved = match moved {
            // The copy is whole and in its place: that is where the data is from now on.
            Err(FsError::SourceKept { path, source }) => {
                tracing::warn!(path, error = %source, "the data of a torrent was copied; its original could not be removed");
                Ok(None)
            }
            other => other.map_err(FilesError::from),
        };
        operation.end(&Outcome::from_result(&moved, |done| Outcome {
            item_count: done.as_ref().map(|done| done.usage.items + 1),
            bytes: done.as_ref().map(|done| done.usage.bytes),
            ..Outcome::default()
        }));
        if let Some(done) = moved? {
            self.db.tell(self.moved(caller, &done.from, &done.to)).await;
        }
        Ok(())
    }

    async fn whereabouts(&self, job: &DataMove) -> Result<Whereabouts, CarryError> {
        let job = job.clone();
        self.off_thread(Lane::Quick, move |roots| {
            let at_source = is_at(roots, Some(Path::new(&job.source)))?;
            let at_target = is_at(roots, target(&job).as_deref())?;
            Ok(match (at_source, at_target) {
                (true, true) => Whereabouts::Both,
                (true, false) => Whereabouts::Source,
                (false, true) => Whereabouts::Destination,
                (false, false) => Whereabouts::Neither,
            })
        })
        .await
    }

    async fn remove_original(&self, job: &DataMove) -> Result<bool, CarryError> {
        let job = job.clone();
        let control = Control::quiet(self.stopping.clone()).noting(Arc::clone(&self.journal) as _);
        self.off_thread(Lane::Long, move |roots| {
            let found = |path: Option<&Path>| {
                let item = path.map(|path| ops::find_told(roots, path)).transpose()?;
                item.flatten()
                    .ok_or_else(|| FsError::NotFound(job.source.clone()))
            };
            let original = found(Some(Path::new(&job.source)))?;
            let copy = found(target(&job).as_deref())?;
            match ops::remove_copied(&original, &copy, &control) {
                Ok(()) => Ok(true),
                Err(FsError::Changed(_) | FsError::Mismatch(_)) => Ok(false),
                Err(other) => Err(other.into()),
            }
        })
        .await
    }

    async fn sight(&self, paths: Vec<String>) -> Result<Vec<Option<Sighting>>, CarryError> {
        self.off_thread(Lane::Look, move |roots| Ok(ops::sight(roots, &paths)))
            .await
    }

    async fn see(&self, place: &DataPlace) -> Result<Option<DataSeen>, CarryError> {
        let place = place.clone();
        self.off_thread(Lane::Look, move |roots| Ok(ops::see(roots, &place)?))
            .await
    }

    async fn count_remains(&self, seen: &DataSeen) -> Result<usize, CarryError> {
        let seen = seen.clone();
        self.off_thread(Lane::Look, move |roots| Ok(ops::count_remains(roots, &seen)?))
            .await
    }

    async fn remove_remains(&self, seen: &DataSeen) -> Result<Vec<Stayed>, CarryError> {
        let seen = seen.clone();
        self.off_thread(Lane::Long, move |roots| Ok(ops::remove_remains(roots, &seen)?))
            .await
    }
}
