//! Files and folders that torrents are made of: the way from a path to an open handle.

use qm_confined::{ConfinedPath, FsError, Intent, Kind, RelPath, Roots};

use super::CreatedTorrents;
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
            })
        });
        Ok(looking.await??)
    }

    /// Opens a file or folder that was found before, unless the root is another one by now; none: it is.
    pub(super) async fn open_again(
        &self,
        root: &str,
        path: &str,
    ) -> Result<Option<ConfinedPath>, CreatedError> {
        let rel = RelPath::from_raw(path)?;
        let (configured, roots) = (self.find_root().await?, self.roots.clone());
        let opening = LOOKS.run(move |_| locate(&roots, configured.as_deref(), &rel));
        let (item, now) = opening.await??;
        Ok((now == root).then_some(item))
    }

    async fn find_root(&self) -> Result<Option<String>, CreatedError> {
        let found = self.default_root.find_default_root().await;
        found.map_err(CreatedError::Root)
    }
}

/// A path below the root in effect, with links resolved, and that root.
fn locate(roots: &Roots, configured: Option<&str>, rel: &RelPath) -> Result<(ConfinedPath, String), FsError> {
    // A Default Root Path that cannot be used is passed over, as the file manager does.
    let (base, _) = roots.base(configured);
    let root = base.root().ok_or(FsError::NoRoot)?;
    Ok((base.resolve(rel, Intent::Read)?, root))
}
