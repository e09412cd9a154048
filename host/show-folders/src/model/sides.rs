//! The folders of a merge, each with its videos and the files beside them.

use std::collections::{BTreeSet, HashMap};

use qm_ports::folders::FolderShow;

use super::contents::{Contents, EpisodeKey, FileKind, FolderFile, stem_of};
use super::names::{language_of, stems_of};

/// A video with the files that are named after it.
pub struct Clip {
    /// Position among the files of its folder.
    pub at: usize,
    pub key: Option<EpisodeKey>,
    /// True if its place below the show says what it is: it keeps that place when it moves.
    pub keeps_place: bool,
    /// Positions of the files beside it.
    pub beside: Vec<usize>,
}

/// A folder of the merge.
pub struct Side<'a> {
    pub show: &'a FolderShow,
    pub contents: &'a Contents,
    pub clips: Vec<Clip>,
    /// Subtitles that are named after no video beside them.
    pub loose: Vec<usize>,
}

impl<'a> Side<'a> {
    pub fn new(show: &'a FolderShow, contents: &'a Contents) -> Self {
        let mut clips: Vec<Clip> = contents
            .clips(&show.library_kind)
            .into_iter()
            .map(|(at, key)| Clip {
                at,
                key,
                keeps_place: contents.is_extra(&contents.files[at], &show.library_kind),
                beside: Vec::new(),
            })
            .collect();
        let mut stems: HashMap<(&str, &str), usize> = HashMap::new();
        for (number, clip) in clips.iter().enumerate() {
            let file = &contents.files[clip.at];
            stems
                .entry((file.directory(), stem_of(file.name())))
                .or_insert(number);
        }
        let mut loose = Vec::new();
        for (at, file) in contents.files.iter().enumerate() {
            if file.kind == FileKind::Video {
                continue;
            }
            let owner = stems_of(file.name()).find_map(|stem| stems.get(&(file.directory(), stem)));
            match owner {
                Some(owner) => clips[*owner].beside.push(at),
                None if file.kind == FileKind::Subtitle => loose.push(at),
                None => {}
            }
        }
        Self {
            show,
            contents,
            clips,
            loose,
        }
    }

    /// Has videos keep their places whose names alone, at the top of the folder that stays, would say something else.
    pub fn keep_places(&mut self, canonical: &Contents) {
        let contents = self.contents;
        for clip in &mut self.clips {
            let name = contents.files[clip.at].name();
            clip.keeps_place |= canonical.key_at_top(name, &self.show.library_kind) != clip.key;
        }
    }

    pub fn file(&self, clip: usize) -> &'a FolderFile {
        &self.contents.files[self.clips[clip].at]
    }

    /// Files beside a video.
    pub fn beside(&self, clip: usize) -> impl Iterator<Item = &'a FolderFile> {
        let contents = self.contents;
        self.clips[clip].beside.iter().map(move |at| &contents.files[*at])
    }

    /// Languages of the subtitles beside a video.
    pub fn languages(&self, clip: usize) -> BTreeSet<String> {
        let video = self.file(clip).name();
        let subtitles = self.beside(clip).filter(|file| file.kind == FileKind::Subtitle);
        subtitles.map(|file| language_of(file.name(), video)).collect()
    }
}
