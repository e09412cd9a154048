//! Files and folders that torrents are made of: the way from a path to an open handle.

use qm_confined::{ConfinedPath, FsError, Intent, Kind, RelPath, Roots};

use super::{CreatedTorrents, refuse_seed};
use crate::error::CreatedError;
use crate::lanes::LOOKS;

/// A file or folder that was found.
pub(super) struct Place {
    /// The root in effect.
    pub root: String,
    /// Percent-encoded, below that root.
    pub path: String,
    /// The name that it has on the disk, as far as it is text.
    pub name: String,
    pub is_folder: bool,
    /// The directory that holds it, as an engine is told of it.
    pub directory: Result<String, CreatedError>,
}

/// A file or folder that was opened again.
pub(super) struct Opened {
    pub item: ConfinedPath,
    /// The directory that holds it, as an engine is told of it.
    pub directory: Result<String, CreatedError>,
}

impl CreatedTorrents {
    /// Looks at a file or folder that somebody asks for.
    pub(super) async fn look_up(&self, rel: RelPath) -> Result<Place, CreatedError> {
        let (root, path) = (self.find_root().await?, rel.encoded());
        let roots = self.roots.clone();
        let looking = LOOKS.run(move |_| {
            let (item, root) = locate(&roots, root.as_deref(), &rel)?;
            let meta = item.meta()?;
            if meta.kind == Kind::Special {
                return Err(FsError::Special(rel.text()));
            }
            let absolute = item.absolute();
            let name = absolute.file_name().unwrap_or(absolute.as_os_str());
            Ok(Place {
                root,
                path,
                name: name.to_string_lossy().into_owned(),
                is_folder: meta.is_dir(),
                directory: find_directory(&roots, &item),
            })
        });
        Ok(looking.await??)
    }

    /// Opens a file or folder that was found before, unless the root is another one by now; none: it is.
    pub(super) async fn open_again(&self, root: &str, path: &str) -> Result<Option<Opened>, CreatedError> {
        let rel = RelPath::from_raw(path)?;
        let (configured, roots) = (self.find_root().await?, self.roots.clone());
        let opening = LOOKS.run(move |_| {
            let (item, now) = locate(&roots, configured.as_deref(), &rel)?;
            let directory = find_directory(&roots, &item);
            Ok::<_, FsError>((Opened { item, directory }, now))
        });
        let (opened, now) = opening.await??;
        Ok((now == root).then_some(opened))
    }

    /// Refuses a place whose content no engine can be told of.
    pub(super) async fn check_directory(
        &self,
        directory: Result<String, CreatedError>,
    ) -> Result<(), CreatedError> {
        let judged = self.seeds.check_directory(&directory?).await;
        judged.map_err(refuse_seed)?;
        Ok(())
    }

    async fn find_root(&self) -> Result<Option<String>, CreatedError> {
        let found = self.default_root.find_default_root().await;
        found.map_err(CreatedError::Root)
    }
}

/// The directory that holds an item, by the path that its root is configured by: engines know it by that, also where it is a
/// link.
fn find_directory(roots: &Roots, item: &ConfinedPath) -> Result<String, CreatedError> {
    let root_itself = || {
        let text = format!(
            "{} is a root of the files, and no engine can be told of the folder that holds it: name a file or folder in it, \
             or leave seed out",
            item.rel().text()
        );
        CreatedError::Seed(text)
    };
    let absolute = item.absolute();
    let above = absolute.parent().ok_or_else(root_itself)?;
    let told = roots.outward_path(above).map_err(|error| match error {
        FsError::Outside => root_itself(),
        other => other.into(),
    })?;
    told.to_str().map(str::to_owned).ok_or_else(|| {
        let text =
            "the name of a folder above the content is not UTF-8, so no engine can be told of it: rename it";
        CreatedError::Seed(text.to_owned())
    })
}

/// A path below the root in effect, with links resolved, and that root.
fn locate(roots: &Roots, configured: Option<&str>, rel: &RelPath) -> Result<(ConfinedPath, String), FsError> {
    // A Default Root Path that cannot be used is passed over, as the file manager does.
    let (base, _) = roots.base(configured);
    let root = base.root().ok_or(FsError::NoRoot)?;
    Ok((base.resolve(rel, Intent::Read)?, root))
}
