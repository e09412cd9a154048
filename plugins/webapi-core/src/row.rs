//! One torrent as it is kept between polls, and how a (partial) JSON object changes it in place.
//!
//! Only what a user can see counts as a change: the client also reports seconds of activity and the like, which move in
//! every answer and mean nothing here.

mod choices;

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use engine_model::{Standing, State, Torrent, host_of};

use self::choices::Choices;
pub(crate) use self::choices::{minutes_text, ratio_text, word_of};
use crate::model;
use crate::standings::{Heard, MOST};
use crate::values::{Flag, Num, TextSeed};

/// Smallest ETA that means "never", in seconds (100 days, the client's own sentinel).
const ETA_NEVER: u64 = 8_640_000;
/// The client says -1 for a ratio above this.
const RATIO_MAX: f64 = 9999.0;
/// Distinct texts that are shared before the table starts anew.
const SHARED_MAX: usize = 4096;

/// An info-hash, or the first 20 bytes of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id([u8; 20]);

impl Id {
    /// 40 hex digits of either case.
    pub(crate) fn parse(text: &str) -> Option<Id> {
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return None;
        }
        let mut id = [0; 20];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = (high << 4 | low) as u8;
        }
        Some(Id(id))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Texts many torrents have in common: directories, categories and tags.
#[derive(Default)]
pub(crate) struct Shared(HashSet<Rc<str>>);

impl Shared {
    fn get(&mut self, text: &str) -> Rc<str> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        if self.0.len() >= SHARED_MAX {
            self.0.clear(); // what is still in use lives on with its users
        }
        let new: Rc<str> = text.into();
        self.0.insert(new.clone());
        new
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Hash by which the client names it: for a hybrid torrent the beginning of its v2 hash.
    pub(crate) id: Id,
    /// The v1 hash where there is one: everybody else names it by that.
    pub(crate) v1: Option<Id>,
    pub(crate) state: State,
    pub(crate) downloaded: u64,
    pub(crate) uploaded: u64,
    /// Number of the poll that last mentioned it.
    pub(crate) seen: u64,
    name: Box<str>,
    content_path: Box<str>,
    save_path: Rc<str>,
    label: Rc<str>,
    /// Tags with commas between them, as the client tells them.
    tags: Rc<str>,
    progress: f64,
    ratio: f64,
    size: u64,
    has_metadata: Option<bool>,
    download_rate: u64,
    upload_rate: u64,
    eta: Option<u64>,
    added_at: Option<u64>,
    completed_at: Option<u64>,
    seeds_connected: u32,
    seeds_total: Option<u32>,
    peers_connected: u32,
    peers_total: Option<u32>,
    /// None while the client does not tell: 4.x has no such field, and a magnet link no metadata.
    is_private: Option<bool>,
    /// URL of the tracker that works, or of the first.
    tracker: Rc<str>,
    /// The client names a tracker now.
    names_tracker: bool,
    /// The client is a later one, which names a tracker whether it works or not.
    is_late: bool,
    /// Host of the first tracker of its magnet link.
    first_host: Rc<str>,
    trackers_count: u64,
    /// Errors that a later client tells of trackers, one bit each.
    complaints: u8,
    heard: Option<Box<Heard>>,
    /// True when something happened to its trackers.
    is_stirred: bool,
    /// True when its trackers are queued to be asked about.
    is_due: bool,
    /// Moment at which its trackers are to be asked about again.
    pub(crate) again_ms: Option<u64>,
    /// Questions about its trackers in a row that were not answered, or of which no tracker had been heard.
    pub(crate) unanswered: u8,
    seconds_seeded: Option<u64>,
    last_activity: Option<u64>,
    availability: Option<f64>,
    choices: Choices,
}

impl Row {
    pub(crate) fn blank(id: Id) -> Row {
        Row {
            id,
            v1: None,
            state: State::Unknown,
            downloaded: 0,
            uploaded: 0,
            seen: 0,
            name: "".into(),
            content_path: "".into(),
            save_path: "".into(),
            label: "".into(),
            tags: "".into(),
            progress: 0.0,
            ratio: 0.0,
            size: 0,
            has_metadata: None,
            download_rate: 0,
            upload_rate: 0,
            eta: None,
            added_at: None,
            completed_at: None,
            seeds_connected: 0,
            seeds_total: None,
            peers_connected: 0,
            peers_total: None,
            is_private: None,
            tracker: "".into(),
            names_tracker: false,
            is_late: false,
            first_host: "".into(),
            trackers_count: 0,
            complaints: 0,
            heard: None,
            is_stirred: true,
            is_due: false,
            again_ms: None,
            unanswered: 0,
            seconds_seeded: None,
            last_activity: None,
            availability: None,
            choices: Choices::default(),
        }
    }

    /// The identity that the host knows it by.
    pub(crate) fn hash(&self) -> Id {
        self.v1.unwrap_or(self.id)
    }

    fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.split(',').map(str::trim).filter(|tag| !tag.is_empty())
    }

    /// Category of the torrent; empty for none.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn is_sequential(&self) -> bool {
        self.choices.is_sequential()
    }

    pub(crate) fn is_first_last_piece(&self) -> bool {
        self.choices.is_first_last_piece()
    }

    pub(crate) fn is_auto_managed(&self) -> bool {
        self.choices.is_auto_managed()
    }

    /// Download and upload.
    pub(crate) fn rates(&self) -> (u64, u64) {
        (self.download_rate, self.upload_rate)
    }

    pub(crate) fn torrent(&self) -> Torrent {
        let content = if self.content_path.is_empty() {
            &*self.save_path
        } else {
            &*self.content_path
        };
        let mut torrent = Torrent {
            hash: self.hash().to_string(),
            name: self.name.to_string(),
            state: self.shown_state(),
            progress: self.progress,
            size: (self.has_metadata != Some(false)).then_some(self.size),
            downloaded: self.downloaded,
            uploaded: self.uploaded,
            ratio: self.ratio,
            download_rate: self.download_rate,
            upload_rate: self.upload_rate,
            eta: self.eta,
            seeds_connected: self.seeds_connected,
            seeds_total: self.seeds_total,
            peers_connected: self.peers_connected,
            peers_total: self.peers_total,
            priority: 2, // its queue position is no priority, and it has nothing else
            label: (!self.label.is_empty()).then(|| self.label.to_string()),
            tags: self.tags().map(str::to_owned).collect(),
            save_path: self.save_path.to_string(),
            content_path: content.to_owned(),
            has_metadata: self.has_metadata,
            trackers_count: Some(u32::try_from(self.trackers_count).unwrap_or(u32::MAX)),
            is_private: self.is_private,
            message: None, // the client has none for a torrent
            added_at: self.added_at,
            completed_at: self.completed_at,
            tracker_host: host_of(&self.tracker)
                .or_else(|| Some(self.first_host.to_string()).filter(|host| !host.is_empty())),
            tracker_standing: self.standing(),
            tracker_message: self.tracker_message(),
            seconds_seeded: self.seconds_seeded,
            last_activity: self.last_activity,
            availability: self.availability,
            ..Torrent::default()
        };
        self.choices.put_into(&mut torrent);
        torrent
    }
}

impl Row {
    /// An old client names a tracker when it works.
    fn has_named(&self) -> bool {
        self.names_tracker && !self.is_late
    }

    /// The standing with its trackers.
    fn standing(&self) -> Option<Standing> {
        if self.trackers_count == 0 {
            return None;
        }
        if self.has_named() {
            return Some(Standing::Working);
        }
        let heard = self.heard.as_ref()?;
        heard.tracked.standing(self.runs(), [&*heard.text])
    }

    /// False for one that announces nothing.
    pub(crate) fn runs(&self) -> bool {
        !matches!(self.state, State::Paused | State::Stopped)
    }

    fn tracker_message(&self) -> Option<String> {
        self.standing().filter(|_| !self.has_named())?;
        let heard = self.heard.as_ref()?;
        (!heard.text.is_empty()).then(|| heard.text.to_string())
    }

    /// State as far as others are concerned: one that its trackers lost is in error.
    pub(crate) fn shown_state(&self) -> State {
        let is_checked = matches!(self.state, State::Checking | State::Allocating);
        if self.standing() == Some(Standing::Unregistered) && !is_checked {
            State::Error
        } else {
            self.state
        }
    }

    /// True when asking about its trackers would tell something new.
    pub(crate) fn is_asked_about(&self) -> bool {
        (1..=MOST).contains(&self.trackers_count) && !self.has_named()
    }

    /// True once after something happened to its trackers that was not asked about yet.
    pub(crate) fn is_news_of_trackers(&mut self) -> bool {
        if !std::mem::take(&mut self.is_stirred) {
            return false;
        }
        self.unanswered = 0;
        self.make_due()
    }

    /// True if it is to be asked about and did not wait for that before.
    pub(crate) fn make_due(&mut self) -> bool {
        let is_new = !self.is_due && self.is_asked_about();
        self.is_due |= is_new;
        is_new
    }

    /// Ends its wait; true if it is still worth a question.
    pub(crate) fn take_turn(&mut self) -> bool {
        self.is_due = false;
        self.is_asked_about()
    }

    /// Stores the answer about its trackers; true when the change is visible.
    pub(crate) fn hear(&mut self, heard: Heard) -> bool {
        let before = (self.standing(), self.tracker_message());
        self.heard = Some(Box::new(heard));
        before != (self.standing(), self.tracker_message())
    }
}

/// Host of the first tracker in a magnet link.
fn first_host_of(magnet: &str) -> Option<String> {
    let (_, rest) = magnet.split_once("&tr=")?;
    let url = rest.split('&').next()?;
    host_of(&percent_encoding::percent_decode_str(url).decode_utf8_lossy())
}

/// Merges a JSON object into a row; says whether anything visible changed.
pub(crate) struct Merge<'a> {
    pub(crate) row: &'a mut Row,
    pub(crate) shared: &'a mut Shared,
}

impl Merge<'_> {
    pub(crate) fn json(self, json: &[u8]) -> Result<bool, serde_json::Error> {
        let mut from = serde_json::Deserializer::from_slice(json);
        let changed = self.deserialize(&mut from)?;
        from.end()?;
        Ok(changed)
    }
}

impl<'de> DeserializeSeed<'de> for Merge<'_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Merge<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a torrent")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let Merge { row, shared } = self;
        let mut changed = false;
        while let Some(field) = map.next_key_seed(TextSeed(Field::from_name))? {
            let field = field.ok_or_else(|| A::Error::custom("a name is not a text"))?;
            changed |= row.take(field, shared, &mut map)?;
        }
        Ok(changed)
    }
}

#[derive(Clone, Copy)]
enum Field {
    AddedOn,
    AutoManaged,
    Availability,
    Category,
    CompletionOn,
    ContentPath,
    DownloadLimit,
    DownloadPath,
    DownloadRate,
    Downloaded,
    Eta,
    FirstLastPiece,
    ForceStart,
    HasMetadata,
    HasOtherError,
    HasTrackerError,
    HasTrackerWarning,
    Hash,
    InactiveTimeLimit,
    LastActivity,
    Magnet,
    Name,
    NumComplete,
    NumIncomplete,
    NumLeechs,
    NumSeeds,
    Private,
    Progress,
    Queue,
    Ratio,
    RatioLimit,
    SavePath,
    SecondsSeeded,
    SeedingTimeLimit,
    Sequential,
    ShareAction,
    Size,
    State,
    SuperSeeding,
    Tags,
    TotalSize,
    Tracker,
    TrackersCount,
    UploadLimit,
    UploadRate,
    Uploaded,
    V1,
    Other,
}

impl Field {
    fn from_name(name: &str) -> Field {
        match name {
            "added_on" => Field::AddedOn,
            "auto_tmm" => Field::AutoManaged,
            "availability" => Field::Availability,
            "category" => Field::Category,
            "completion_on" => Field::CompletionOn,
            "content_path" => Field::ContentPath,
            "dl_limit" => Field::DownloadLimit,
            "dlspeed" => Field::DownloadRate,
            "download_path" => Field::DownloadPath,
            "downloaded" => Field::Downloaded,
            "eta" => Field::Eta,
            "f_l_piece_prio" => Field::FirstLastPiece,
            "force_start" => Field::ForceStart,
            "has_metadata" => Field::HasMetadata,
            "has_other_announce_error" => Field::HasOtherError,
            "has_tracker_error" => Field::HasTrackerError,
            "has_tracker_warning" => Field::HasTrackerWarning,
            "hash" => Field::Hash,
            "inactive_seeding_time_limit" => Field::InactiveTimeLimit,
            "last_activity" => Field::LastActivity,
            "magnet_uri" => Field::Magnet,
            "name" => Field::Name,
            "num_complete" => Field::NumComplete,
            "num_incomplete" => Field::NumIncomplete,
            "num_leechs" => Field::NumLeechs,
            "num_seeds" => Field::NumSeeds,
            "priority" => Field::Queue,
            "private" => Field::Private,
            "progress" => Field::Progress,
            "ratio" => Field::Ratio,
            "ratio_limit" => Field::RatioLimit,
            "save_path" => Field::SavePath,
            "seeding_time" => Field::SecondsSeeded,
            "seeding_time_limit" => Field::SeedingTimeLimit,
            "seq_dl" => Field::Sequential,
            "share_limit_action" => Field::ShareAction,
            "size" => Field::Size,
            "state" => Field::State,
            "super_seeding" => Field::SuperSeeding,
            "tags" => Field::Tags,
            "total_size" => Field::TotalSize,
            "tracker" => Field::Tracker,
            "trackers_count" => Field::TrackersCount,
            "up_limit" => Field::UploadLimit,
            "upspeed" => Field::UploadRate,
            "uploaded" => Field::Uploaded,
            "infohash_v1" => Field::V1,
            _ => Field::Other,
        }
    }
}

/// Puts a value in its place and says whether that was news.
fn put<T: PartialEq>(place: &mut T, value: T) -> bool {
    let news = *place != value;
    *place = value;
    news
}

fn instant(n: Num) -> Option<u64> {
    n.non_negative().filter(|at| *at > 0)
}

impl Row {
    fn take<'de, A: MapAccess<'de>>(
        &mut self,
        field: Field,
        shared: &mut Shared,
        map: &mut A,
    ) -> Result<bool, A::Error> {
        match field {
            Field::Other => map.next_value::<IgnoredAny>().map(|_| false),
            Field::Name => own(&mut self.name, map),
            Field::ContentPath => own(&mut self.content_path, map),
            Field::SavePath => share(&mut self.save_path, shared, map),
            Field::Category => share(&mut self.label, shared, map),
            Field::Tags => share(&mut self.tags, shared, map),
            Field::Tracker => self.take_tracker(shared, map),
            Field::Magnet => {
                let host = map.next_value_seed(TextSeed(first_host_of))?;
                let host = host.flatten().unwrap_or_default();
                let news = *self.first_host != *host;
                if news {
                    self.first_host = shared.get(&host);
                }
                Ok(news && self.tracker.is_empty())
            }
            Field::State => {
                let state = map.next_value_seed(TextSeed(model::state))?;
                let news = state.is_some_and(|state| put(&mut self.state, state));
                self.is_stirred |= news;
                Ok(news)
            }
            Field::HasMetadata => {
                let flag = map.next_value::<Flag>()?.0;
                self.is_late |= flag.is_some();
                Ok(flag.is_some_and(|flag| put(&mut self.has_metadata, Some(flag))))
            }
            Field::DownloadPath => share(&mut self.choices.download_path, shared, map),
            Field::ShareAction => {
                let word = map.next_value_seed(TextSeed(choices::action_of))?;
                Ok(self.choices.take_action(word.flatten()))
            }
            Field::Sequential
            | Field::FirstLastPiece
            | Field::SuperSeeding
            | Field::ForceStart
            | Field::AutoManaged => {
                let flag = map.next_value::<Flag>()?;
                Ok(self.choices.take_flag(field, flag))
            }
            Field::HasOtherError => self.take_complaint(1, map),
            Field::HasTrackerError => self.take_complaint(2, map),
            Field::HasTrackerWarning => self.take_complaint(4, map),
            Field::Hash => {
                let id = map.next_value_seed(TextSeed(Id::parse))?;
                Ok(id.flatten().is_some_and(|id| put(&mut self.id, id)))
            }
            Field::V1 => {
                let v1 = map.next_value_seed(TextSeed(Id::parse))?;
                Ok(v1.is_some_and(|v1| put(&mut self.v1, v1)))
            }
            Field::Private => {
                // Null while a magnet link has no metadata. An old client has no such field.
                self.is_late = true;
                let flag = map.next_value::<Flag>()?.0;
                Ok(flag.is_some_and(|flag| put(&mut self.is_private, Some(flag))))
            }
            numeric => {
                let n = map.next_value::<Num>()?;
                Ok(!n.is_absent() && self.take_number(numeric, n))
            }
        }
    }

    /// Empty while no tracker works: it is still the one that was.
    fn take_tracker<'de, A: MapAccess<'de>>(
        &mut self,
        shared: &mut Shared,
        map: &mut A,
    ) -> Result<bool, A::Error> {
        let mut told = self.tracker.clone();
        let news = share(&mut told, shared, map)?;
        let before = self.standing();
        self.is_stirred |= news || self.names_tracker == told.is_empty();
        self.names_tracker = !told.is_empty();
        if news && !told.is_empty() {
            self.tracker = told;
            return Ok(true);
        }
        Ok(before != self.standing())
    }

    fn take_complaint<'de, A: MapAccess<'de>>(&mut self, bit: u8, map: &mut A) -> Result<bool, A::Error> {
        let Some(has) = map.next_value::<Flag>()?.0 else {
            return Ok(false);
        };
        let complaints = if has {
            self.complaints | bit
        } else {
            self.complaints & !bit
        };
        self.is_stirred |= put(&mut self.complaints, complaints);
        Ok(false)
    }

    fn take_number(&mut self, field: Field, n: Num) -> bool {
        match field {
            Field::Progress => put(&mut self.progress, n.fraction()),
            Field::Ratio => put(
                &mut self.ratio,
                if n.float() < 0.0 { RATIO_MAX } else { n.float() },
            ),
            Field::Size => put(&mut self.size, n.unsigned()),
            Field::Downloaded => put(&mut self.downloaded, n.unsigned()),
            Field::Uploaded => put(&mut self.uploaded, n.unsigned()),
            Field::DownloadRate => put(&mut self.download_rate, n.unsigned()),
            Field::UploadRate => put(&mut self.upload_rate, n.unsigned()),
            Field::Eta => put(&mut self.eta, n.non_negative().filter(|eta| *eta < ETA_NEVER)),
            Field::NumSeeds => put(&mut self.seeds_connected, n.small()),
            // Moved by what a tracker answered.
            Field::NumComplete => {
                let news = put(&mut self.seeds_total, n.non_negative().map(|_| n.small()));
                self.is_stirred |= news;
                news
            }
            Field::TrackersCount => {
                let before = self.standing();
                self.is_stirred |= put(&mut self.trackers_count, n.unsigned());
                before != self.standing()
            }
            Field::NumLeechs => put(&mut self.peers_connected, n.small()),
            Field::NumIncomplete => put(&mut self.peers_total, n.non_negative().map(|_| n.small())),
            // An old client does not tell whether it has metadata; without, it has no size.
            Field::TotalSize => {
                !self.is_late
                    && put(
                        &mut self.has_metadata,
                        Some(n.non_negative().is_some_and(|size| size > 0)),
                    )
            }
            Field::AddedOn => put(&mut self.added_at, instant(n)),
            Field::CompletionOn => put(&mut self.completed_at, instant(n)),
            // These two move with the clock while a torrent is at work, which alone is no news.
            Field::SecondsSeeded => {
                self.seconds_seeded = n.non_negative();
                false
            }
            Field::LastActivity => {
                self.last_activity = instant(n);
                false
            }
            // -1 where nothing is connected.
            Field::Availability => self.take_availability(Some(n.float()).filter(|copies| *copies >= 0.0)),
            // `take` reads the values of the others itself.
            choice => self.choices.take_number(choice, n),
        }
    }
}

/// The least change of an availability that is news.
const AVAILABILITY_STEP: f64 = 0.01;

impl Row {
    fn take_availability(&mut self, copies: Option<f64>) -> bool {
        let news = match (self.availability, copies) {
            (Some(before), Some(now)) => (before - now).abs() >= AVAILABILITY_STEP,
            (before, now) => before.is_some() != now.is_some(),
        };
        if news {
            self.availability = copies;
        }
        news
    }
}

fn own<'de, A: MapAccess<'de>>(place: &mut Box<str>, map: &mut A) -> Result<bool, A::Error> {
    let news = map.next_value_seed(TextSeed(|text: &str| {
        let news = **place != *text;
        if news {
            *place = text.into();
        }
        news
    }))?;
    Ok(news.unwrap_or(false))
}

fn share<'de, A: MapAccess<'de>>(
    place: &mut Rc<str>,
    shared: &mut Shared,
    map: &mut A,
) -> Result<bool, A::Error> {
    let news = map.next_value_seed(TextSeed(|text: &str| {
        let news = **place != *text;
        if news {
            *place = shared.get(text);
        }
        news
    }))?;
    Ok(news.unwrap_or(false))
}

#[cfg(test)]
mod tests;
