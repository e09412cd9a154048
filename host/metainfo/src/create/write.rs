//! The bencoded text of a torrent. Keys are written in the order of their bytes, as the format demands.

use std::collections::BTreeMap;

use super::merkle::Hash;
use super::plan::PADDING;
use super::{Plan, PlannedFile};

/// Hashes of a plan.
#[derive(Default)]
pub(super) struct Hashes {
    /// SHA-1 of all pieces, 20 bytes each.
    pub pieces: Vec<u8>,
    /// Roots of the files of a hybrid, in their order; `None` of an empty file.
    pub roots: Vec<Option<Hash>>,
    /// Roots of the pieces of every file that has more than one, by the root of the file. Equal files have one.
    pub layers: BTreeMap<Hash, Vec<u8>>,
}

impl Hashes {
    /// Hashes of no value, which are as long as those of files that all differ.
    pub fn blank(plan: &Plan) -> Self {
        let mut blank = Self {
            // The number of pieces has been checked.
            pieces: vec![0; usize::try_from(plan.piece_count()).unwrap_or(0) * 20],
            ..Self::default()
        };
        if plan.is_hybrid() {
            for (at, file) in plan.files.iter().enumerate() {
                let mut root = Hash::default();
                root[..8].copy_from_slice(&(at as u64).to_be_bytes());
                blank.roots.push((file.size > 0).then_some(root));
                if file.size > plan.piece_size {
                    let pieces = usize::try_from(file.size.div_ceil(plan.piece_size)).unwrap_or(0);
                    blank.layers.insert(root, vec![0; pieces * 32]);
                }
            }
        }
        blank
    }
}

/// Usual bytes of a file beside its hashes: a guess that saves memory.
const PER_FILE: usize = 128;

/// The `.torrent` file.
pub(super) fn write_torrent(plan: &Plan, hashes: &Hashes) -> Vec<u8> {
    let layers = hashes.layers.values().map(Vec::len).sum::<usize>();
    let mut out = Text(Vec::with_capacity(
        hashes.pieces.len() + layers + PER_FILE * plan.files.len(),
    ));
    let options = &plan.options;
    let tiers: Vec<&Vec<String>> = options.trackers.iter().filter(|tier| !tier.is_empty()).collect();
    out.open_dict();
    if let Some(first) = tiers.first().and_then(|tier| tier.first()) {
        out.put_text("announce");
        out.put_text(first);
        // A single tracker needs no list.
        if tiers.iter().map(|tier| tier.len()).sum::<usize>() > 1 {
            out.put_text("announce-list");
            out.open_list();
            for tier in tiers {
                out.put_list(tier);
            }
            out.close();
        }
    }
    for (key, text) in [("comment", &options.comment), ("created by", &options.created_by)] {
        if let Some(text) = text {
            out.put_text(key);
            out.put_text(text);
        }
    }
    if let Some(seconds) = options.created_at {
        out.put_text("creation date");
        out.put_number(seconds.unsigned_abs());
    }
    out.put_text("info");
    put_info(&mut out, plan, hashes);
    if plan.is_hybrid() {
        out.put_text("piece layers");
        out.open_dict();
        for (root, layer) in &hashes.layers {
            out.put_bytes(root);
            out.put_bytes(layer);
        }
        out.close();
    }
    if !options.web_seeds.is_empty() {
        out.put_text("url-list");
        let is_folder = !plan.is_one_file();
        let seeds: Vec<String> = options
            .web_seeds
            .iter()
            // The address of a folder ends with a slash; some clients append the name to it as it stands.
            .map(|seed| if is_folder && !seed.ends_with('/') { format!("{seed}/") } else { seed.clone() })
            .collect();
        out.put_list(&seeds);
    }
    out.close();
    out.0
}

fn put_info(out: &mut Text, plan: &Plan, hashes: &Hashes) {
    out.open_dict();
    if plan.is_hybrid() {
        out.put_text("file tree");
        put_tree(out, plan, hashes);
    }
    if plan.is_one_file() {
        out.put_text("length");
        out.put_number(plan.total_bytes());
    } else {
        out.put_text("files");
        out.open_list();
        for (at, file) in plan.files.iter().enumerate() {
            put_padding(out, plan.padding_before(at));
            put_file(out, file);
        }
        out.close();
    }
    if plan.is_hybrid() {
        out.put_text("meta version");
        out.put_number(2);
    }
    out.put_text("name");
    out.put_text(&plan.name);
    out.put_text("piece length");
    out.put_number(plan.piece_size);
    out.put_text("pieces");
    out.put_bytes(&hashes.pieces);
    if plan.options.is_private {
        out.put_text("private");
        out.put_number(1);
    }
    if let Some(source) = &plan.options.source {
        out.put_text("source");
        out.put_text(source);
    }
    out.close();
}

fn put_file(out: &mut Text, file: &PlannedFile) {
    out.open_dict();
    out.put_text("length");
    out.put_number(file.size);
    out.put_text("path");
    out.put_list(&file.path);
    out.close();
}

fn put_padding(out: &mut Text, size: u64) {
    if size > 0 {
        out.open_dict();
        out.put_text("attr");
        out.put_text("p");
        out.put_text("length");
        out.put_number(size);
        out.put_text("path");
        out.put_list(&[PADDING.to_owned(), size.to_string()]);
        out.close();
    }
}

/// Writes sorted paths as dictionaries in each other.
fn put_tree(out: &mut Text, plan: &Plan, hashes: &Hashes) {
    let own_name = std::slice::from_ref(&plan.name);
    let mut open: &[String] = &[];
    out.open_dict();
    for (at, file) in plan.files.iter().enumerate() {
        let path = if plan.is_one_file() { own_name } else { &file.path };
        let shared = open
            .iter()
            .zip(path)
            .take_while(|(one, other)| one == other)
            .count();
        for _ in shared..open.len() {
            out.close();
        }
        for name in &path[shared..] {
            out.put_text(name);
            out.open_dict();
        }
        open = path;
        out.put_text("");
        out.open_dict();
        out.put_text("length");
        out.put_number(file.size);
        if let Some(root) = hashes.roots.get(at).copied().flatten() {
            out.put_text("pieces root");
            out.put_bytes(&root);
        }
        out.close();
    }
    for _ in open {
        out.close();
    }
    out.close();
}

/// Bencode as it is written.
struct Text(Vec<u8>);

impl Text {
    fn open_dict(&mut self) {
        self.0.push(b'd');
    }

    fn open_list(&mut self) {
        self.0.push(b'l');
    }

    fn close(&mut self) {
        self.0.push(b'e');
    }

    fn put_number(&mut self, number: u64) {
        self.0.push(b'i');
        self.0.extend_from_slice(number.to_string().as_bytes());
        self.0.push(b'e');
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes.len().to_string().as_bytes());
        self.0.push(b':');
        self.0.extend_from_slice(bytes);
    }

    fn put_text(&mut self, text: &str) {
        self.put_bytes(text.as_bytes());
    }

    fn put_list(&mut self, texts: &[String]) {
        self.open_list();
        for text in texts {
            self.put_text(text);
        }
        self.close();
    }
}
