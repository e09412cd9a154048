//! The hashes of a planned torrent, from the bytes of its files as they are read.

use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::merkle::{Blanks, Tree, height_of};
use super::write::{Hashes, write_torrent};
use super::{CreateError, MIN_PIECE_BYTES, Plan};
use crate::Metainfo;

/// A block of version 2: a leaf of its trees.
const BLOCK: u64 = MIN_PIECE_BYTES;
const SHA1_BYTES: usize = 20;
const ZEROS: &[u8] = &[0; BLOCK as usize];

/// A finished torrent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The `.torrent` file.
    pub file: Vec<u8>,
    /// Identity and size, as they are read back.
    pub metainfo: Metainfo,
    /// Bytes of a piece.
    pub piece_size: u64,
    /// Pieces of version 1, those of padding included.
    pub pieces: u64,
}

/// Takes the bytes of all files of a plan, one file after the other.
pub struct Hasher {
    plan: Plan,
    /// Index of the file whose bytes come next.
    at: usize,
    /// Bytes of it that are still to come.
    left: u64,
    given: u64,
    v1: Pieces,
    v2: Option<Trees>,
    hashes: Hashes,
}

impl Hasher {
    pub fn new(plan: Plan) -> Self {
        let mut hasher = Self {
            at: 0,
            left: plan.files().first().map_or(0, |file| file.size),
            given: 0,
            v1: Pieces::new(plan.piece_size()),
            v2: plan.is_hybrid().then(|| Trees::new(plan.piece_size())),
            hashes: Hashes::default(),
            plan,
        };
        hasher.end_files();
        hasher
    }

    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Takes the bytes that come next, in portions of any size.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), CreateError> {
        self.given += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.at >= self.plan.files.len() {
                return Err(self.wrong_length());
            }
            let portion = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
            let (now, later) = bytes.split_at(portion);
            self.v1.push(now, &mut self.hashes.pieces);
            if let Some(v2) = &mut self.v2 {
                v2.push(now);
            }
            self.left -= portion as u64;
            bytes = later;
            self.end_files();
        }
        Ok(())
    }

    /// Ends the current file if it is complete, and the empty ones behind it.
    fn end_files(&mut self) {
        while self.left == 0 && self.at < self.plan.files.len() {
            let size = self.plan.files[self.at].size;
            if let Some(v2) = &mut self.v2 {
                v2.end_file(size, &mut self.hashes);
            }
            self.at += 1;
            self.left = self.plan.files.get(self.at).map_or(0, |file| file.size);
            let mut padding = self.plan.padding_before(self.at);
            while padding > 0 {
                let portion = padding.min(BLOCK);
                self.v1.push(&ZEROS[..portion as usize], &mut self.hashes.pieces);
                padding -= portion;
            }
        }
    }

    const fn wrong_length(&self) -> CreateError {
        CreateError::Length {
            expected: self.plan.total_bytes(),
            given: self.given,
        }
    }

    /// Writes the file, and reads it back.
    pub fn finish(mut self) -> Result<Created, CreateError> {
        if self.at < self.plan.files.len() {
            return Err(self.wrong_length());
        }
        self.v1.end(&mut self.hashes.pieces);
        let file = write_torrent(&self.plan, &self.hashes);
        let metainfo = Metainfo::parse(&file)?;
        Ok(Created {
            file,
            metainfo,
            piece_size: self.plan.piece_size(),
            pieces: (self.hashes.pieces.len() / SHA1_BYTES) as u64,
        })
    }
}

/// SHA-1 of pieces that run through all files.
struct Pieces {
    size: u64,
    filled: u64,
    current: Sha1,
}

impl Pieces {
    fn new(size: u64) -> Self {
        Self {
            size,
            filled: 0,
            current: Sha1::new(),
        }
    }

    fn push(&mut self, mut bytes: &[u8], pieces: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let room = self.size - self.filled;
            let portion = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
            let (now, later) = bytes.split_at(portion);
            self.current.update(now);
            self.filled += portion as u64;
            if self.filled == self.size {
                self.end(pieces);
            }
            bytes = later;
        }
    }

    fn end(&mut self, pieces: &mut Vec<u8>) {
        if self.filled > 0 {
            pieces.extend_from_slice(&self.current.finalize_reset());
            self.filled = 0;
        }
    }
}

/// SHA-256 trees, one a file.
struct Trees {
    blanks: Blanks,
    piece_size: u64,
    block: Sha256,
    /// Bytes of the current block.
    in_block: u64,
    /// Blocks of the current piece that are complete.
    blocks: u64,
    /// Tree over the blocks of the current piece.
    piece: Tree,
    /// Tree over the pieces of the current file.
    whole: Tree,
    /// Roots of the pieces of the current file.
    layer: Vec<u8>,
}

impl Trees {
    fn new(piece_size: u64) -> Self {
        Self {
            blanks: Blanks::new(),
            piece_size,
            block: Sha256::new(),
            in_block: 0,
            blocks: 0,
            piece: Tree::default(),
            whole: Tree::default(),
            layer: Vec::new(),
        }
    }

    /// Height of the tree over a full piece.
    fn piece_height(&self) -> usize {
        height_of(self.piece_size / BLOCK)
    }

    fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let portion = bytes.len().min((BLOCK - self.in_block) as usize);
            let (now, later) = bytes.split_at(portion);
            self.block.update(now);
            self.in_block += portion as u64;
            if self.in_block == BLOCK {
                self.end_block();
                if self.blocks == self.piece_size / BLOCK {
                    self.end_piece();
                }
            }
            bytes = later;
        }
    }

    fn end_block(&mut self) {
        if self.in_block > 0 {
            self.piece.push(0, self.block.finalize_reset().into());
            self.in_block = 0;
            self.blocks += 1;
        }
    }

    fn end_piece(&mut self) {
        if self.blocks > 0 {
            let height = self.piece_height();
            let root = self.piece.take_root(height, &self.blanks);
            self.layer.extend_from_slice(&root);
            self.whole.push(height, root);
            self.blocks = 0;
        }
    }

    fn end_file(&mut self, size: u64, hashes: &mut Hashes) {
        self.end_block();
        let root = match size {
            0 => None,
            // A tree as low as its blocks allow, and no layer: the root says all.
            size if size < self.piece_size => {
                self.blocks = 0;
                Some(
                    self.piece
                        .take_root(height_of(size.div_ceil(BLOCK)), &self.blanks),
                )
            }
            size => {
                self.end_piece();
                let pieces = height_of(size.div_ceil(self.piece_size));
                let root = self.whole.take_root(self.piece_height() + pieces, &self.blanks);
                if size > self.piece_size {
                    hashes.layers.insert(root, std::mem::take(&mut self.layer));
                }
                Some(root)
            }
        };
        self.layer.clear();
        hashes.roots.push(root);
    }
}
