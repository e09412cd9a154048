//! What a file holds, as far as it can be shown.
//! Bounds: [`MAX_READ`] bytes of a file are read.

use std::io::Read;

use super::Files;
use super::browse::shown_name;
use crate::dto::answers::Preview;
use crate::dto::requests::PreviewQuery;
use crate::error::FilesError;
use crate::model::encoding::{Encoding, is_binary};
use crate::model::kind::{Kind, extension, mime};
use crate::ops::Lane;
use qm_confined::{ConfinedPath, FsError, Intent};

const MAX_READ: u64 = 1024 * 1024;

impl Files {
    pub async fn preview(&self, query: PreviewQuery) -> Result<Preview, FilesError> {
        let rel = query.path.rel()?;
        let wanted = query.encoding.as_deref().and_then(Encoding::from_name);
        self.on_disk(Lane::Look, move |base| {
            let item = base.resolve(&rel, Intent::Read)?;
            preview(&item, wanted)
        })
        .await
    }
}

fn preview(item: &ConfinedPath, wanted: Option<Encoding>) -> Result<Preview, FilesError> {
    if item.meta()?.is_dir() {
        return Err(FilesError::PreviewsDirectory);
    }
    // Opened whatever it is: what cannot be read has no preview.
    let (file, meta) = item.open_file()?;
    let name = shown_name(item);
    let extension = extension(&name);
    let kind = Kind::of(extension.as_deref());
    let mut preview = Preview {
        path: item.rel().text(),
        path_raw: item.rel().raw(),
        size: meta.size,
        kind: kind.as_str(),
        mime: mime(extension.as_deref()),
        streamable: kind.streamable(),
        content: None,
        encoding: None,
        detected_encoding: None,
        truncated: false,
        reason: None,
        name,
    };
    if kind.streamable() {
        return Ok(preview);
    }
    if kind == Kind::Archive {
        preview.reason = Some("Archives cannot be previewed");
        return Ok(preview);
    }
    let mut bytes = Vec::new();
    file.take(MAX_READ + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| FsError::io(error, item.rel()))?;
    preview.truncated = bytes.len() as u64 > MAX_READ;
    bytes.truncate(MAX_READ as usize);
    if is_binary(&bytes) {
        preview.reason = Some("Binary files cannot be previewed");
        return Ok(preview);
    }
    let detected = Encoding::detect(&bytes, kind == Kind::Nfo);
    let encoding = wanted.unwrap_or(detected);
    preview.content = Some(encoding.decode(&bytes));
    preview.encoding = Some(encoding.as_str());
    preview.detected_encoding = Some(detected.as_str());
    Ok(preview)
}
