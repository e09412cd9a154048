//! Names and relative paths: bytes, as the file system has them, and their two forms in the API.
//!
//! A path travels as text (`/films/a.mkv`). A name that is not UTF-8 shows U+FFFD there, so it also travels percent-encoded
//! (`nameRaw`, `pathRaw`), and a request may name it by that form. Both forms exist for every path; responses carry the raw
//! one only where the text is not the whole truth.
//!
//! Bounds: a component is 1..=255 bytes for the kernel to accept; a request path is at most [`MAX_PATH_BYTES`].

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::FsError;

/// The trash of each root. Never visible, at any level.
pub const TRASH_DIR: &str = ".quartermaster-trash";

/// Beginning of the names of unfinished copies. Never visible; swept at start.
pub const TEMP_PREFIX: &str = ".quartermaster-tmp-";

/// Longer request paths are refused: deeper than any tree a kernel path could reach, short enough to walk at once.
pub const MAX_PATH_BYTES: usize = 64 * 1024;

/// Longest name the usual file systems hold, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// One name in a directory: not empty, no `/`, no NUL, not `.` or `..`. The only thing a directory handle is asked for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Component(OsString);

impl Component {
    pub fn new(name: &OsStr) -> Option<Self> {
        let bytes = name.as_bytes();
        let plain = !bytes.is_empty() && bytes != b"." && bytes != b"..";
        (plain && !bytes.contains(&b'/') && !bytes.contains(&0)).then(|| Self(name.to_owned()))
    }

    /// A new folder's name, by the API's rules.
    pub fn folder(name: &str) -> Result<Self, FsError> {
        Self::chosen(name).ok_or(FsError::InvalidFolderName)
    }

    /// A file's new name, by the API's rules.
    pub fn file(name: &str) -> Result<Self, FsError> {
        Self::chosen(name).ok_or(FsError::InvalidFileName)
    }

    /// Rules for names people choose; existing names may break them. Ours are reserved. Longer than 255 *bytes* is left to
    /// the file system to judge, whose answer says so.
    fn chosen(name: &str) -> Option<Self> {
        let length = name.chars().count();
        let own = Self::new(OsStr::new(name)).filter(|name| !name.is_hidden())?;
        ((1..=255).contains(&length) && !name.contains('\\')).then_some(own)
    }

    pub fn trusted(name: String) -> Self {
        debug_assert!(Self::new(OsStr::new(&name)).is_some());
        Self(OsString::from(name))
    }

    pub fn as_os(&self) -> &OsStr {
        &self.0
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The name as shown: U+FFFD where it is not UTF-8.
    pub fn text(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }

    /// Percent-encoded bytes, when [`text`](Self::text) is not the whole truth.
    pub fn raw(&self) -> Option<String> {
        self.0.to_str().is_none().then(|| encode(self.as_bytes()))
    }

    /// The trash directory, in any case a case-folding file system would take for it.
    pub fn is_trash(&self) -> bool {
        self.as_bytes().eq_ignore_ascii_case(TRASH_DIR.as_bytes())
    }

    pub fn is_temporary(&self) -> bool {
        let bytes = self.as_bytes();
        bytes.len() >= TEMP_PREFIX.len()
            && bytes[..TEMP_PREFIX.len()].eq_ignore_ascii_case(TEMP_PREFIX.as_bytes())
    }

    /// Ours: left out of listings and walks, refused as a new name.
    pub fn is_hidden(&self) -> bool {
        self.is_trash() || self.is_temporary()
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A path below the root in effect, lexically normalised: no `.`, no `..`, no empty component. Empty is the root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Vec<Component>);

impl RelPath {
    /// The root itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses the text of a request. Leading slashes are stripped: an absolute path is read as relative to the root.
    pub fn from_text(text: &str) -> Result<Self, FsError> {
        Self::normalise(text.as_bytes())
    }

    /// Parses the percent-encoded form: `%` and two hexadecimal digits is a byte, all other characters stand for themselves.
    pub fn from_raw(raw: &str) -> Result<Self, FsError> {
        Self::normalise(&decode(raw)?)
    }

    pub fn from_components(components: Vec<Component>) -> Self {
        Self(components)
    }

    fn normalise(bytes: &[u8]) -> Result<Self, FsError> {
        if bytes.contains(&0) {
            return Err(FsError::InvalidPath);
        }
        if bytes.len() > MAX_PATH_BYTES {
            return Err(FsError::NameTooLong(format!("a path of {} bytes", bytes.len())));
        }
        let mut components = Vec::new();
        for part in bytes.split(|b| *b == b'/') {
            match part {
                b"" | b"." => {}
                b".." => {
                    components.pop().ok_or(FsError::Outside)?;
                }
                name => components.extend(Component::new(OsStr::from_bytes(name))),
            }
        }
        Ok(Self(components))
    }

    /// `/` and the names, U+FFFD where one is not UTF-8.
    pub fn text(&self) -> String {
        if self.0.is_empty() {
            return "/".into();
        }
        self.0.iter().fold(String::new(), |mut path, name| {
            path.push('/');
            path.push_str(&name.as_os().to_string_lossy());
            path
        })
    }

    /// The percent-encoded form, when [`text`](Self::text) is not the whole truth.
    pub fn raw(&self) -> Option<String> {
        let whole = self.0.iter().all(|name| name.as_os().to_str().is_some());
        (!whole).then(|| self.encoded())
    }

    /// The percent-encoded form of any path: what [`from_raw`](Self::from_raw) reads back to the same bytes.
    pub fn encoded(&self) -> String {
        self.0.iter().fold(String::new(), |mut path, name| {
            path.push('/');
            path.push_str(&encode(name.as_bytes()));
            path
        })
    }

    pub fn components(&self) -> &[Component] {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn name(&self) -> Option<&Component> {
        self.0.last()
    }

    pub fn parent(&self) -> Option<RelPath> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    pub fn join(&self, name: &Component) -> RelPath {
        let mut components = self.0.clone();
        components.push(name.clone());
        Self(components)
    }

    pub fn push(&mut self, name: Component) {
        self.0.push(name);
    }

    pub fn pop(&mut self) -> Option<Component> {
        self.0.pop()
    }

    /// True when this path is `other` or lies below it.
    pub fn starts_with(&self, other: &RelPath) -> bool {
        self.0.starts_with(&other.0)
    }

    /// True when a component is the trash directory or one of the server's temporaries.
    pub fn is_hidden(&self) -> bool {
        self.0.iter().any(Component::is_hidden)
    }
}

impl std::fmt::Display for RelPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

fn encode(bytes: &[u8]) -> String {
    percent_encoding::percent_encode(bytes, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Strict, unlike what URLs do: a stray `%` is an error, so that every raw form means one name.
fn decode(raw: &str) -> Result<Vec<u8>, FsError> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|d| (d as char).to_digit(16));
        match (digit(), digit()) {
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => return Err(FsError::InvalidPath),
        }
    }
    Ok(bytes)
}
