//! Tokens of templates.

/// Value that a template asks for between braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Token {
    SeriesTitle,
    MovieTitle,
    /// Title of content that is neither episode nor film.
    General,
    EpisodeTitle,
    Season,
    Episode,
    /// Last of several episodes in one file.
    EpisodeEnd,
    Year,
    /// Day of an episode that has no number: `2024-05-17`.
    AirDate,
    Resolution,
    Source,
    Codec,
    ReleaseGroup,
    /// Edition of a film: `Director's Cut`.
    Edition,
    /// Number of a part of a film in several files.
    Part,
    /// Ending of the file.
    Ext,
    Artist,
    Album,
    Track,
    /// Title of a piece of music.
    Title,
}

impl Token {
    /// Every token, in the order in which errors list them.
    pub const ALL: [Token; 20] = [
        Token::SeriesTitle,
        Token::MovieTitle,
        Token::General,
        Token::EpisodeTitle,
        Token::Season,
        Token::Episode,
        Token::EpisodeEnd,
        Token::Year,
        Token::AirDate,
        Token::Resolution,
        Token::Source,
        Token::Codec,
        Token::ReleaseGroup,
        Token::Edition,
        Token::Part,
        Token::Ext,
        Token::Artist,
        Token::Album,
        Token::Track,
        Token::Title,
    ];

    /// Name between the braces.
    pub const fn name(self) -> &'static str {
        match self {
            Token::SeriesTitle => "Series Title",
            Token::MovieTitle => "Movie Title",
            Token::General => "General",
            Token::EpisodeTitle => "Episode Title",
            Token::Season => "season",
            Token::Episode => "episode",
            Token::EpisodeEnd => "episodeEnd",
            Token::Year => "year",
            Token::AirDate => "airDate",
            Token::Resolution => "Resolution",
            Token::Source => "Source",
            Token::Codec => "Codec",
            Token::ReleaseGroup => "Release Group",
            Token::Edition => "Edition",
            Token::Part => "part",
            Token::Ext => "ext",
            Token::Artist => "Artist",
            Token::Album => "Album",
            Token::Track => "Track",
            Token::Title => "Title",
        }
    }

    /// Token of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|token| token.name().eq_ignore_ascii_case(name))
    }

    /// All names with their braces, as errors list them.
    pub fn list() -> String {
        let names: Vec<String> = Self::ALL
            .iter()
            .map(|token| format!("{{{}}}", token.name()))
            .collect();
        names.join(", ")
    }
}
