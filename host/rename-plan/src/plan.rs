//! Plan of a rename: which file gets which name, and why another one stays.

use std::collections::{HashMap, HashSet};

use qm_media_names::Kind;
use qm_media_names::naming::member::Beside;
use qm_media_names::naming::{self, season, show_at};

use crate::clean::folded_path;
use crate::cleanup::Cleanup;
use crate::file::{self, Class};
use crate::preset::{Preset, Templates};
use crate::read::{self, Above, Content, Origin, Place, Reading, SourceName, Value};
use crate::render::{Refusal, Rendered, render};
use crate::template::{Template, TemplateError};
use crate::token::Token;

mod companions;
mod versions;

/// Manner in which files get their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Preview,
    RenameInPlace,
    RenameMove,
    Copy,
    Hardlink,
    Symlink,
}

impl Mode {
    pub const WORDS: [&str; 6] = [
        "preview",
        "rename_in_place",
        "rename_move",
        "copy",
        "hardlink",
        "symlink",
    ];

    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "preview" => Mode::Preview,
            "rename_in_place" => Mode::RenameInPlace,
            "rename_move" => Mode::RenameMove,
            "copy" => Mode::Copy,
            "hardlink" => Mode::Hardlink,
            "symlink" => Mode::Symlink,
            _ => return None,
        })
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Preview => "preview",
            Mode::RenameInPlace => "rename_in_place",
            Mode::RenameMove => "rename_move",
            Mode::Copy => "copy",
            Mode::Hardlink => "hardlink",
            Mode::Symlink => "symlink",
        }
    }

    const fn action(self) -> Action {
        match self {
            Mode::Preview | Mode::RenameInPlace => Action::Rename,
            Mode::RenameMove => Action::Move,
            Mode::Copy => Action::Copy,
            Mode::Hardlink => Action::Hardlink,
            Mode::Symlink => Action::Symlink,
        }
    }

    /// True if the files leave their old places, so that others may be cleaned up there.
    pub const fn cleans(self) -> bool {
        matches!(self, Mode::RenameInPlace | Mode::RenameMove)
    }
}

/// Step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Rename,
    Move,
    Copy,
    Hardlink,
    Symlink,
    Delete,
    Skip,
}

impl Action {
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Rename => "rename",
            Action::Move => "move",
            Action::Copy => "copy",
            Action::Hardlink => "hardlink",
            Action::Symlink => "symlink",
            Action::Delete => "delete",
            Action::Skip => "skip",
        }
    }
}

/// A file that may get another name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Path as it is answered, and compared with the destination.
    pub path: String,
    /// Path that is read: below the library's directory, or from the downloaded folder on.
    pub name: String,
    /// Bytes; `None`: unknown.
    pub size: Option<u64>,
}

/// A show that the library has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownShow {
    pub title: String,
    pub year: Option<i64>,
    /// Its folder below the library's directory.
    pub folder: String,
}

/// Templates of all kinds, read.
#[derive(Clone, Debug)]
struct Forms {
    tv: Template,
    anime: Template,
    movie: Template,
    general: Template,
}

/// Input of a plan, besides the files.
#[derive(Clone, Debug)]
pub struct Wish {
    pub mode: Mode,
    pub preset: Preset,
    forms: Forms,
    /// Directory of the library; empty: destinations are relative to it.
    pub library: String,
    /// Kind of the library; `None`: unknown.
    pub kind: Option<Kind>,
    pub source_name: Option<String>,
    pub cleanup: Cleanup,
    /// Shows of the library.
    pub shows: Vec<KnownShow>,
}

impl Wish {
    /// Wish for the templates of a preset.
    ///
    /// # Errors
    /// When a template has a fault.
    pub fn new(preset: Preset, templates: &Templates) -> Result<Self, TemplateError> {
        Ok(Self {
            mode: Mode::Preview,
            preset,
            forms: Forms {
                tv: Template::parse(&templates.tv)?,
                anime: Template::parse(&templates.anime)?,
                movie: Template::parse(&templates.movie)?,
                general: Template::parse(&templates.general)?,
            },
            library: String::new(),
            kind: None,
            source_name: None,
            cleanup: Cleanup::default(),
            shows: Vec::new(),
        })
    }

    /// Template for this content.
    pub(crate) fn template(&self, content: Content) -> &Template {
        match content {
            Content::Tv => &self.forms.tv,
            Content::Anime => &self.forms.anime,
            Content::Movie => &self.forms.movie,
            Content::Music | Content::Audiobook | Content::General => &self.forms.general,
        }
    }
}

/// One file of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub source: String,
    pub destination: Option<String>,
    pub action: Action,
    pub kind: Content,
    pub reason: String,
    pub is_subtitle: bool,
    pub is_sample: bool,
    pub is_extra: bool,
    pub is_unchanged: bool,
}

impl Item {
    pub fn is_skipped(&self) -> bool {
        self.action == Action::Skip
    }
}

/// Answer to a wish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Deletions, then media, subtitles, and what travels with them.
    pub items: Vec<Item>,
    pub warnings: Vec<String>,
}

/// A film or an episode on its way.
struct Main {
    /// Its place among the sources.
    source: usize,
    reading: Reading,
    ext: String,
    rendered: Result<Rendered, Refusal>,
    /// Its folder, and that of its show, below the library; the same for films.
    folder: String,
    show_folder: String,
    /// Path below the library.
    path: Option<String>,
}

/// Plans the names of files.
pub fn plan(wish: &Wish, sources: &[Source]) -> Plan {
    let mut shows: HashMap<String, Vec<&KnownShow>> = HashMap::new();
    for show in &wish.shows {
        shows.entry(read::show_key(&show.title)).or_default().push(show);
    }
    let mut planner = Planner {
        wish,
        shows,
        sources,
        deleted: Vec::new(),
        mains: Vec::new(),
        rest: Vec::new(),
        items: Vec::new(),
        taken: HashSet::new(),
        warnings: Vec::new(),
    };
    planner.sort_out();
    planner.read_mains();
    planner.tell_versions_apart();
    planner.place_mains();
    planner.place_companions();
    planner.finish()
}

struct Planner<'w> {
    wish: &'w Wish,
    /// Shows of the library by the keys of their titles.
    shows: HashMap<String, Vec<&'w KnownShow>>,
    sources: &'w [Source],
    deleted: Vec<Item>,
    mains: Vec<Main>,
    /// Files that are no film and no episode, with their class.
    rest: Vec<(usize, Class)>,
    items: Vec<Item>,
    /// Folded paths below the library that files get.
    taken: HashSet<String>,
    warnings: Vec<String>,
}

impl Planner<'_> {
    /// Separates films and episodes from what travels with them, and what is removed from both.
    fn sort_out(&mut self) {
        let mut order: Vec<usize> = (0..self.sources.len()).collect();
        order.sort_by(|one, other| self.sources[*one].name.cmp(&self.sources[*other].name));
        let mut seen = HashSet::new();
        for at in order {
            let source = &self.sources[at];
            // The same file twice is one file.
            if !seen.insert(&source.path) {
                continue;
            }
            let (_, name) = file::place(&source.name);
            let class = file::class(name);
            let is_sample = class == Class::Video && is_sample(source);
            let is_real = class == Class::Video && !is_sample;
            let cleanup = Some(&self.wish.cleanup).filter(|_| self.wish.mode.cleans());
            if let Some(reason) = cleanup.and_then(|cleanup| cleanup.reason(name, is_real)) {
                let mut item = self.skip(at, Content::General, reason);
                item.action = Action::Delete;
                item.is_sample = is_sample;
                item.is_subtitle = class == Class::Subtitle;
                self.deleted.push(item);
            } else if is_sample {
                let mut item = self.skip(at, Content::General, "sample file ignored".to_owned());
                item.is_sample = true;
                self.items.push(item);
            } else if class == Class::Video && !self.is_extra(source) {
                self.mains.push(self.new_main(at));
            } else {
                self.rest.push((at, class));
            }
        }
    }

    fn new_main(&self, at: usize) -> Main {
        let (_, name) = file::place(&self.sources[at].name);
        Main {
            source: at,
            reading: Reading {
                content: Content::General,
                values: std::collections::BTreeMap::new(),
                label: None,
            },
            ext: file::split(name).1.to_lowercase(),
            rendered: Err(Refusal::Nothing),
            folder: String::new(),
            show_folder: String::new(),
            path: None,
        }
    }

    /// True for a trailer, a featurette and the like.
    fn is_extra(&self, source: &Source) -> bool {
        let (_, name) = file::place(&source.name);
        let (stem, _) = file::split(name);
        let is_episode = naming::episode::explicit(stem).is_some();
        let kind = match self.wish.kind {
            Some(kind @ (Kind::Tv | Kind::Anime | Kind::Movie)) => kind,
            _ if is_episode => Kind::Tv,
            _ => Kind::Movie,
        };
        let found = naming::extra(&source.name, kind).is_some_and(|found| found != "sample");
        found || (file::is_theme(name) && !is_episode) || (!is_episode && says_extra(stem))
    }

    fn read_mains(&mut self) {
        let mut by_folder: HashMap<&str, Vec<&str>> = HashMap::new();
        for main in &self.mains {
            let (folder, name) = file::place(&self.sources[main.source].name);
            by_folder.entry(folder).or_default().push(name);
        }
        let beside: HashMap<&str, Beside> = by_folder
            .iter()
            .map(|(folder, names)| (*folder, Beside::read_names(folder, names.iter().copied())))
            .collect();
        let source_name = self.wish.source_name.as_deref();
        let source_name = source_name.map(|name| SourceName::new(name, self.wish.kind));
        let (none, mut last) = (Beside::default(), Above::default());
        let is_alone = self.mains.len() == 1;
        let mut mains = std::mem::take(&mut self.mains);
        for main in &mut mains {
            let source = &self.sources[main.source];
            let (folder, _) = file::place(&source.name);
            let beside = beside.get(folder).unwrap_or(&none);
            let name = versions::without_double(&source.name);
            main.reading = {
                let place = match self.within_library(source) {
                    Some(_) => Place::Library,
                    None => Place::Elsewhere,
                };
                read::read(&name, self.wish.kind, beside, place, &mut last)
            };
            if let Some(name) = &source_name {
                read::add_source(&mut main.reading, name, is_alone);
            }
            self.take_known_show(&mut main.reading);
        }
        spell_titles(&mut mains);
        for main in &mut mains {
            main.rendered = self.render_main(main, None);
        }
        self.mains = mains;
    }

    /// Takes title and year of a show as the library has them.
    fn take_known_show(&self, reading: &mut Reading) {
        let Some(title) = reading.text(Token::SeriesTitle) else {
            return;
        };
        let year = reading.number(Token::Year);
        let fits = |show: &&&KnownShow| year.is_none() || show.year.is_none() || year == show.year;
        let named = self.shows.get(&read::show_key(title));
        let mut found = named.into_iter().flatten().filter(fits);
        let (Some(show), None) = (found.next(), found.next()) else {
            // None, or several of one name: nobody can say which.
            return;
        };
        let from = || Origin {
            place: "library",
            token: Some(show.folder.clone()),
            rule: "a show of the library has this name",
        };
        let title = Value {
            text: show.title.clone(),
            from: from(),
        };
        reading.values.insert(Token::SeriesTitle, title);
        if let Some(year) = show.year {
            let year = Value {
                text: year.to_string(),
                from: from(),
            };
            reading.values.insert(Token::Year, year);
        }
    }

    fn render_main(&self, main: &Main, label: Option<&str>) -> Result<Rendered, Refusal> {
        let template = self.wish.template(main.reading.content);
        let mut rendered = render(template, &main.reading, self.wish.preset, label, &main.ext)?;
        if self.wish.mode == Mode::RenameInPlace && main.reading.content != Content::Movie {
            self.keep_folders(main, &mut rendered);
        }
        Ok(rendered)
    }

    /// Path of a source below the library; `None`: it lies elsewhere, or nobody can tell by its text.
    fn within_library<'s>(&self, source: &'s Source) -> Option<&'s str> {
        let library = self.wish.library.trim_end_matches('/');
        if library.is_empty() {
            return None;
        }
        let path = source.path.strip_prefix(library)?.strip_prefix('/')?;
        let is_plain = |name: &str| !matches!(name, "." | "..");
        path.split('/').all(is_plain).then_some(path)
    }

    /// Puts a file into the folders of its show that are there.
    fn keep_folders(&self, main: &Main, rendered: &mut Rendered) {
        let Some(path) = self.within_library(&self.sources[main.source]) else {
            return;
        };
        let folders: Vec<&str> = file::place(path)
            .0
            .split('/')
            .filter(|folder| !folder.is_empty())
            .collect();
        let Some(at) = show_at(&folders) else { return };
        let mut kept: Vec<String> = folders[..=at].iter().map(|folder| (*folder).to_owned()).collect();
        let number = main.reading.number(Token::Season);
        for folder in rendered.folders.drain(..).skip(1) {
            let is_season = season::season(&folder).is_some_and(|season| Some(season.number) == number);
            let own = folders[at + 1..].iter().find(|own| {
                is_season && season::season(own).is_some_and(|season| Some(season.number) == number)
            });
            kept.push(own.map_or(folder, |own| (*own).to_owned()));
        }
        rendered.folders = kept;
    }

    fn skip(&self, at: usize, kind: Content, reason: String) -> Item {
        Item {
            source: self.sources[at].path.clone(),
            destination: None,
            action: Action::Skip,
            kind,
            reason,
            is_subtitle: false,
            is_sample: false,
            is_extra: false,
            is_unchanged: false,
        }
    }

    /// Item of a file that goes to this path below the library.
    fn go(&self, at: usize, kind: Content, path: &str, reason: &str) -> Item {
        let library = self.wish.library.trim_end_matches('/');
        let destination = if library.is_empty() && !self.wish.library.starts_with('/') {
            path.to_owned()
        } else {
            format!("{library}/{path}")
        };
        let mut item = self.skip(at, kind, reason.to_owned());
        item.action = self.wish.mode.action();
        item.is_unchanged = destination == item.source;
        item.destination = Some(destination);
        item
    }

    fn finish(mut self) -> Plan {
        let is_media = |item: &Item| !item.is_skipped() && item.action != Action::Delete;
        let has_media = self.items.iter().any(is_media);
        if !has_media {
            self.warnings
                .push("No renamable media files were found.".to_owned());
        }
        let mut items = self.deleted;
        items.append(&mut self.items);
        Plan {
            items,
            warnings: self.warnings,
        }
    }
}

/// Gives titles that differ in case or composition alone one spelling: the one with the most capital words, and of equal ones
/// the first.
fn spell_titles(mains: &mut [Main]) {
    const TITLES: [Token; 2] = [Token::SeriesTitle, Token::MovieTitle];
    let mut spelled: HashMap<String, String> = HashMap::new();
    for main in &*mains {
        for title in TITLES.iter().filter_map(|token| main.reading.values.get(token)) {
            let known = spelled
                .entry(fold(&title.text))
                .or_insert_with(|| title.text.clone());
            if capitals(&title.text) > capitals(known) {
                known.clone_from(&title.text);
            }
        }
    }
    for main in mains {
        for token in TITLES {
            if let Some(title) = main.reading.values.get_mut(&token)
                && let Some(known) = spelled.get(&fold(&title.text))
            {
                title.text.clone_from(known);
            }
        }
    }
}

/// Number of words with a capital letter at their beginning.
fn capitals(title: &str) -> usize {
    title
        .split_whitespace()
        .filter(|word| word.starts_with(char::is_uppercase))
        .count()
}

/// True for a short piece of a film, by its name, its folder and its size.
fn is_sample(source: &Source) -> bool {
    if !file::is_sample_size(source.size) {
        return false;
    }
    let folder = source.name.rsplit('/').nth(1).unwrap_or_default();
    let in_folder = matches!(&*folder.to_lowercase(), "sample" | "samples");
    in_folder || naming::extra(&source.name, Kind::Movie) == Some("sample")
}

/// True if a name without an episode says that it is an extra.
fn says_extra(stem: &str) -> bool {
    let lower = stem.to_lowercase();
    const ENDS: &[&str] = &[
        "-behindthescenes",
        "-deleted",
        "-deletedscenes",
        "-featurette",
        "-interview",
        "-scene",
        "-short",
        "-trailer",
        "-other",
        "-bonus",
    ];
    if ENDS
        .iter()
        .any(|end| lower.strip_suffix(end).is_some_and(|before| !before.is_empty()))
    {
        return true;
    }
    // A word of a title is none: only behind a hyphen, or alone.
    const WORDS: &[&str] = &[
        "featurette",
        "featurettes",
        "behind the scenes",
        "deleted scene",
        "deleted scenes",
        "trailer",
        "teaser",
        "bonus",
        "extra",
        "extras",
        "interview",
        "making of",
    ];
    let last = lower.rsplit(" - ").next().unwrap_or_default();
    let last = last.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ' ');
    WORDS.contains(&last)
}

/// Folded form of a path, by which two destinations are one.
fn fold(path: &str) -> String {
    folded_path(path)
}

#[cfg(test)]
mod tests;
