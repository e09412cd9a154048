//! The files a torrent lays out on disk, judged before any client sees them: a name that is none, a path of two files and
//! a file that is also a folder make some clients fail, and one of them abort.
//!
//! Cost: one pass over the list and one sort. Paths are compared where they stand in the text and never put together, so
//! that a long name above many files costs nothing: 24 bytes a file, and the one path at hand.

use crate::bencode::{self, Node, Token};
use crate::torrent::{Info, MetainfoError, faulty};

/// The longest path of one file below the torrent's own name: longer ones fit into no file system.
pub const MAX_PATH_BYTES: usize = 4096;
/// The most of a path that an error quotes.
const QUOTED: usize = 200;

const FILE_AND_FOLDER: &str = "is both a file and a folder";

/// Sum of a list of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// Bytes without padding.
    pub(crate) size: u64,
    /// Bytes in all: what the pieces cover.
    pub(crate) laid_out: u64,
    /// Files without padding.
    pub(crate) files: usize,
}

impl Content {
    /// A torrent that is one file.
    pub(crate) fn of_one(size: u64) -> Result<Self, MetainfoError> {
        let mut content = Self::default();
        content.add(size, false)?;
        Ok(content)
    }

    fn add(&mut self, size: u64, padding: bool) -> Result<(), MetainfoError> {
        let fits = |sum: Option<u64>| {
            sum.filter(|sum| i64::try_from(*sum).is_ok())
                .ok_or_else(|| faulty("info", "the sizes of the files add up to more than 2^63 bytes"))
        };
        self.laid_out = fits(self.laid_out.checked_add(size))?;
        if !padding {
            self.size += size;
            self.files += 1;
        }
        Ok(())
    }
}

/// Fault of a name, if it has one.
pub(crate) fn fault_of_name(name: &[u8]) -> Option<&'static str> {
    match name {
        b"" => Some("is empty"),
        b"." | b".." => Some("is `.` or `..`"),
        name if name.contains(&b'/') => Some("has a slash in it"),
        name if name.contains(&0) => Some("has a NUL in it"),
        name if name.len() > MAX_PATH_BYTES => Some("is longer than 4096 bytes"),
        _ => None,
    }
}

/// A file of either version: the keys that matter of its dictionary.
#[derive(Default)]
struct File<'a> {
    attr: &'a [u8],
    length: Option<Node<'a>>,
    path: Option<Node<'a>>,
    path_utf8: Option<Node<'a>>,
}

impl<'a> File<'a> {
    /// `None` for what is no dictionary.
    fn read(node: Node<'a>) -> Option<Self> {
        let mut file = File::default();
        for (key, value) in node.dict()? {
            match key {
                b"attr" => file.attr = value.bytes().unwrap_or_default(),
                b"length" => file.length = Some(value),
                b"path" => file.path = Some(value),
                b"path.utf-8" => file.path_utf8 = Some(value),
                _ => {}
            }
        }
        Some(file)
    }

    /// Padding (BEP 47) exists only to align files to pieces; clients hide it.
    fn is_padding(&self) -> bool {
        self.attr.contains(&b'p')
    }

    /// A symbolic link (BEP 47) may leave its length out.
    fn size(&self) -> Result<u64, &'static str> {
        match self.length {
            None if self.attr.contains(&b'l') => Ok(0),
            None => Err("missing"),
            Some(length) => size_of(length),
        }
    }
}

/// A length in bytes, or what is wrong with it.
pub(crate) fn size_of(length: Node<'_>) -> Result<u64, &'static str> {
    let number = length.int().ok_or("not an integer")?;
    u64::try_from(number).map_err(|_| "negative")
}

/// The files of a v1 torrent with several.
pub(crate) fn of_list(files: Node<'_>) -> Result<Content, MetainfoError> {
    let list = || files.list().ok_or_else(|| faulty("info.files", "not a list"));
    let mut content = Content::default();
    let mut paths = Vec::new();
    let mut translated = false;
    for (index, entry) in list()?.enumerate() {
        let at = |field: &str| format!("info.files[{index}]{field}");
        let file = File::read(entry).ok_or_else(|| faulty(at(""), "not a dictionary"))?;
        let size = file.size().map_err(|what| faulty(at(".length"), what))?;
        content.add(size, file.is_padding())?;
        paths.push(Path::read(file.path, file.is_padding()).map_err(|what| faulty(at(".path"), what))?);
        if file.path_utf8.is_some() {
            Path::read(file.path_utf8, false).map_err(|what| faulty(at(".path.utf-8"), what))?;
            translated = true;
        }
    }
    if paths.is_empty() {
        return Err(faulty("info.files", "an empty list"));
    }
    refuse_clashes(paths)?;
    if translated {
        // Some clients go by these names instead.
        let files = list()?.filter_map(File::read);
        let paths = files.filter_map(|file| Path::read(file.path_utf8.or(file.path), file.is_padding()).ok());
        refuse_clashes(paths.collect())?;
    }
    Ok(content)
}

/// A path as it stands in the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Path<'a> {
    text: &'a [u8],
    padding: bool,
}

impl<'a> Path<'a> {
    fn read(path: Option<Node<'a>>, padding: bool) -> Result<Self, String> {
        let path = path.ok_or("missing")?;
        let (Some(names), Some(text)) = (path.list(), path.list_text()) else {
            return Err("not a list".into());
        };
        let mut length = 0;
        for (position, name) in names.enumerate() {
            let name = name
                .bytes()
                .ok_or_else(|| format!("name {position} is not a string"))?;
            if let Some(fault) = fault_of_name(name) {
                return Err(format!("name {position} {fault}"));
            }
            length += name.len() + usize::from(position > 0);
            if length > MAX_PATH_BYTES {
                return Err("longer than 4096 bytes".into());
            }
        }
        if length == 0 {
            return Err("an empty list".into());
        }
        Ok(Self { text, padding })
    }

    /// True of the other path itself, and of a folder above it.
    fn leads_to(&self, other: &Path<'_>) -> bool {
        other.text.starts_with(self.text)
    }

    fn refusal(&self, other: &Path<'_>) -> MetainfoError {
        let name = quoted(self.text);
        if self.text == other.text {
            faulty("info.files", format!("two files are called {name}"))
        } else {
            faulty("info.files", format!("{name} {FILE_AND_FOLDER}"))
        }
    }
}

/// Refuses paths of which two cannot be on one disk. Padding files of one length share a name, and may.
fn refuse_clashes(mut paths: Vec<Path<'_>>) -> Result<(), MetainfoError> {
    // In a row they are one file too many even for clients that know of padding.
    if let Some(pair) = paths
        .windows(2)
        .find(|pair| pair[0].leads_to(&pair[1]) && (pair[0].padding || pair[1].padding))
    {
        return Err(pair[0].refusal(&pair[1]));
    }
    // Sorted, everything that begins with a path stands right behind it.
    paths.sort_unstable();
    let clash = paths.windows(2).find(|pair| {
        let both_pad = pair[0].text == pair[1].text && pair[0].padding && pair[1].padding;
        pair[0].leads_to(&pair[1]) && !both_pad
    });
    match clash {
        Some(pair) => Err(pair[0].refusal(&pair[1])),
        None => Ok(()),
    }
}

/// A path of the text as people read it, cut to a sensible length.
fn quoted(list_text: &[u8]) -> String {
    let mut path = String::new();
    let whole = [b"l", list_text, b"e"].concat();
    let names = bencode::parse(&whole).ok();
    for name in names.and_then(Node::list).into_iter().flatten() {
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(&String::from_utf8_lossy(name.bytes().unwrap_or_default()));
    }
    quote(&path)
}

fn quote(path: &str) -> String {
    let shown: String = path.chars().take(QUOTED).collect();
    let rest = if shown.len() < path.len() { "…" } else { "" };
    format!("{shown:?}{rest}")
}

/// A directory that is open while a v2 tree is walked.
struct Level {
    /// Length of the path above it, in bytes.
    above: usize,
    is_file: bool,
    is_folder: bool,
}

/// The files of a v2 tree, read once from its beginning to its end.
pub(crate) fn of_tree(tree: Node<'_>) -> Result<Content, MetainfoError> {
    const TREE: &str = "info.file tree";
    let mut content = Content::default();
    let mut tokens = tree.tokens();
    if tokens.next() != Some(Token::Dict) {
        return Err(faulty(TREE, "not a dictionary"));
    }
    let mut path: Vec<u8> = Vec::new();
    let mut open = vec![Level {
        above: 0,
        is_file: false,
        is_folder: true,
    }];
    while let Some(level) = open.last_mut() {
        let at = |path: &[u8]| format!("{TREE}: {}", quote(&String::from_utf8_lossy(path)));
        match tokens.next() {
            Some(Token::Bytes(b"")) => {
                level.is_file = true;
                if level.is_folder {
                    return Err(faulty(at(&path), FILE_AND_FOLDER));
                }
                let file = tokens.node().and_then(File::read);
                let file = file.ok_or_else(|| faulty(at(&path), "not a dictionary"))?;
                let size = file.size();
                let size = size.map_err(|what| faulty(at(&path), format!("length {what}")))?;
                content.add(size, file.is_padding())?;
            }
            Some(Token::Bytes(name)) => {
                level.is_folder = true;
                if level.is_file {
                    return Err(faulty(at(&path), FILE_AND_FOLDER));
                }
                // A name may be as long as the whole file: what is wrong with it is said before it is copied.
                if let Some(fault) = fault_of_name(name) {
                    return Err(faulty(at(&path), format!("a name below it {fault}")));
                }
                let above = path.len();
                if above > 0 {
                    path.push(b'/');
                }
                path.extend_from_slice(name);
                if path.len() > MAX_PATH_BYTES {
                    return Err(faulty(at(&path), "longer than 4096 bytes"));
                }
                if tokens.next() != Some(Token::Dict) {
                    return Err(faulty(at(&path), "not a dictionary"));
                }
                open.push(Level {
                    above,
                    is_file: false,
                    is_folder: false,
                });
            }
            Some(Token::End) => {
                path.truncate(level.above);
                open.pop();
            }
            Some(Token::Int(_) | Token::List | Token::Dict) | None => {
                return Err(faulty(TREE, "not a tree of dictionaries"));
            }
        }
    }
    if content.files == 0 {
        return Err(faulty(TREE, "no files"));
    }
    Ok(content)
}

/// Check that there are as many hashes as pieces.
pub(crate) fn check_pieces(info: &Info<'_>, content: Content) -> Result<(), MetainfoError> {
    let pieces = info.pieces.and_then(Node::bytes);
    let pieces = pieces.ok_or_else(|| faulty("info.pieces", "missing, or not a string"))?;
    let length = info.piece_length.and_then(Node::int);
    let length = length.ok_or_else(|| faulty("info.piece length", "missing, or not an integer"))?;
    let length = u64::try_from(length).ok().filter(|length| *length > 0);
    let length = length.ok_or_else(|| faulty("info.piece length", "not above 0"))?;
    if pieces.len() % 20 != 0 {
        let what = format!("{} bytes, which is no multiple of the 20 of a hash", pieces.len());
        return Err(faulty("info.pieces", what));
    }
    let (hashes, needed) = ((pieces.len() / 20) as u64, content.laid_out.div_ceil(length));
    if hashes != needed {
        let of = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let what = format!(
            "{} for {}",
            of(hashes, "hash", "hashes"),
            of(needed, "piece", "pieces")
        );
        return Err(faulty("info.pieces", what));
    }
    Ok(())
}
