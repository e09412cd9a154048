//! Plans as they are made of what is in the folders. Pure: the same folders give the same plan.
//!
//! One of two files of the same episodes in two folders stays: the one that was chosen, else the larger one, else the one that
//! is there. Files of one folder never collide: they are versions. What stays moves to the top of the folder that stays, where
//! a scan finds it; an extra, and an episode whose season only its folder says, keep their places below the show.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use qm_ports::folders::FolderShow;
use qm_ports::trash::FileState;

use super::contents::{Contents, EpisodeKey, FileKind, FolderFile, stem_of};
use super::family::is_same_name;
use super::names::{language_of, rest_behind, said_language};
use super::plan::{Action, Collision, Kept, Move, MoveKind, Plan, PlanShow, Rescued, Step, count_freed};
use super::sides::Side;

/// Most warnings of one sort.
const MOST_WARNINGS: usize = 50;

/// Request for a plan.
pub struct Order {
    /// The show that stays, then those whose folders are put into its own; each with what is in its folder.
    pub shows: Vec<(FolderShow, Contents)>,
    /// Paths to keep, by the keys of episodes.
    pub choices: BTreeMap<String, String>,
    /// True if shows of other names are meant.
    pub is_acknowledged: bool,
    /// Paths of files of locked items.
    pub locked: BTreeSet<String>,
    /// Directories of libraries.
    pub libraries: BTreeSet<String>,
}

/// A video: its folder, and its position among the videos there.
type Spot = (usize, usize);

/// A plan that grows.
struct Draft<'a> {
    order: &'a Order,
    sides: Vec<Side<'a>>,
    /// Videos that go, each with the one that stays in its place.
    lost: BTreeMap<Spot, Spot>,
    /// Paths of files that a step is about.
    used: HashSet<&'a str>,
    trash: Vec<Step>,
    moves: Vec<Step>,
    plan: Plan,
}

/// Makes a plan. The shows are at least two.
pub fn draft(order: &Order) -> Plan {
    let mut sides: Vec<Side<'_>> = order
        .shows
        .iter()
        .map(|(show, contents)| Side::new(show, contents))
        .collect();
    if let Some((_, canonical)) = order.shows.first() {
        sides
            .iter_mut()
            .skip(1)
            .for_each(|side| side.keep_places(canonical));
    }
    let mut draft = Draft {
        order,
        sides,
        lost: BTreeMap::new(),
        used: HashSet::new(),
        trash: Vec::new(),
        moves: Vec::new(),
        plan: Plan::default(),
    };
    draft.name_shows();
    draft.check_shows();
    draft.judge_episodes();
    draft.trash_lost();
    draft.move_rest();
    draft.check_destinations();
    draft.drop_folders();
    draft.finish()
}

impl<'a> Draft<'a> {
    fn name_shows(&mut self) {
        let named = |(show, _): &(FolderShow, Contents)| PlanShow {
            id: show.id.clone(),
            path: show.path.clone(),
            title: show.title.clone(),
        };
        let mut shows = self.order.shows.iter().map(named);
        self.plan.canonical = shows.next().unwrap_or_default();
        self.plan.duplicates = shows.collect();
        if let Some((show, contents)) = self.order.shows.first() {
            self.plan.library_id.clone_from(&show.library_id);
            self.plan.identity = contents.identity;
        }
    }

    /// Refuses folders that are no two, and shows of other names.
    fn check_shows(&mut self) {
        let mut seen: HashMap<(u64, u64), &str> = HashMap::new();
        for side in &self.sides {
            let path = &*side.contents.path;
            if let Some(other) = seen.insert(side.contents.identity, path) {
                let what = format!("{path} and {other} are one folder: nothing is to be merged");
                self.plan.blockers.push(what);
            }
        }
        let Some((canonical, duplicates)) = self.sides.split_first() else {
            return;
        };
        let is_inside = |inner: &str, outer: &str| inner.starts_with(&format!("{outer}/"));
        for (at, side) in duplicates.iter().enumerate() {
            let path = &side.contents.path;
            if self.order.libraries.contains(path.trim_end_matches('/')) {
                self.plan
                    .blockers
                    .push(format!("{path} is the directory of a library"));
            } else if let Some(library) = self.order.libraries.iter().find(|inner| is_inside(inner, path)) {
                let what = format!("the directory of a library, {library}, is in {path}");
                self.plan.blockers.push(what);
            }
            if let Some(part) = side.contents.disc() {
                let what =
                    format!("{part} is a part of a disc, which plays only as a whole: move the disc by hand");
                self.plan.blockers.push(what);
            }
            // Those before it, first of all the one that stays.
            for other in &self.sides[..=at] {
                let other = &other.contents.path;
                if is_inside(path, other) || is_inside(other, path) {
                    let what = format!("{path} and {other} lie in one another");
                    self.plan.blockers.push(what);
                }
            }
            if !is_same_name(side.show, canonical.show) && !self.order.is_acknowledged {
                let what = format!(
                    "{} and {} have other names or years: send acknowledgeMetadataConflict if they are one show",
                    side.contents.folder(),
                    canonical.contents.folder()
                );
                self.plan.blockers.push(what);
            }
        }
    }

    /// Decides which files of each episode stay.
    fn judge_episodes(&mut self) {
        let mut spots: BTreeMap<EpisodeKey, Vec<Spot>> = BTreeMap::new();
        for (number, side) in self.sides.iter().enumerate() {
            for (at, clip) in side.clips.iter().enumerate() {
                if let Some(key) = clip.key {
                    spots.entry(key).or_default().push((number, at));
                }
            }
        }
        self.check_choices(&spots);
        self.warn_of_overlaps(&spots);
        for (key, spots) in &spots {
            let folders: BTreeSet<usize> = spots.iter().map(|(side, _)| *side).collect();
            if folders.len() > 1 {
                self.judge_episode(*key, spots);
            }
        }
    }

    fn check_choices(&mut self, spots: &BTreeMap<EpisodeKey, Vec<Spot>>) {
        let by_name: HashMap<String, &Vec<Spot>> = spots
            .iter()
            .map(|(key, spots)| (key.to_string(), spots))
            .collect();
        for (key, path) in &self.order.choices {
            let files = by_name.get(key).into_iter().flat_map(|spots| spots.iter());
            let mut paths = files.map(|(side, clip)| &self.sides[*side].file(*clip).path);
            if !paths.any(|known| known == path) {
                let what = format!("collisionChoices: {path} is no file of the episode {key}");
                self.plan.blockers.push(what);
            }
        }
    }

    /// Files that share some of their episodes stay: nobody can say which of them is whole.
    fn warn_of_overlaps(&mut self, spots: &BTreeMap<EpisodeKey, Vec<Spot>>) {
        let several: Vec<EpisodeKey> = spots.keys().copied().filter(|key| key.last > key.first).collect();
        let mut told = 0;
        for key in several {
            for other in spots.keys().filter(|other| other.is_overlapping(key)) {
                let is_elsewhere = |spot: &&Spot| spots[&key].iter().any(|(side, _)| *side != spot.0);
                let Some(spot) = spots[other].iter().find(is_elsewhere) else {
                    continue;
                };
                if told == MOST_WARNINGS {
                    return;
                }
                told += 1;
                let path = &self.sides[spot.0].file(spot.1).path;
                let what = format!("{path} has a part of the episodes of a file of {key}: both stay");
                self.plan.warnings.push(what);
            }
        }
    }

    fn judge_episode(&mut self, key: EpisodeKey, spots: &[Spot]) {
        let size = |spot: Spot| self.sides[spot.0].file(spot.1).state.size;
        let chosen = self.order.choices.get(&key.to_string());
        let is_chosen = |spot: &&Spot| chosen == Some(&self.sides[spot.0].file(spot.1).path);
        let chosen = spots.iter().find(is_chosen).copied();
        // The larger one; of equal ones that of the first folder.
        let larger = |best: Spot, spot: Spot| if size(spot) > size(best) { spot } else { best };
        let Some(winner) = chosen.or_else(|| spots.iter().copied().reduce(larger)) else {
            return;
        };
        for spot in spots.iter().filter(|spot| spot.0 != winner.0) {
            // What comes later in the list of folders comes in.
            let (incoming, existing) = if spot.0 > winner.0 {
                (*spot, winner)
            } else {
                (winner, *spot)
            };
            let file = |spot: Spot| self.sides[spot.0].file(spot.1);
            let (gone, stays) = (file(*spot), file(winner));
            let same = |one: &FolderFile, other: &FolderFile| {
                (one.state.device, one.state.inode) == (other.state.device, other.state.inode)
            };
            if same(gone, stays) && gone.links < 2 {
                let what = format!("{} and {} are one file, seen twice", gone.path, stays.path);
                self.plan.blockers.push(what);
            } else if same(gone, stays) {
                let what = format!(
                    "{} and {} are one file by a hard link: no space is freed",
                    gone.path, stays.path
                );
                self.plan.warnings.push(what);
            }
            if self.order.locked.contains(&gone.path) {
                let what = format!(
                    "{} belongs to a locked item and would go: unlock it, or keep it with collisionChoices",
                    gone.path
                );
                self.plan.blockers.push(what);
            }
            self.plan.collisions.push(Collision {
                key: key.to_string(),
                season: key.season,
                episode: key.first,
                incoming: file(incoming).path.clone(),
                incoming_bytes: file(incoming).state.size,
                existing: file(existing).path.clone(),
                existing_bytes: file(existing).state.size,
                is_incoming_better: incoming == winner,
                is_chosen: chosen.is_some(),
                trashed: gone.path.clone(),
            });
            self.lost.insert(*spot, winner);
        }
    }

    /// Path that a file of a side has after the merge.
    fn place_of(&self, side: usize, file: &FolderFile, keeps_place: bool) -> String {
        if side == 0 {
            return file.path.clone();
        }
        let below = if keeps_place { &*file.below } else { file.name() };
        format!("{}/{below}", self.plan.canonical.path)
    }

    /// Files of lost videos go; subtitles in a language that the one that stays lacks go to that one.
    fn trash_lost(&mut self) {
        let mut languages: HashMap<Spot, BTreeSet<String>> = HashMap::new();
        for (spot, winner) in self.lost.clone() {
            let stays = self.sides[winner.0].file(winner.1);
            let kept = Kept {
                path: stays.path.clone(),
                state: stays.state,
            };
            let known = languages
                .entry(winner)
                .or_insert_with(|| self.sides[winner.0].languages(winner.1));
            let video = self.sides[spot.0].file(spot.1);
            let beside: Vec<&FolderFile> = self.sides[spot.0].beside(spot.1).collect();
            let mut found = BTreeSet::new();
            let (mut rescued, mut goes) = (Vec::new(), vec![video]);
            for file in beside {
                let language = language_of(file.name(), video.name());
                if file.kind == FileKind::Subtitle && !known.contains(&language) {
                    found.insert(language.clone());
                    rescued.push((file, language));
                } else {
                    goes.push(file);
                }
            }
            known.extend(found);
            for file in goes {
                self.used.insert(&file.path);
                let kept = Some(kept.clone());
                self.trash.push(to_step(Action::Trash, file, None, kept));
            }
            let clip = &self.sides[winner.0].clips[winner.1];
            let place = self.place_of(winner.0, stays, clip.keeps_place);
            let above = place.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
            for (file, language) in rescued {
                let rest = rest_behind(file.name(), video.name());
                let to = format!("{above}/{}{rest}", stem_of(stays.name()));
                self.used.insert(&file.path);
                if to == file.path {
                    continue;
                }
                self.plan.rescued.push(Rescued {
                    from: file.path.clone(),
                    to: to.clone(),
                    language: said_language(&language),
                });
                self.add_move(file, to, MoveKind::RescuedSubtitle);
                // Without it, they would be subtitles of nothing.
                if let Some(step) = self.moves.last_mut() {
                    step.kept = Some(kept.clone());
                }
            }
        }
    }

    fn add_move(&mut self, file: &FolderFile, to: String, kind: MoveKind) {
        let action = if kind == MoveKind::RescuedSubtitle {
            Action::Rescue
        } else {
            Action::Move
        };
        self.plan.moves.push(Move {
            from: file.path.clone(),
            to: to.clone(),
            size: file.state.size,
            kind,
        });
        self.moves.push(to_step(action, file, Some(to), None));
    }

    /// Videos of the duplicates that stay move, with the files beside them.
    fn move_rest(&mut self) {
        for side in 1..self.sides.len() {
            for clip in 0..self.sides[side].clips.len() {
                if self.lost.contains_key(&(side, clip)) {
                    continue;
                }
                let keeps_place = self.sides[side].clips[clip].keeps_place;
                let video = self.sides[side].file(clip);
                let beside: Vec<&'a FolderFile> = self.sides[side].beside(clip).collect();
                let kinds = std::iter::once((video, MoveKind::Video));
                let kinds = kinds.chain(beside.into_iter().map(|file| (file, MoveKind::Sidecar)));
                let top = self.place_of(side, video, keeps_place);
                for (file, kind) in kinds {
                    self.used.insert(&file.path);
                    let to = self.place_of(side, file, keeps_place);
                    self.add_move(file, to, kind);
                    if kind == MoveKind::Sidecar
                        && let Some(step) = self.moves.last_mut()
                    {
                        step.beside = Some(top.clone());
                    }
                }
            }
        }
    }

    /// Refuses two files for one path, and a path that a file of the folder that stays has, letters of both sizes being one.
    fn check_destinations(&mut self) {
        let going: HashSet<&str> = self.trash.iter().map(|step| &*step.from).collect();
        let moving: HashSet<&str> = self.moves.iter().map(|step| &*step.from).collect();
        let mut taken: HashMap<String, String> = HashMap::new();
        if let Some(canonical) = self.sides.first() {
            for file in &canonical.contents.files {
                let path = &*file.path;
                if !going.contains(path) && !moving.contains(path) {
                    taken.insert(path.to_lowercase(), path.to_owned());
                }
            }
        }
        for step in &self.moves {
            let Some(to) = &step.to else { continue };
            let other = taken.insert(to.to_lowercase(), step.from.clone());
            if let Some(other) = other {
                let what = format!(
                    "{} would get the path {to}, and so has or would {other}",
                    step.from
                );
                self.plan.blockers.push(what);
            }
        }
    }

    /// Folders of duplicates go, unless something is left in them that people would miss.
    fn drop_folders(&mut self) {
        let mut folders = Vec::new();
        for side in self.sides.iter().skip(1) {
            let path = &side.contents.path;
            let loose = side.loose.iter().map(|at| &side.contents.files[*at].path);
            let odd = side.contents.odd.iter();
            let left = loose.chain(odd).chain(&side.contents.unread).next();
            if let Some(left) = left {
                let what = format!(
                    "{path} stays, because {left} is left in it: subtitles of no video, links and unread directories are not touched"
                );
                self.plan.warnings.push(what);
                continue;
            }
            let (device, inode) = side.contents.identity;
            folders.push(Step {
                action: Action::Folder,
                from: path.clone(),
                to: None,
                state: FileState {
                    device,
                    inode,
                    size: 0,
                    modified: (0, 0),
                },
                links: 1,
                kept: None,
                beside: None,
                torrents: Vec::new(),
            });
            self.plan.deletions.push(path.clone());
        }
        self.plan.steps = self.trash.drain(..).chain(self.moves.drain(..)).collect();
        self.plan.steps.extend(folders);
    }

    fn finish(mut self) -> Plan {
        let trashed = self.plan.steps.iter();
        let trashed = trashed
            .filter(|step| step.action == Action::Trash)
            .map(|step| (&step.state, step.links));
        let goes = |side: &&Side<'_>| self.plan.deletions.contains(&side.contents.path);
        let left = self.sides.iter().skip(1).filter(goes);
        let left: Vec<&FolderFile> = left
            .flat_map(|side| &side.contents.files)
            .filter(|file| !self.used.contains(&*file.path))
            .collect();
        let of_left = left.iter().map(|file| (&file.state, file.links));
        self.plan.expected_freed = count_freed(trashed.chain(of_left));
        self.plan.left = left.into_iter().map(|file| file.path.clone()).collect();
        if self.plan.steps.is_empty() && self.plan.blockers.is_empty() {
            self.plan.blockers.push("there is nothing to merge".to_owned());
        }
        self.plan
    }
}

fn to_step(action: Action, file: &FolderFile, to: Option<String>, kept: Option<Kept>) -> Step {
    Step {
        action,
        from: file.path.clone(),
        to,
        state: file.state,
        links: file.links,
        kept,
        beside: None,
        torrents: Vec::new(),
    }
}
