//! Grammar of release names: generates names in public conventions together with the intended fields.

mod fans;
mod series;
pub mod words;

use words::*;

/// Intended fields of a generated name. Fields without a value must not be parsed.
#[derive(Clone, Debug, Default)]
pub struct Meant {
    pub family: &'static str,
    pub title: String,
    pub season: Option<u32>,
    pub seasons: Vec<u32>,
    pub episodes: Vec<u32>,
    pub absolutes: Vec<u32>,
    pub date: Option<String>,
    /// Optional beside a date.
    pub year: Option<u32>,
    pub resolution: Option<&'static str>,
    pub source: Option<&'static str>,
    pub codec: Option<&'static str>,
    pub audio: Vec<&'static str>,
    pub hdr: Vec<&'static str>,
    pub languages: Vec<&'static str>,
    pub service: Option<&'static str>,
    pub group: Option<String>,
    pub edition: Option<&'static str>,
    pub version: Option<u32>,
    pub proper: bool,
    pub repack: bool,
}

/// Reproducible random numbers.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }

    fn number(&mut self, from: u32, to: u32) -> u32 {
        from + self.roll((to - from + 1) as usize) as u32
    }

    /// True with this probability in percent.
    fn comes(&mut self, percent: usize) -> bool {
        self.roll(100) < percent
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())]
    }
}

/// A name being generated.
struct Writer<'d> {
    dice: &'d mut Dice,
    /// Separator between words.
    gap: char,
    words: Vec<String>,
    meant: Meant,
}

type Family = (&'static str, fn(&mut Writer<'_>));

const FAMILIES: &[Family] = &[
    ("episode", series::episode),
    ("span of episodes", series::span),
    ("number behind a season", series::loose_episode),
    ("one of several", series::one_of),
    ("compact numbers", series::compact),
    ("pack", series::pack),
    ("day", series::day),
    ("movie", series::movie),
    ("movie in brackets", series::bracketed_movie),
    ("fans", fans::fans),
    ("fans, a season", fans::fan_season),
    ("fans, a batch", fans::batch),
    ("fans, a special", fans::special),
    ("fans, all in brackets", fans::boxed),
    ("group behind the title", fans::signed),
    ("Chinese", fans::han),
];

/// One name with its intended fields.
pub fn name(dice: &mut Dice) -> (String, Meant) {
    let (family, write) = dice.pick(FAMILIES);
    let gap = dice.pick(&['.', '.', ' ', ' ', '_']);
    let mut writer = Writer {
        dice,
        gap,
        words: Vec::new(),
        meant: Meant {
            family,
            ..Meant::default()
        },
    };
    write(&mut writer);
    let gap = writer.gap.to_string();
    let mut name = writer.words.join(&gap);
    if writer.dice.comes(20) {
        name.push_str(writer.dice.pick(&[".mkv", ".mp4"]));
    }
    (name, writer.meant)
}

impl Writer<'_> {
    fn say(&mut self, word: impl Into<String>) {
        self.words.push(word.into());
    }

    /// Adds a phrase; its dots become the name's own separator.
    fn phrase(&mut self, phrase: &str) {
        for word in phrase.split('.') {
            self.say(word);
        }
    }

    /// Adds text to the last word without a separator.
    fn glue(&mut self, text: &str) {
        match self.words.last_mut() {
            Some(last) => last.push_str(text),
            None => self.say(text),
        }
    }

    fn title(&mut self, plain: bool) {
        let all = if plain { &TITLES[..PLAIN_TITLES] } else { TITLES };
        let title = self.dice.pick(all);
        self.meant.title = title.to_owned();
        for word in title.split(' ') {
            self.say(word);
        }
    }

    fn year(&mut self) -> u32 {
        let year = self.dice.number(1951, 2026);
        self.meant.year = Some(year);
        year
    }

    fn season(&mut self) -> u32 {
        let season = self.dice.number(1, 24);
        self.meant.season = Some(season);
        self.meant.seasons = vec![season];
        season
    }

    fn own_title(&mut self) {
        if self.dice.comes(30) {
            let title = self.dice.pick(EPISODE_TITLES);
            for word in title.split(' ') {
                self.say(word);
            }
        }
    }

    /// Adds quality words behind the number or the year, in the scene's conventions.
    fn quality(&mut self) {
        if self.dice.comes(15) {
            let (word, language) = self.dice.pick(LANGUAGES);
            self.meant.languages.push(language);
            self.say(word);
        }
        match self.dice.roll(12) {
            0 => {
                self.meant.proper = true;
                self.say("PROPER");
            }
            1 => {
                self.meant.repack = true;
                self.say("REPACK");
            }
            _ => {}
        }
        let resolution = self.dice.pick(RESOLUTIONS);
        self.meant.resolution = Some(resolution);
        self.say(resolution);
        self.origin();
        if self.dice.comes(40) {
            let (words, sounds) = self.dice.pick(SOUNDS);
            self.meant.audio = sounds.to_vec();
            self.say(words);
        }
        if self.dice.comes(20) {
            let (words, pictures) = self.dice.pick(PICTURES);
            self.meant.hdr = pictures.to_vec();
            self.phrase(words);
        }
    }

    /// Adds service and source; some are left out, and a service alone implies the source.
    fn origin(&mut self) {
        let (written, source, streams) = self.dice.pick(SOURCES);
        let serves = streams && self.dice.comes(40);
        if serves {
            let (word, service) = self.dice.pick(SERVICES);
            self.meant.service = Some(service);
            self.say(word);
        }
        if serves && self.dice.comes(30) {
            self.meant.source = Some("WEB-DL");
            return;
        }
        self.meant.source = Some(source);
        self.say(written);
    }

    fn codec(&mut self, glued: bool) {
        let (written, codec) = self.dice.pick(CODECS);
        self.meant.codec = Some(codec);
        if glued && matches!(written, "x264" | "x265" | "H264" | "h265") {
            self.glue(written);
        } else {
            self.say(written);
        }
    }

    fn group(&mut self) {
        if self.dice.comes(12) {
            let status = self.dice.pick(STATUSES);
            self.say(status);
        }
        let group = self.dice.pick(GROUPS);
        self.meant.group = Some(group.to_owned());
        self.glue(&format!("-{group}"));
    }

    /// Adds quality, codec and group, the usual end of a name.
    fn tail(&mut self) {
        self.quality();
        let glued = self.meant.audio.is_empty() && self.meant.hdr.is_empty() && self.dice.comes(15);
        let glued = glued
            && self.meant.source.is_some()
            && self
                .words
                .last()
                .is_some_and(|word| SOURCES.iter().any(|source| source.0 == word));
        self.codec(glued);
        self.group();
    }

    /// With a group in brackets at the start, spaces or underscores separate the words.
    fn lead(&mut self) {
        if self.gap == '.' {
            self.gap = ' ';
        }
        let group = self.dice.pick(FAN_GROUPS);
        self.meant.group = Some(group.to_owned());
        let written = group.replace(' ', &self.gap.to_string());
        self.meant.group = Some(written.clone());
        self.say(format!("[{written}]"));
    }

    /// Adds quality in brackets, and a checksum.
    fn fan_tail(&mut self) {
        let resolution = self.dice.pick(&["1080p", "720p", "480p"]);
        self.meant.resolution = Some(resolution);
        match self.dice.roll(5) {
            0 => self.say(format!("({resolution})")),
            1 => self.say(format!("[{resolution}]")),
            2 => {
                self.meant.source = Some("BluRay");
                self.meant.codec = Some("x265");
                self.meant.audio = vec!["FLAC"];
                let gap = self.gap;
                self.say(format!("[BD{gap}{resolution}{gap}HEVC{gap}FLAC]"));
            }
            3 => {
                self.meant.source = Some("BluRay");
                self.say(format!("[BD{resolution}]"));
            }
            _ => {
                self.meant.source = Some("WEB-DL");
                self.meant.codec = Some("x264");
                self.say(format!("[WEB-DL][{resolution}][AVC]"));
            }
        }
        if self.dice.comes(40) {
            let sum = (self.dice.roll(1 << 28) as u32) | 0x1000_000A;
            self.glue(&format!("[{sum:08X}]"));
        }
    }

    fn versioned(&mut self) -> String {
        if self.dice.comes(20) {
            let version = self.dice.number(2, 3);
            self.meant.version = Some(version);
            format!("v{version}")
        } else {
            String::new()
        }
    }
}
