//! Files that travel with a film or an episode: subtitles, notes, pictures and extras.

use std::collections::HashMap;

use qm_media_names::Kind;
use qm_media_names::naming::{episode, extra, identify, season, show_at};

use super::{Item, Planner, fold};
use crate::MAX_NAME_BYTES;
use crate::clean;
use crate::file::{self, Class};
use crate::language;
use crate::read::{self, Content};
use crate::token::Token;

/// Folders above a subtitle in which its video is looked for.
const CLIMB: usize = 3;
/// Most films and episodes of a folder that are compared with each subtitle whose name is that of none.
const MOST_COMPARED: usize = 2000;
/// Most places in a name at which the name of its video may end.
const MOST_ENDS: usize = 64;
/// Fewest letters that two names must begin with to belong together.
const LEAST_COMMON: usize = 3;

/// Film or episode, as companions look for it.
struct Host {
    /// Place among the mains.
    at: usize,
    /// Folded name without its ending.
    old: String,
}

/// Films and episodes by their folders, and where the files about those folders go.
struct Index {
    by_folder: HashMap<String, Vec<Host>>,
    /// Places among the mains, by folder and folded name without its ending, as it is and as it will be.
    by_name: HashMap<(String, String), usize>,
    /// Folder of a film, a season or a show; the new one below the library, unless there are several.
    about: HashMap<String, Option<(String, Content)>>,
}

impl Planner<'_> {
    /// Places everything that is no film and no episode.
    pub(super) fn place_companions(&mut self) {
        let index = self.index();
        let rest = std::mem::take(&mut self.rest);
        let (subtitles, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|(_, class)| *class == Class::Subtitle);
        let (extras, others): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|(_, class)| *class == Class::Video);
        let films = if extras.is_empty() {
            HashMap::new()
        } else {
            self.index_films()
        };
        for (at, _) in extras {
            let item = self.place_extra(at, &index, &films);
            self.items.push(item);
        }
        for (at, _) in subtitles {
            let mut item = self.place_subtitle(at, &index);
            item.is_subtitle = true;
            self.items.push(item);
        }
        for (at, class) in others {
            let item = self.place_sidecar(at, class, &index);
            self.items.push(item);
        }
    }

    fn index(&self) -> Index {
        let mut index = Index {
            by_folder: HashMap::new(),
            by_name: HashMap::new(),
            about: HashMap::new(),
        };
        for (at, main) in self.mains.iter().enumerate() {
            let Some(path) = &main.path else { continue };
            let (folder, name) = file::place(&self.sources[main.source].name);
            let host = Host {
                at,
                old: fold(file::split(name).0),
            };
            let new = fold(file::split(file::place(path).1).0);
            index.by_name.entry((folder.to_owned(), new)).or_insert(at);
            index.by_name.insert((folder.to_owned(), host.old.clone()), at);
            index.by_folder.entry(folder.to_owned()).or_default().push(host);
            let content = main.reading.content;
            let mut note = |about: &str, target: &str| {
                let target = Some((target.to_owned(), content));
                let known = index
                    .about
                    .entry(about.to_owned())
                    .or_insert_with(|| target.clone());
                if *known != target {
                    *known = None;
                }
            };
            if !content.has_episodes() {
                note(folder, &main.folder);
                continue;
            }
            // From the file's folder up to that of the show.
            let folders: Vec<&str> = folder.split('/').filter(|folder| !folder.is_empty()).collect();
            let show = show_at(&folders).map_or(folders.len(), |at| at + 1);
            for count in (show..=folders.len()).rev() {
                let is_season = count > 0 && count > show && season::season(folders[count - 1]).is_some();
                let target = if is_season {
                    &main.folder
                } else {
                    &main.show_folder
                };
                note(&folders[..count].join("/"), target);
            }
        }
        index
    }

    /// Places among the mains, by folder and key of the film; of several versions the first.
    fn index_films(&self) -> HashMap<(String, String), usize> {
        let mut films = HashMap::new();
        for (at, main) in self.mains.iter().enumerate() {
            if main.path.is_none() {
                continue;
            }
            let name = &self.sources[main.source].name;
            let key = (file::place(name).0.to_owned(), read::film_key(name));
            films.entry(key).or_insert(at);
        }
        films
    }

    fn claim(&mut self, at: usize, kind: Content, path: &str, reason: &str) -> Item {
        let (_, name) = file::place(path);
        if name.len() > MAX_NAME_BYTES {
            let reason = format!(
                "its name would have {} bytes, and file systems take {MAX_NAME_BYTES}",
                name.len()
            );
            return self.skip(at, kind, reason);
        }
        if !self.taken.insert(fold(path)) {
            let warning = format!(
                "Several files would be named {path}: {} stays as it is",
                self.sources[at].path
            );
            self.warnings.push(warning);
            return self.skip(at, kind, "another file gets its name".to_owned());
        }
        self.go(at, kind, path, reason)
    }

    fn place_extra(&mut self, at: usize, index: &Index, films: &HashMap<(String, String), usize>) -> Item {
        let source = &self.sources[at].name;
        let (folder, name) = file::place(source);
        if file::is_theme(name) {
            return self.skip(at, Content::General, "theme of a show or a film".to_owned());
        }
        let mut owner = folder;
        while !owner.is_empty() && extra::of_folder(file::place(owner).1).is_some() {
            owner = file::place(owner).0;
        }
        let found = index.about.get(owner).cloned().flatten();
        // Of several films in one folder, the one that it is named like.
        let found = found.or_else(|| {
            let base = extra::without_end(file::split(name).0)?;
            let key = (owner.to_owned(), read::film_key(&format!("{base}.mkv")));
            let main = &self.mains[*films.get(&key)?];
            Some((main.folder.clone(), main.reading.content))
        });
        let (stem, ext) = file::split(name);
        let (Some((target, kind)), Some(stem)) = (found, clean::segment(stem)) else {
            let mut item = self.skip(
                at,
                Content::General,
                "an extra without its film or show".to_owned(),
            );
            item.is_extra = true;
            return item;
        };
        let path = join(&target, &format!("Extras/{stem}.{}", ext.to_lowercase()));
        let mut item = self.claim(at, kind, &path, "extra");
        item.is_extra = true;
        item
    }

    fn place_subtitle(&mut self, at: usize, index: &Index) -> Item {
        let source = &self.sources[at].name;
        let (_, name) = file::place(source);
        let (stem, ext) = file::split(name);
        match self.find_video(source, index) {
            Ok(main) => {
                let main = &self.mains[main];
                let (kind, path) = (main.reading.content, main.path.clone().unwrap_or_default());
                let (folder, video) = file::place(&path);
                let own = self.sources[main.source].name.clone();
                let tag = subtitle_tag(stem, file::split(file::place(&own).1).0);
                let name = format!("{}{}.{}", file::split(video).0, tag.suffix(), ext.to_lowercase());
                self.claim(at, kind, &join(folder, &name), "subtitle of a video")
            }
            Err(reason) => self.skip(at, Content::General, reason.to_owned()),
        }
    }

    /// Video of a subtitle: the one with its name, with its episode, or the only one there.
    fn find_video(&self, source: &str, index: &Index) -> Result<usize, &'static str> {
        let (folder, name) = file::place(source);
        let (stem, _) = file::split(name);
        let (base, _) = language::split(stem);
        let whole = fold(stem);
        let mut is_counted = false;
        let mut place = folder;
        for _ in 0..=CLIMB {
            let hosts = index.by_folder.get(place).map_or(&[][..], Vec::as_slice);
            // Folders between that are named like a video: Subs/NAME/2_English.srt.
            let between = folder[place.len()..].split('/').filter(|name| !name.is_empty());
            let between: Vec<String> = between.map(fold).collect();
            let by_folder = hosts.iter().find(|host| between.contains(&host.old));
            let by_name = named(stem, place, index, &['.', '-', '_', ' ']);
            if let Some(at) = by_folder.map(|host| host.at).or(by_name.map(|(at, _)| at)) {
                return Ok(at);
            }
            let hosts = if hosts.len() > MOST_COMPARED {
                &[][..]
            } else {
                hosts
            };
            let numbers = self.numbers(place, base, hosts);
            is_counted |= numbers.is_some();
            if let Some(numbers) = numbers
                && let Some(host) = hosts
                    .iter()
                    .filter(|host| self.covers(host.at, numbers))
                    .max_by_key(|host| common(&whole, &host.old))
            {
                return Ok(host.at);
            }
            if !is_counted && let Some(found) = self.likeliest(base, &whole, hosts) {
                return Ok(found);
            }
            let is_below = file::is_subtitle_folder(file::place(place).1) || hosts.is_empty();
            if place.is_empty() || !is_below {
                break;
            }
            place = file::place(place).0;
        }
        Err(if is_counted {
            "no video for its episode"
        } else {
            "no video for this subtitle"
        })
    }

    fn likeliest(&self, base: &str, whole: &str, hosts: &[Host]) -> Option<usize> {
        if let [host] = hosts
            && (base.is_empty() || !self.mains[host.at].reading.content.has_episodes())
        {
            return Some(host.at);
        }
        let best = hosts.iter().max_by_key(|host| common(whole, &host.old))?;
        (!base.is_empty() && common(whole, &best.old) >= LEAST_COMMON.max(best.old.len() / 2))
            .then_some(best.at)
    }

    /// Season and episode in the name of a subtitle, where there are episodes.
    fn numbers(&self, folder: &str, base: &str, hosts: &[Host]) -> Option<(Option<i64>, i64)> {
        if let Some(found) = episode::explicit(base) {
            return Some((found.season, found.episode?));
        }
        let is_show = hosts
            .first()
            .is_some_and(|host| self.mains[host.at].reading.content.has_episodes());
        if !is_show || base.is_empty() {
            return None;
        }
        let found = identify(&format!("{folder}/{base}.srt"), Kind::Tv, false);
        Some((found.season, found.episode?))
    }

    fn covers(&self, at: usize, (season, number): (Option<i64>, i64)) -> bool {
        let reading = &self.mains[at].reading;
        let is_season = season.is_none() || season == reading.number(Token::Season);
        let first = reading.number(Token::Episode);
        let last = reading.number(Token::EpisodeEnd).or(first);
        let is_within = first
            .zip(last)
            .is_some_and(|(first, last)| (first..=last).contains(&number));
        is_season && is_within
    }

    fn place_sidecar(&mut self, at: usize, class: Class, index: &Index) -> Item {
        let source = &self.sources[at].name;
        let (folder, file_name) = file::place(source);
        let is_sound = matches!(class, Class::Audio | Class::Audiobook);
        if is_sound && file::is_theme(file_name) {
            return self.skip(at, Content::General, "theme of a show or a film".to_owned());
        }
        let found = named(file_name, folder, index, &['.', '-']).and_then(|(at, end)| {
            let main = &self.mains[at];
            Some((&file_name[end..], main.path.as_deref()?, main.reading.content))
        });
        if let Some((behind, path, kind)) = found {
            let (target, video) = file::place(path);
            // What stands behind may be anything.
            let name = clean::segment(&format!("{}{behind}", file::split(video).0));
            let path = join(target, &name.unwrap_or_default());
            return self.claim(at, kind, &path, "belongs to a video");
        }
        let about = index.about.get(folder).cloned().flatten();
        if let Some((target, kind)) = about.filter(|_| file::is_about_folder(file_name)) {
            let path = join(&target, file_name);
            return self.claim(at, kind, &path, "about the folder of a video");
        }
        if is_sound {
            let (kind, what) = match class {
                Class::Audio => (Content::Music, "music"),
                _ => (Content::Audiobook, "audiobooks"),
            };
            let reason = format!("artist and album of {what} are not read from names: it stays as it is");
            return self.skip(at, kind, reason);
        }
        self.skip(at, Content::General, "non-media file".to_owned())
    }
}

/// Language and flags of a subtitle of this video: what stands behind the video's name, if it is named like it.
fn subtitle_tag(stem: &str, video: &str) -> language::Tag {
    match stem.get(..video.len()) {
        Some(same) if same.eq_ignore_ascii_case(video) => {
            language::split(&format!("x{}", &stem[video.len()..])).1
        }
        _ => language::split(stem).1,
    }
}

/// Film or episode of a folder that a name begins with, the longest, and where its name ends; one of `signs` follows it, or
/// nothing.
fn named(name: &str, folder: &str, index: &Index, signs: &[char]) -> Option<(usize, usize)> {
    let ends = name.match_indices(signs).map(|(at, _)| at);
    let ends: Vec<usize> = ends.chain([name.len()]).filter(|end| *end > 0).collect();
    ends.into_iter().rev().take(MOST_ENDS).find_map(|end| {
        let key = (folder.to_owned(), fold(&name[..end]));
        Some((*index.by_name.get(&key)?, end))
    })
}

/// Number of letters with which two names begin.
fn common(one: &str, other: &str) -> usize {
    one.chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other)
        .count()
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}
