//! Several files of one film or episode: the words that tell their names apart, and names that would be one all the same.

use std::collections::{HashMap, HashSet};

use super::{Main, Planner, fold};
use crate::clean;
use crate::file;
use crate::read::Content;
use crate::render::Rendered;
use crate::token::Token;

/// Most doubles of one name.
const MOST_DOUBLES: usize = 999;
/// Values by which versions differ, the most telling first.
const FACETS: [Option<Token>; 5] = [
    Some(Token::Resolution),
    Some(Token::Source),
    Some(Token::Codec),
    Some(Token::ReleaseGroup),
    // The words that the names have for it.
    None,
];

impl Planner<'_> {
    /// Adds to names that would be the same what the files differ by.
    pub(super) fn tell_versions_apart(&mut self) {
        let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, main) in self.mains.iter().enumerate() {
            if let Ok(rendered) = &main.rendered {
                let path = fold(&rendered.path(&main.ext));
                // Versions may have other endings.
                let path = path.rsplit_once('.').map_or(&*path, |(stem, _)| stem).to_owned();
                groups.entry(path).or_default().push(at);
            }
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
        groups.sort();
        for group in groups {
            let Some(labels) = self.labels(&group) else {
                continue;
            };
            for (at, label) in group.iter().zip(labels) {
                let rendered = self.render_main(&self.mains[*at], label.as_deref());
                if rendered.is_ok() {
                    self.mains[*at].rendered = rendered;
                }
            }
        }
    }

    /// Labels of the versions of one film: of one facet, or of two.
    fn labels(&self, group: &[usize]) -> Option<Vec<Option<String>>> {
        let of = |facet: Option<Token>| -> Vec<Option<String>> {
            let text = |main: &Main| match facet {
                Some(token) => main.reading.text(token).map(str::to_owned),
                None => main.reading.label.clone(),
            };
            group.iter().map(|at| text(&self.mains[*at])).collect()
        };
        let columns: Vec<Vec<Option<String>>> = FACETS.into_iter().map(of).collect();
        let single = columns.iter().find(|column| is_telling(column));
        if let Some(column) = single {
            return Some(column.clone());
        }
        for first in 0..columns.len() {
            for second in first + 1..columns.len() {
                let joined: Vec<Option<String>> = columns[first]
                    .iter()
                    .zip(&columns[second])
                    .map(|(one, other)| {
                        let words: Vec<&str> = one.iter().chain(other).map(String::as_str).collect();
                        (!words.is_empty()).then(|| words.join(" "))
                    })
                    .collect();
                if is_telling(&joined) {
                    return Some(joined);
                }
            }
        }
        None
    }

    /// Gives every film and episode its path; files that are where they belong come first.
    pub(super) fn place_mains(&mut self) {
        self.spell_folders();
        let mut order: Vec<usize> = (0..self.mains.len()).collect();
        order.sort_by_key(|at| !self.is_there(*at));
        let (mut doubles, mut numbers) = (Vec::new(), HashMap::new());
        for at in order {
            let main = &self.mains[at];
            let Ok(rendered) = &main.rendered else { continue };
            let Some((path, is_double)) = self.free_path(rendered, &main.ext, &mut numbers) else {
                continue;
            };
            let folder = rendered.folders.join("/");
            let show_folder = match main.reading.content {
                Content::Movie | Content::General => folder.clone(),
                _ => self.show_folder(at).unwrap_or_else(|| folder.clone()),
            };
            if is_double {
                doubles.push((main.source, rendered.path(&main.ext)));
            }
            self.taken.insert(fold(&path));
            let main = &mut self.mains[at];
            main.folder = folder;
            main.show_folder = show_folder;
            main.path = Some(path);
        }
        for (source, path) in doubles {
            self.warnings.push(format!(
                "Several files would be named {path}: {} gets a number behind its name",
                self.sources[source].path
            ));
        }
        self.list_mains();
    }

    fn is_there(&self, at: usize) -> bool {
        let main = &self.mains[at];
        let path = main.rendered.as_ref().map(|rendered| rendered.path(&main.ext));
        let source = &self.sources[main.source];
        let own = self.within_library(source).unwrap_or(&source.path);
        path.is_ok_and(|path| path == own)
    }

    /// Path that no other file has, and true if it got a number for that. `numbers`: those that are next, by the folded path.
    fn free_path(
        &self,
        rendered: &Rendered,
        ext: &str,
        numbers: &mut HashMap<String, usize>,
    ) -> Option<(String, bool)> {
        let path = rendered.path(ext);
        let folded = fold(&path);
        if !self.taken.contains(&folded) {
            return Some((path, false));
        }
        let next = numbers.entry(folded).or_insert(2);
        let found = (*next..=MOST_DOUBLES).find_map(|number| {
            let mut other = rendered.clone();
            let suffix = format!(" [dup{number}]");
            let most = crate::MAX_NAME_BYTES.saturating_sub(suffix.len() + 1 + ext.len());
            other.stem = format!("{}{suffix}", clean::shorten(&rendered.stem, most));
            let path = other.path(ext);
            (!self.taken.contains(&fold(&path))).then_some((number, path))
        });
        *next = found.as_ref().map_or(MOST_DOUBLES, |(number, _)| *number) + 1;
        found.map(|(_, path)| (path, true))
    }

    /// Folder of a show below the library: the one above its seasons.
    fn show_folder(&self, at: usize) -> Option<String> {
        let rendered = self.mains[at].rendered.as_ref().ok()?;
        let mut folders: &[String] = &rendered.folders;
        let is_season = |folder: &String| qm_media_names::name::is_season(folder);
        if folders.len() > 1 && folders.last().is_some_and(is_season) {
            folders = &folders[..folders.len() - 1];
        }
        Some(folders.join("/"))
    }

    /// Gives folders that differ in case or composition alone one spelling: that of the first.
    fn spell_folders(&mut self) {
        let mut spelled: HashMap<String, String> = HashMap::new();
        let mut order: Vec<usize> = (0..self.mains.len()).collect();
        order.sort_by_key(|at| !self.is_there(*at));
        for at in order {
            let Ok(rendered) = &mut self.mains[at].rendered else {
                continue;
            };
            let mut path = String::new();
            for folder in &mut rendered.folders {
                path.push_str(&fold(folder));
                path.push('/');
                let known = spelled.entry(path.clone()).or_insert_with(|| folder.clone());
                folder.clone_from(known);
            }
        }
    }

    /// Lists films and episodes, in the order of their sources.
    fn list_mains(&mut self) {
        for at in 0..self.mains.len() {
            let main = &self.mains[at];
            let content = main.reading.content;
            let item = match (&main.rendered, &main.path) {
                (Ok(rendered), Some(path)) => {
                    if rendered.is_shortened {
                        let source = &self.sources[main.source].path;
                        let warning = format!(
                            "The title of the episode of {source} is shortened: its name would be too long"
                        );
                        self.warnings.push(warning);
                    }
                    self.go(main.source, content, path, "primary media file")
                }
                (Ok(_), None) => {
                    let reason = format!("more than {MOST_DOUBLES} files would have its name");
                    self.skip(main.source, content, reason)
                }
                (Err(refusal), _) => {
                    let warning = format!("{}: {refusal}", self.sources[main.source].path);
                    let item = self.skip(main.source, content, refusal.to_string());
                    self.warnings.push(warning);
                    item
                }
            };
            self.items.push(item);
        }
    }
}

/// True if a column tells all versions apart; one may have nothing.
fn is_telling(column: &[Option<String>]) -> bool {
    let mut seen = HashSet::new();
    column.iter().all(|text| seen.insert(text.as_deref().map(fold)))
}

/// Path without the number that a double got: ` [dup2]`.
pub(super) fn without_double(path: &str) -> String {
    let (folder, name) = file::place(path);
    let (stem, ext) = file::split(name);
    let plain = stem.strip_suffix(']').and_then(|rest| {
        let (before, number) = rest.rsplit_once(" [dup")?;
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        (is_number && !before.is_empty()).then_some(before)
    });
    match plain {
        Some(plain) if folder.is_empty() => format!("{plain}.{ext}"),
        Some(plain) => format!("{folder}/{plain}.{ext}"),
        None => path.to_owned(),
    }
}
