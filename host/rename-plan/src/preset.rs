//! Presets: how the usual media servers like their files to be named.

/// Media server whose naming is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    #[default]
    Plex,
    Jellyfin,
    Emby,
    Kodi,
    /// Template of one's own; where there is none, that of Plex.
    Custom,
}

impl Preset {
    pub const WORDS: [&str; 5] = ["plex", "jellyfin", "emby", "kodi", "custom"];

    pub const fn as_str(self) -> &'static str {
        match self {
            Preset::Plex => "plex",
            Preset::Jellyfin => "jellyfin",
            Preset::Emby => "emby",
            Preset::Kodi => "kodi",
            Preset::Custom => "custom",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        let words = Self::WORDS.iter().position(|known| *known == word)?;
        [
            Preset::Plex,
            Preset::Jellyfin,
            Preset::Emby,
            Preset::Kodi,
            Preset::Custom,
        ]
        .get(words)
        .copied()
    }

    /// Templates of the preset.
    pub fn templates(self) -> Templates {
        let [tv, anime, movie, music] = match self {
            Preset::Plex | Preset::Custom => [
                concat!(
                    "{Series Title}{year? ({year})}/Season {season}/",
                    "{Series Title} - S{season:00}E{episode:00}{episodeEnd? - E{episodeEnd:00}} - {Episode Title}.{ext}"
                ),
                "{Series Title}{year? ({year})}/Season {season}/{Series Title} - S{season:00}E{episode:00} - {Episode Title}.{ext}",
                "{Movie Title} ({year})/{Movie Title} ({year}) - {Resolution}.{ext}",
                "{Artist}/{Album}/{Track:00} {Title}.{ext}",
            ],
            Preset::Jellyfin => {
                let tv = "{Series Title}{year? ({year})}/Season {season}/{Series Title} S{season:00}E{episode:00} {Episode Title}.{ext}";
                [
                    tv,
                    tv,
                    "{Movie Title} ({year})/{Movie Title} ({year}) [{Resolution}].{ext}",
                    "{Artist}/{Album}/{Track:00} - {Title}.{ext}",
                ]
            }
            Preset::Emby => {
                let tv = "{Series Title}{year? ({year})}/Season {season}/{Series Title} - S{season:00}E{episode:00} - {Episode Title}.{ext}";
                [
                    tv,
                    tv,
                    "{Movie Title} ({year})/{Movie Title} ({year}).{ext}",
                    "{Artist}/{Album}/{Track:00} {Title}.{ext}",
                ]
            }
            Preset::Kodi => {
                let tv = "{Series Title}{year? ({year})}/Season {season}/{Series Title} S{season:00}E{episode:00}.{ext}";
                [
                    tv,
                    tv,
                    "{Movie Title} ({year})/{Movie Title} ({year}) {Resolution}.{ext}",
                    "{Artist}/{Album}/{Track:00} - {Title}.{ext}",
                ]
            }
        };
        Templates {
            tv: tv.to_owned(),
            anime: anime.to_owned(),
            movie: movie.to_owned(),
            music: music.to_owned(),
            audiobook: "{Artist}/{Album}/{Album}.{ext}".to_owned(),
            general: "{General}.{ext}".to_owned(),
        }
    }
}

/// Texts of the templates of a preset, one a kind of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates {
    pub tv: String,
    pub anime: String,
    pub movie: String,
    pub music: String,
    pub audiobook: String,
    /// Template of content that no kind is known of.
    pub general: String,
}

impl Templates {
    /// The same template for every kind.
    pub fn of_all(template: &str) -> Self {
        Self {
            tv: template.to_owned(),
            anime: template.to_owned(),
            movie: template.to_owned(),
            music: template.to_owned(),
            audiobook: template.to_owned(),
            general: template.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Template;

    #[test]
    fn every_preset_is_made_of_templates_that_are_read() {
        for word in Preset::WORDS {
            let preset = Preset::from_word(word).unwrap();
            assert_eq!(preset.as_str(), word);
            let Templates {
                tv,
                anime,
                movie,
                music,
                audiobook,
                general,
            } = preset.templates();
            for text in [tv, anime, movie, music, audiobook, general] {
                assert_eq!(
                    Template::parse(&text).map(|read| read.text().to_owned()),
                    Ok(text)
                );
            }
        }
        assert_eq!(Preset::from_word("other"), None);
    }
}
