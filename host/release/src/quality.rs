//! Fields read from known words: resolution, source, codec, sound, picture, languages, edition.

use crate::marks::Word;
use crate::model::Assumed;
use crate::read::{CUTS, LEFT_OUT, Reader, TAKEN};
use crate::words::{Field, Trust, name};

/// Fields with a single value: the first row of the table wins.
const SINGLE: [Field; 6] = [
    Field::Resolution,
    Field::Source,
    Field::Codec,
    Field::Service,
    Field::Depth,
    Field::Channels,
];

impl Reader<'_> {
    /// True for a known word that counts: one behind the title, and a common word only beside others.
    fn counts(&self, index: usize) -> bool {
        let word = &self.marks.words[index];
        if word.end > self.end || (word.start >= self.title.0 && word.end <= self.title.1) {
            return false;
        }
        if (word.start..word.end).all(|at| self.has_flag(at, LEFT_OUT)) {
            return false;
        }
        match word.trust() {
            Trust::Always => true,
            Trust::Behind => self.title.1 > 0 || self.title.0 > 0,
            Trust::Beside => self.has_neighbour(index),
        }
    }

    /// True when another known word, the end of the title, or a closing bracket follows, a known word
    /// precedes, or the word introduces the title: `IMAX - Title`.
    fn has_neighbour(&self, index: usize) -> bool {
        let word = &self.marks.words[index];
        let text = &self.text;
        let next = text.skip(word.end, " ._-+,");
        let follows = self.marks.word_at(next).is_some()
            || self.has_flag(next, CUTS)
            || resolution(text.low(next)).is_some();
        let shelf = word.start >= self.lead
            && word.end <= self.title.0
            && matches!(word.field(), Field::Edition | Field::Language);
        let closes = text.mark(next).is_some_and(|mark| "])}[(".contains(mark));
        let before = text.skip_back(word.start, " ._-+,/|");
        let known = before
            .checked_sub(1)
            .is_some_and(|at| self.marks.word_at(at).is_some());
        let opens = before
            .checked_sub(1)
            .is_some_and(|at| text.mark(at).is_some_and(|mark| "[({".contains(mark)));
        // A common word alone at the end of a name probably belongs to the title.
        follows || shelf || known || (opens && closes) || (closes && self.marker.is_some())
    }

    pub(crate) fn quality(&mut self) {
        let counted: Vec<usize> = (0..self.marks.words.len())
            .filter(|index| self.counts(*index))
            .collect();
        let exact = self.exact(&counted);
        let kept = self.kept_lines(&counted);
        for field in SINGLE {
            let best = counted
                .iter()
                .map(|index| self.marks.words[*index])
                .filter(|word| word.field() == field)
                .min_by_key(|word| {
                    (
                        Self::precedence(word.field(), word.value(), &exact),
                        field == Field::Resolution && kept.is_some_and(|kept| kept != word.start),
                        word.order,
                        word.start,
                    )
                });
            if let Some(word) = best {
                self.note(name(field), word.value(), (word.start, word.end), "known word");
                self.set(field, word.value());
            }
        }
        if self.release.resolution.is_none() {
            self.bare_resolution();
        }
        self.of_service(&counted);
        for field in [Field::Audio, Field::Hdr, Field::Language, Field::Edition] {
            self.several(field, &counted);
        }
        self.edition_before_year();
        for field in [Field::Proper, Field::Repack, Field::Version] {
            let word = counted
                .iter()
                .map(|index| self.marks.words[*index])
                .find(|word| word.field() == field);
            if let Some(word) = word {
                let value = if field == Field::Version {
                    word.value()
                } else {
                    "true"
                };
                self.note(name(field), value, (word.start, word.end), "known word");
                self.set(field, value);
            }
        }
        for index in counted {
            let word = self.marks.words[index];
            if word.trust() != Trust::Always {
                self.take((word.start, word.end), name(word.field()), "known word", false);
            }
        }
    }

    /// `1080p.NF.H264`: a streaming service implies a download, where no source is named. Only beside a
    /// resolution, because names of services are common words too.
    fn of_service(&mut self, counted: &[usize]) {
        let numbered =
            self.marker.is_some() || self.release.year.is_some() || self.release.air_date.is_some();
        if self.release.source.is_some() || !numbered {
            return;
        }
        let text = &self.text;
        let lines = |at: Option<usize>| {
            let word = at.and_then(|at| self.marks.word_at(at));
            word.is_some_and(|word| word.field() == Field::Resolution)
        };
        let service = counted.iter().map(|index| self.marks.words[*index]).find(|word| {
            let before = text.skip_back(word.start, " ._-[](").checked_sub(1);
            word.field() == Field::Service && (lines(before) || lines(Some(text.skip(word.end, " ._-[]("))))
        });
        if let Some(word) = service {
            self.note(
                "source",
                "WEB-DL",
                (word.start, word.end),
                "a service and no source",
            );
            self.release.source = Some("WEB-DL");
        }
    }

    /// `Title.DC.2018`
    fn edition_before_year(&mut self) {
        let at = self.text.skip(self.title.1, " ._-");
        if self.release.edition.is_some() || self.title.1 == 0 {
            return;
        }
        if let Some(edition) = self.short_edition(at) {
            self.note(
                "edition",
                edition,
                (at, at + 1),
                "an edition right before the year",
            );
            self.take((at, at + 1), "edition", "an edition right before the year", false);
            self.release.edition = Some(edition.to_owned());
        }
    }

    /// `720.HDTV`: a resolution without its letter, beside a known word.
    fn bare_resolution(&mut self) {
        let text = &self.text;
        let known = |at: usize| self.marks.word_at(at).is_some();
        let place = (self.title.1..self.end).find(|at| {
            let free = !known(*at) && !self.has_flag(*at, TAKEN | LEFT_OUT);
            free && resolution(text.low(*at)).is_some()
                && !text.joined_before(*at)
                && !text.is_plain_word(at + 1)
                && (known(text.skip(at + 1, " ._-")) || at.checked_sub(2).is_some_and(known))
        });
        if let Some(at) = place {
            let value = resolution(text.low(at));
            self.note(
                "resolution",
                value.unwrap_or_default(),
                (at, at + 1),
                "number of lines",
            );
            self.take((at, at + 1), "resolution", "number of lines", false);
            self.release.resolution = value;
        }
    }

    /// Resolutions given in lines, and whether a DVD is named; these decide between words.
    fn exact(&self, counted: &[usize]) -> Vec<&'static str> {
        let mut exact = Vec::new();
        for index in counted {
            let word = &self.marks.words[*index];
            let lines = word.field() == Field::Resolution && word.trust() == Trust::Always;
            if (lines || word.value() == "DVD") && !exact.contains(&word.value()) {
                exact.push(word.value());
            }
        }
        exact
    }

    /// The resolution of the release where the name has several: `4K to 1080p` states the second, and
    /// elsewhere the larger belongs to the original. Of a list (`1080p, 720p`) in a pack the larger counts,
    /// as in the table.
    fn kept_lines(&self, counted: &[usize]) -> Option<usize> {
        let text = &self.text;
        let lines: Vec<Word> = counted
            .iter()
            .map(|index| self.marks.words[*index])
            .filter(|word| word.field() == Field::Resolution && word.trust() == Trust::Always)
            .collect();
        let between = |pair: &[Word]| (text.skip(pair[0].end, " ._-"), pair[1].start);
        for pair in lines.windows(2) {
            let (from, to) = between(pair);
            if from + 1 < to && text.low(from) == "to" && text.skip(from + 1, " ._-") == to {
                return Some(pair[1].start);
            }
            let listed = from < to && text.mark(from).is_some_and(|mark| ",/&+|".contains(mark));
            if listed && text.skip(from + 1, " ._-") == to {
                return None;
            }
        }
        let height = |word: &Word| word.value().trim_end_matches(['p', 'i']).parse::<u32>().ok();
        lines
            .iter()
            .min_by_key(|word| (height(word), word.order, word.start))
            .map(|word| word.start)
    }

    /// Rank of a value. A remux of a disc is a remux; `remux` of a stream or broadcast says nothing.
    fn precedence(field: Field, value: &str, exact: &[&str]) -> u8 {
        if field == Field::Resolution {
            // A number of lines is more exact than the name of a standard.
            return u8::from(!exact.contains(&value));
        }
        if field == Field::Source && value == "Remux" {
            return u8::from(exact.contains(&"DVD")) * 2;
        }
        u8::from(field == Field::Source && value != "WEB-DL" && value != "WEBRip")
    }

    fn set(&mut self, field: Field, value: &'static str) {
        let release = &mut self.release;
        match field {
            Field::Resolution => release.resolution = Some(value),
            Field::Source => release.source = Some(value),
            Field::Codec => release.codec = Some(value),
            Field::Service => release.streaming_service = Some(value),
            Field::Depth => release.bit_depth = value.parse().ok(),
            Field::Channels => release.channels = Some(value),
            Field::Audio => release.audio.push(value),
            Field::Hdr => release.hdr.push(value),
            Field::Language => release.languages.push(value),
            Field::Proper => release.proper = true,
            Field::Repack => release.repack = true,
            Field::Version => release.version = release.version.or_else(|| value.parse().ok()),
            _ => {}
        }
    }

    /// All values of a field, in the table's order.
    fn several(&mut self, field: Field, counted: &[usize]) {
        let mut words: Vec<_> = counted
            .iter()
            .map(|index| self.marks.words[*index])
            .filter(|word| word.field() == field)
            .collect();
        words.sort_by_key(|word| (word.order, word.start));
        words.dedup_by_key(|word| word.value());
        if field == Field::Edition && !words.is_empty() {
            let values: Vec<&str> = words.iter().map(Word::value).collect();
            self.release.edition = Some(values.join(", "));
        }
        for word in words {
            self.note(name(field), word.value(), (word.start, word.end), "known word");
            self.set(field, word.value());
            // The better format includes the plainer one.
            if word.value() == "DTS-HD" {
                self.set(field, "DTS");
            }
        }
        if field == Field::Audio {
            self.release.audio.dedup();
        }
    }

    /// Fills the usual resolution and source where the name leaves them out.
    pub(crate) fn assume(&mut self) {
        let release = &self.release;
        let known = (release.resolution, release.source);
        let counts = |values: &[&str]| {
            let words = self.marks.words.iter();
            words
                .filter(|word| {
                    matches!(
                        word.field(),
                        Field::Source | Field::Codec | Field::Noise | Field::Resolution | Field::Container
                    )
                })
                .any(|word| values.contains(&word.value()) || values.contains(&self.text.low(word.start)))
        };
        let numbered = release.season.is_some() || release.absolute_episode.is_some();
        let source = match known {
            (_, Some(_)) => None,
            (Some("480p" | "576p" | "540p" | "360p"), None) => {
                Some("DVD").filter(|_| counts(&["ntsc", "pal"]))
            }
            (Some(_), None) => Some("HDTV").filter(|_| numbered || release.air_date.is_some()),
            (None, None) if numbered && self.extension == Some("mkv") => Some("HDTV"),
            (None, None) => None,
        };
        let old = matches!(release.codec, Some("XviD" | "DivX"));
        let container = self.extension == Some("mkv") || counts(&["mkv"]);
        let resolution = match (known.0, known.1.or(source)) {
            (Some(_), _) => None,
            (None, Some("Remux")) => Some("1080p"),
            (None, Some("BluRay")) if counts(&["bd25", "bd50", "bd66"]) || self.is_disc() => Some("1080p"),
            (None, Some("BluRay")) if !old => Some("720p"),
            (None, Some("WEB-DL" | "WEB")) if container => Some("720p"),
            (None, Some("HDTV"))
                if counts(&["hd", "hr"]) || container && known.1.is_none() || self.is_high() =>
            {
                Some("720p")
            }
            (None, Some(_)) => Some("480p"),
            (None, None) if numbered && self.extension == Some("avi") => Some("480p"),
            (None, None) if old => Some("480p"),
            (None, None) => None,
        };
        let resolution = resolution.filter(|_| numbered || known.1.is_some() || source.is_some() || old);
        self.release.assumed = Assumed { resolution, source };
    }

    /// `BD25`, `BD 50`: true for an unchanged disc.
    fn is_disc(&self) -> bool {
        self.marks.words.iter().any(|word| {
            word.value() == "BluRay" && self.text.low(word.start) == "bd" && {
                matches!(self.text.low(word.end - 1), "25" | "50" | "66" | "100")
            } || self.text.low(word.start) == "bdiso"
        })
    }

    /// True for `HD TV` in two words, or the scene's "high resolution".
    fn is_high(&self) -> bool {
        let mut words = self.marks.words.iter();
        words.any(|word| {
            let first = self.text.low(word.start);
            (word.value() == "HDTV" && first == "hd") || (word.field() == Field::Noise && first == "hr")
        })
    }
}

fn resolution(lines: &str) -> Option<&'static str> {
    Some(match lines {
        "2160" => "2160p",
        "1080" => "1080p",
        "720" => "720p",
        "480" => "480p",
        _ => return None,
    })
}
