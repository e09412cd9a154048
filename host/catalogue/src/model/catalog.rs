//! All items in memory, with their sort orders, for lists.
//!
//! Its answers are exactly those of the statements of `repo::lists`; a test compares them. Texts are stored as their
//! positions in the sorted texts, and an item as its position among the ids. It takes about 100 bytes an item, and its
//! distinct titles.

use std::collections::HashMap;
use std::sync::OnceLock;

use qm_media::model::item::{Filter, Issue, Sort};
use qm_media::model::view::Faults;

/// An item, as it is read.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub id: String,
    pub library_id: String,
    pub media_type: String,
    pub match_status: String,
    pub title: String,
    pub title_key: String,
    pub letter: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub is_duplicate: bool,
    pub has_pictures: bool,
    pub has_subtitles: bool,
    pub created_at: i64,
    pub updated_at: i64,
}

/// Column of one text for each item.
struct Column {
    /// Distinct texts, in order.
    texts: Vec<Box<str>>,
    /// Position in `texts`, for each item.
    of: Vec<u32>,
}

impl Column {
    /// Position of a text; `None`: no item has it.
    fn find(&self, text: &str) -> Option<u32> {
        let found = self.texts.binary_search_by(|known| (**known).cmp(text));
        found.ok().and_then(|at| u32::try_from(at).ok())
    }
}

/// A column while it is filled: its texts are numbered as they come.
#[derive(Default)]
struct Filling {
    numbers: HashMap<Box<str>, u32>,
    of: Vec<u32>,
}

impl Filling {
    fn push(&mut self, text: &str) {
        let number = match self.numbers.get(text) {
            Some(number) => *number,
            None => {
                let next = self.numbers.len() as u32;
                self.numbers.insert(text.into(), next);
                next
            }
        };
        self.of.push(number);
    }

    fn done(self) -> Column {
        let mut texts: Vec<(Box<str>, u32)> = self.numbers.into_iter().collect();
        texts.sort_unstable();
        let mut places = vec![0; texts.len()];
        for (place, (_, number)) in texts.iter().enumerate() {
            places[*number as usize] = place as u32;
        }
        Column {
            texts: texts.into_iter().map(|(text, _)| text).collect(),
            of: self.of.iter().map(|number| places[*number as usize]).collect(),
        }
    }
}

/// Builder of a catalog from items in the order of their ids.
#[derive(Default)]
pub struct Gathering {
    ids: Vec<u128>,
    libraries: Filling,
    types: Filling,
    statuses: Filling,
    titles: Filling,
    keys: Filling,
    letters: Filling,
    years: Vec<Option<i64>>,
    seasons: Vec<Option<i64>>,
    faults: Vec<u8>,
    created: Vec<i64>,
    updated: Vec<i64>,
}

impl Gathering {
    /// Adds an item; `false`: its id is no UUID, or not behind the one before. There is no catalog then.
    #[must_use]
    pub fn take(&mut self, entry: &Entry) -> bool {
        let Some(id) = number(&entry.id).filter(|id| self.ids.last().is_none_or(|last| last < id)) else {
            return false;
        };
        self.ids.push(id);
        self.libraries.push(&entry.library_id);
        self.types.push(&entry.media_type);
        self.statuses.push(&entry.match_status);
        self.titles.push(&entry.title);
        self.keys.push(&entry.title_key);
        self.letters.push(&entry.letter);
        self.years.push(entry.year);
        self.seasons.push(entry.season);
        let faults = [
            (entry.is_duplicate, DUPLICATE),
            (!entry.has_pictures, NO_PICTURES),
            (!entry.has_subtitles, NO_SUBTITLES),
        ];
        let has = faults.iter().filter(|(has, _)| *has);
        self.faults.push(has.fold(0, |all, (_, fault)| all | fault));
        self.created.push(entry.created_at);
        self.updated.push(entry.updated_at);
        true
    }

    pub fn done(self) -> Catalog {
        Catalog {
            ids: self.ids,
            libraries: self.libraries.done(),
            types: self.types.done(),
            statuses: self.statuses.done(),
            titles: self.titles.done(),
            keys: self.keys.done(),
            letters: self.letters.done(),
            years: self.years,
            seasons: self.seasons,
            faults: self.faults,
            created: self.created,
            updated: self.updated,
            orders: std::array::from_fn(|_| OnceLock::new()),
        }
    }
}

/// Bits of faults.
const DUPLICATE: u8 = 1;
const NO_PICTURES: u8 = 2;
const NO_SUBTITLES: u8 = 4;

/// All items as they were at one moment.
pub struct Catalog {
    ids: Vec<u128>,
    libraries: Column,
    types: Column,
    statuses: Column,
    titles: Column,
    keys: Column,
    letters: Column,
    years: Vec<Option<i64>>,
    seasons: Vec<Option<i64>>,
    /// Faults of each item, as bits.
    faults: Vec<u8>,
    created: Vec<i64>,
    updated: Vec<i64>,
    /// Positions of the items in each [`Order`] that was asked for.
    orders: [OnceLock<Vec<u32>>; ORDERS],
}

/// Sort orders of items, smallest first; read backwards they are the reverse orders.
#[derive(Clone, Copy)]
enum Order {
    Id,
    Title,
    Added,
    Year,
    /// The newest first. Items without a year come last in both directions, and ids are not reversed.
    YearDesc,
    Updated,
}
const ORDERS: usize = 6;

/// Condition of a filter, with texts replaced by their positions.
struct Wanted {
    library: Option<u32>,
    media_type: Option<u32>,
    status: Option<u32>,
    title: Option<u32>,
    /// Result of the text search, for each title key.
    keys: Option<Vec<bool>>,
    /// Position of the first title key that may match: earlier ones are below the wanted beginning.
    from: u32,
    /// Fault that it must have; 0: any or none.
    fault: u8,
    /// First and last year; an item without a year does not match.
    years: Option<(i64, i64)>,
    season: Option<i64>,
}

impl Wanted {
    const fn is_all(&self) -> bool {
        self.library.is_none()
            && self.media_type.is_none()
            && self.status.is_none()
            && self.title.is_none()
            && self.keys.is_none()
            && self.from == 0
            && self.fault == 0
            && self.years.is_none()
            && self.season.is_none()
    }
}

impl Catalog {
    /// A page of items as ids, and the total number.
    pub fn page(&self, filter: &Filter, offset: u64, limit: u64) -> (Vec<String>, u64) {
        let Some(wanted) = self.wanted(filter) else {
            return (Vec::new(), 0);
        };
        let (order, is_backwards) = order(filter);
        let sorted = self.sorted(order);
        let all = (0..sorted.len()).map(|at| sorted[if is_backwards { sorted.len() - 1 - at } else { at }]);
        let (offset, limit) = (clamped(offset), clamped(limit));
        let (page, total): (Vec<u32>, usize) = if wanted.is_all() {
            (all.skip(offset).take(limit).collect(), sorted.len())
        } else {
            let (mut page, mut total) = (Vec::new(), 0);
            for item in all.filter(|item| self.is_wanted(&wanted, *item as usize)) {
                if total >= offset && page.len() < limit {
                    page.push(item);
                }
                total += 1;
            }
            (page, total)
        };
        let ids = page.into_iter().map(|item| text(self.ids[item as usize]));
        (ids.collect(), total as u64)
    }

    /// Number of items by letter; letters without items are left out.
    pub fn alphabet(&self, filter: &Filter) -> Vec<(String, i64)> {
        let Some(wanted) = self.wanted(filter) else {
            return Vec::new();
        };
        let mut counts = vec![0; self.letters.texts.len()];
        for item in (0..self.ids.len()).filter(|item| self.is_wanted(&wanted, *item)) {
            counts[self.letters.of[item] as usize] += 1;
        }
        let letters = self.letters.texts.iter().map(ToString::to_string).zip(counts);
        letters.filter(|(_, count)| *count > 0).collect()
    }

    /// Numbers of items of a library, or of all libraries, that have each fault.
    pub fn issues(&self, library_id: Option<&str>) -> Faults {
        let filter = |issue| Filter {
            library_id: library_id.map(str::to_owned),
            issue: Some(issue),
            ..Filter::default()
        };
        let count = |issue| {
            let wanted = self.wanted(&filter(issue));
            wanted.map_or(0, |wanted| {
                let items = (0..self.ids.len()).filter(|item| self.is_wanted(&wanted, *item));
                i64::try_from(items.count()).unwrap_or(i64::MAX)
            })
        };
        Faults {
            unmatched: count(Issue::Unmatched),
            missing_artwork: count(Issue::MissingArtwork),
            missing_subtitles: count(Issue::MissingSubtitles),
            duplicate: count(Issue::Duplicate),
        }
    }

    /// Condition of a filter; `None`: no item matches.
    fn wanted(&self, filter: &Filter) -> Option<Wanted> {
        let find = |column: &Column, text: Option<&str>| match text {
            Some(text) => column.find(text).map(Some),
            None => Some(None),
        };
        let status = match filter.issue {
            Some(Issue::Unmatched) => Some("unmatched"),
            _ => filter.match_status.as_deref(),
        };
        let search = filter.search.as_deref().filter(|_| filter.title.is_none());
        let keys = search.map(|part| {
            // No database keeps a NUL: see `repo::clean`.
            let part = part.to_lowercase().replace('\0', "\u{fffd}");
            self.keys.texts.iter().map(|key| key.contains(&part)).collect()
        });
        let from = filter.starts_at.map_or(0, |letter| {
            let letter = letter.to_ascii_lowercase().to_string();
            self.keys.texts.partition_point(|key| **key < *letter) as u32
        });
        Some(Wanted {
            library: find(&self.libraries, filter.library_id.as_deref())?,
            media_type: find(&self.types, filter.media_type.as_deref())?,
            status: find(&self.statuses, status)?,
            title: find(&self.titles, filter.title.as_deref())?,
            keys,
            from,
            fault: match filter.issue {
                Some(Issue::Duplicate) => DUPLICATE,
                Some(Issue::MissingArtwork) => NO_PICTURES,
                Some(Issue::MissingSubtitles) => NO_SUBTITLES,
                // The status says the first; lists in memory do not answer the second, see `Filter::is_of_columns`.
                Some(Issue::Unmatched | Issue::Suggested) | None => 0,
            },
            years: (filter.year_from.is_some() || filter.year_to.is_some()).then_some((
                filter.year_from.unwrap_or(i64::MIN),
                filter.year_to.unwrap_or(i64::MAX),
            )),
            season: filter.season,
        })
    }

    fn is_wanted(&self, wanted: &Wanted, item: usize) -> bool {
        let is = |column: &Column, text: Option<u32>| text.is_none_or(|text| column.of[item] == text);
        let key = self.keys.of[item];
        is(&self.libraries, wanted.library)
            && is(&self.types, wanted.media_type)
            && is(&self.statuses, wanted.status)
            && is(&self.titles, wanted.title)
            && key >= wanted.from
            && wanted.keys.as_ref().is_none_or(|keys| keys[key as usize])
            && (wanted.fault == 0 || self.faults[item] & wanted.fault != 0)
            && wanted
                .years
                .is_none_or(|(from, to)| self.years[item].is_some_and(|year| (from..=to).contains(&year)))
            && (wanted.season.is_none() || self.seasons[item] == wanted.season)
    }

    /// Positions of the items in an order. Equal items stay in the order of their ids.
    fn sorted(&self, order: Order) -> &[u32] {
        self.orders[order as usize].get_or_init(|| {
            let mut items: Vec<u32> = (0..self.ids.len() as u32).collect();
            let created = |item: &u32| self.created[*item as usize];
            match order {
                Order::Id => {}
                Order::Title => items.sort_by_key(|item| (self.keys.of[*item as usize], created(item))),
                Order::Added => items.sort_by_key(created),
                Order::Updated => items.sort_by_key(|item| self.updated[*item as usize]),
                Order::Year => items.sort_by_key(|item| {
                    let year = self.years[*item as usize];
                    (year.is_none(), year)
                }),
                Order::YearDesc => items.sort_by_key(|item| {
                    let year = self.years[*item as usize];
                    (year.is_none(), std::cmp::Reverse(year))
                }),
            }
            items
        })
    }
}

/// Order of a list, and true if it is read backwards. Items without pictures or subtitles come in the order of their ids.
const fn order(filter: &Filter) -> (Order, bool) {
    if matches!(
        filter.issue,
        Some(Issue::MissingArtwork | Issue::MissingSubtitles)
    ) {
        return (Order::Id, false);
    }
    match filter.sort {
        Sort::Title => (Order::Title, false),
        Sort::TitleDesc => (Order::Title, true),
        Sort::AddedAsc => (Order::Added, false),
        Sort::AddedDesc => (Order::Added, true),
        Sort::YearAsc => (Order::Year, false),
        Sort::YearDesc => (Order::YearDesc, false),
        Sort::UpdatedDesc => (Order::Updated, true),
    }
}

fn clamped(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Number of a UUID in its usual form; `None`: it is another text.
fn number(id: &str) -> Option<u128> {
    let digits: String = id.chars().filter(|c| *c != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (text(number) == id).then_some(number)
}

fn text(id: u128) -> String {
    let digits = format!("{id:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-{}-{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbers_in_the_same_order() {
        let ids = [
            "00000000-0000-0000-0000-000000000000",
            "0a000000-0000-4000-8000-00000000000f",
            "a9000000-0000-4000-8000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ];
        let numbers: Vec<u128> = ids.iter().map(|id| number(id).unwrap()).collect();
        assert!(numbers.is_sorted());
        for (id, number) in ids.iter().zip(numbers) {
            assert_eq!(text(number), *id);
        }
        for other in [
            "",
            "x",
            "0A000000-0000-4000-8000-00000000000f",
            "0a0000000000400080000000000000f",
            "0a000000-0000-4000-8000-00000000000f ",
        ] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_out_of_order_is_refused() {
        let entry = |id: &str| Entry {
            id: id.to_owned(),
            ..Entry::default()
        };
        let mut gathering = Gathering::default();
        let first = entry("0a000000-0000-4000-8000-00000000000f");
        assert!(gathering.take(&first));
        assert!(!gathering.take(&first));
        assert!(!gathering.take(&entry("i1")));
        assert_eq!(gathering.done().page(&Filter::default(), 0, 5).1, 1);
    }
}
