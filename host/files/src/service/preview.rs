//! Preview of a file's content.
//! Bounds: [`MAX_READ`] bytes of a file are read.

use std::io::Read;

use qm_confined::{ConfinedPath, FsError};

use crate::dto::answers::Preview;
use crate::error::FilesError;
use qm_file_contents::{Encoding, Kind, extension, is_binary, mime};
use qm_file_operations::shown_name;

const MAX_READ: u64 = 1024 * 1024;

/// Preview of a file, its text in the encoding of that name; of an unknown name in the one it probably has.
pub fn preview(item: &ConfinedPath, encoding: Option<&str>) -> Result<Preview, FilesError> {
    if item.meta()?.is_dir() {
        return Err(FilesError::PreviewsDirectory);
    }
    // Opened whatever it is: what cannot be read has no preview.
    let (file, meta) = item.open_file()?;
    let name = shown_name(item);
    let extension = extension(&name);
    let kind = Kind::from_extension(extension.as_deref());
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
    let encoding = encoding.and_then(Encoding::from_name).unwrap_or(detected);
    preview.content = Some(encoding.decode(&bytes));
    preview.encoding = Some(encoding.as_str());
    preview.detected_encoding = Some(detected.as_str());
    Ok(preview)
}
