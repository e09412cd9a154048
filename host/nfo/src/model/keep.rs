//! Reading of a note that is there: its elements as they stand, so that those that are not known here stay when it is written
//! anew.
//!
//! Files of strangers: no document type, no entity but those of XML, [`MOST`] bytes, elements [`DEPTH`] deep. One that breaks a
//! rule is not kept, and so not replaced.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::NoteKind;
use super::text::Element;

/// Most bytes of a note.
pub const MOST: usize = 512 << 10;
const DEPTH: usize = 64;

/// An element as it stands in a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// In small letters; empty for a comment or a text.
    pub name: String,
    /// Type of an id, in small letters.
    pub of_type: Option<String>,
    pub text: String,
}

impl Other {
    /// True if one of the elements takes its place.
    pub fn is_replaced(&self, elements: &[Element]) -> bool {
        elements.iter().any(|element| {
            element.name == self.name
                && (self.name != "uniqueid" || element.of_type == self.of_type.as_deref())
        })
    }
}

/// Parts of a note that stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Attributes of the root, with a space before them.
    pub attributes: String,
    pub elements: Vec<Other>,
    /// Text behind the root: addresses, as Kodi reads them.
    pub behind: String,
}

/// Reason why a note is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unkept {
    #[error("it has more than {} KiB", MOST >> 10)]
    TooLarge,
    #[error("it is not in UTF-8")]
    NotUtf8,
    #[error("it has a document type, which may hold an attack")]
    DocumentType,
    #[error("it names an entity that XML does not have")]
    Entity,
    #[error("its elements are too deep")]
    TooDeep,
    #[error("it is no whole XML")]
    Malformed,
    /// Name of the root that is expected.
    #[error("its root is not <{0}>")]
    OtherRoot(&'static str),
}

/// Reads a note of this kind.
pub fn read(bytes: &[u8], kind: NoteKind) -> Result<Kept, Unkept> {
    if bytes.len() > MOST {
        return Err(Unkept::TooLarge);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Unkept::NotUtf8)?;
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader::from_str(text);
    let mut reading = Reading {
        text,
        kind,
        kept: Kept::default(),
        depth: 0,
        begun: 0,
        open: (String::new(), None),
        has_root: false,
    };
    loop {
        let before = position(&reader);
        let event = reader.read_event().map_err(|_| Unkept::Malformed)?;
        if reading.take(event, before, position(&reader))? {
            break;
        }
    }
    let behind = text.get(position(&reader)..).unwrap_or_default().trim();
    if behind.contains('<') {
        return Err(Unkept::Malformed);
    }
    behind.clone_into(&mut reading.kept.behind);
    Ok(reading.kept)
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

struct Reading<'a> {
    text: &'a str,
    kind: NoteKind,
    kept: Kept,
    depth: usize,
    /// Place at which the open element begins.
    begun: usize,
    /// Name and type of the open element.
    open: (String, Option<String>),
    has_root: bool,
}

impl Reading<'_> {
    /// Takes an event; true at the end of the root.
    fn take(&mut self, event: Event<'_>, before: usize, behind: usize) -> Result<bool, Unkept> {
        match event {
            Event::DocType(_) => return Err(Unkept::DocumentType),
            // Between elements it would be torn from its text.
            Event::GeneralRef(_) if self.depth < 2 => return Err(Unkept::Malformed),
            Event::GeneralRef(entity) => {
                let is_known = matches!(&*entity, b"amp" | b"lt" | b"gt" | b"quot" | b"apos");
                if !is_known && !matches!(entity.resolve_char_ref(), Ok(Some(_))) {
                    return Err(Unkept::Entity);
                }
            }
            Event::Start(start) => {
                self.begin(&start, before)?;
                self.depth += 1;
                if self.depth > DEPTH {
                    return Err(Unkept::TooDeep);
                }
            }
            Event::Empty(start) => {
                self.begin(&start, before)?;
                match self.depth {
                    0 => return Ok(true),
                    1 => self.end(behind),
                    _ => {}
                }
            }
            Event::End(_) => {
                self.depth = self.depth.checked_sub(1).ok_or(Unkept::Malformed)?;
                match self.depth {
                    0 => return Ok(true),
                    1 => self.end(behind),
                    _ => {}
                }
            }
            Event::Comment(_) | Event::CData(_) | Event::Text(_) if self.depth == 1 => {
                let text = self.text.get(before..behind).unwrap_or_default().trim();
                if !text.is_empty() {
                    self.kept.elements.push(Other {
                        name: String::new(),
                        of_type: None,
                        text: text.to_owned(),
                    });
                }
            }
            Event::Text(text) if self.depth == 0 && !text.trim_ascii().is_empty() => {
                return Err(Unkept::Malformed);
            }
            Event::Eof => return Err(Unkept::Malformed),
            _ => {}
        }
        Ok(false)
    }

    fn begin(&mut self, start: &BytesStart<'_>, at: usize) -> Result<(), Unkept> {
        let mut of_type = None;
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|_| Unkept::Malformed)?;
            let value = attribute.unescape_value().map_err(|_| Unkept::Entity)?;
            if attribute.key.as_ref().eq_ignore_ascii_case(b"type") {
                of_type = Some(value.trim().to_lowercase());
            }
        }
        let name = String::from_utf8_lossy(start.name().as_ref()).to_lowercase();
        match self.depth {
            0 => {
                let root = self.kind.root();
                if self.has_root || name != root {
                    return Err(Unkept::OtherRoot(root));
                }
                self.has_root = true;
                let attributes = String::from_utf8_lossy(start.attributes_raw()).trim().to_owned();
                if !attributes.is_empty() {
                    self.kept.attributes = format!(" {attributes}");
                }
            }
            1 => (self.begun, self.open) = (at, (name, of_type)),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, behind: usize) {
        let (name, of_type) = std::mem::take(&mut self.open);
        self.kept.elements.push(Other {
            name,
            of_type,
            text: self.text.get(self.begun..behind).unwrap_or_default().to_owned(),
        });
    }
}
