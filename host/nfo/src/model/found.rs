//! Notes that may be about an item or a show, and what is taken of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use qm_media_names::note::{About, Note};
use qm_media_names::place;
use qm_ports::notes::NotedFacts;
use qm_ports::subjects::SubjectItem;

use super::NoteKind;

/// Name of the note about a show in its folder.
const OF_SHOW: &[u8] = b"tvshow.nfo";
/// Name of the note about a film that is alone in its folder.
const OF_FILM: &[u8] = b"movie.nfo";

/// True for an item of a show.
pub fn is_of_show(item: &SubjectItem) -> bool {
    matches!(item.media_type.as_str(), "tv" | "anime" | "episode")
}

/// Kind of the note about an item.
pub fn kind_of(item: &SubjectItem) -> NoteKind {
    if is_of_show(item) || item.episode.is_some() {
        NoteKind::Episode
    } else {
        NoteKind::Movie
    }
}

/// Places of notes that may be about an item, the likeliest first: one with the name of each of its files, then, of a film, that of
/// the folder. `alone_in`: directory in which there is no other item; elsewhere that of the folder may be about another one.
pub fn places_of(item: &SubjectItem, alone_in: Option<&str>) -> Vec<String> {
    let kind = kind_of(item);
    let mut places: Vec<String> = Vec::new();
    let mut add = |directory: &[u8], name: &[u8]| {
        let at = place::encode(&place::join(directory, OsStr::from_bytes(name)));
        if !places.contains(&at) {
            places.push(at);
        }
    };
    let files: Vec<Vec<u8>> = item.places.iter().map(|at| place::decode(at)).collect();
    for whole in &files {
        let (directory, name) = split(whole);
        add(directory, &kind.file_name(name));
    }
    let alone = alone_in.map(place::decode);
    for whole in &files {
        let (directory, _) = split(whole);
        // In the library's own directory it would be about all films that come there.
        if kind == NoteKind::Movie && !directory.is_empty() && alone.as_deref() == Some(directory) {
            add(directory, OF_FILM);
        }
    }
    places
}

/// Place of the note about the show in a folder.
pub fn place_of_show(folder: &str) -> String {
    place::encode(&place::join(&place::decode(folder), OsStr::from_bytes(OF_SHOW)))
}

fn split(whole: &[u8]) -> (&[u8], &[u8]) {
    match whole.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&whole[..at], &whole[at + 1..]),
        None => (&whole[..0], whole),
    }
}

/// Note of a file that is about an item: of an episode, the one with its numbers, or the only one if it has none.
pub fn note_about(item: &SubjectItem, notes: Vec<Note>) -> Option<Note> {
    if kind_of(item) == NoteKind::Movie {
        return notes.into_iter().find(|note| note.about == About::Film);
    }
    let mut own: Vec<Note> = notes
        .into_iter()
        .filter(|note| note.about == About::Episode)
        .collect();
    let is_it =
        |note: &Note| note.episode == item.episode && (note.season == item.season || note.season.is_none());
    if let Some(at) = own.iter().position(is_it) {
        return Some(own.swap_remove(at));
    }
    // One with other numbers is about another episode.
    let is_silent = own.len() == 1 && own[0].episode.is_none();
    own.pop().filter(|_| is_silent)
}

/// Facts of a note, for the library.
pub fn facts_of(note: Note) -> NotedFacts {
    NotedFacts {
        title: note.title,
        original_title: note.original_title,
        sort_title: note.sort_title,
        overview: note.plot,
        release_date: note.released,
        year: note.year,
        runtime: note.runtime,
        genres: note.genres,
        studios: note.studios,
        cast: note.cast,
        directors: note.directors,
        writers: note.writers,
        rating: note.rating,
        certification: note.certification,
        tags: note.tags,
    }
}

#[cfg(test)]
mod tests {
    use qm_media_names::note::read;

    use super::*;

    fn item(media_type: &str, numbers: (Option<i64>, Option<i64>), places: &[&str]) -> SubjectItem {
        SubjectItem {
            media_type: media_type.to_owned(),
            season: numbers.0,
            episode: numbers.1,
            places: places.iter().map(|&place| place.to_owned()).collect(),
            ..SubjectItem::default()
        }
    }

    #[test]
    fn notes_are_looked_for_beside_each_file_and_in_the_folder_of_a_film() {
        let film = item(
            "movie",
            (None, None),
            &["Tide/Tide - 1080p.mkv", "Tide/Tide - 4K.mkv"],
        );
        assert_eq!(
            places_of(&film, Some("Tide")),
            ["Tide/Tide - 1080p.nfo", "Tide/Tide - 4K.nfo", "Tide/movie.nfo"]
        );
        for alone_in in [None, Some("Ebb"), Some("")] {
            assert_eq!(
                places_of(&film, alone_in),
                ["Tide/Tide - 1080p.nfo", "Tide/Tide - 4K.nfo"],
                "that of the folder may be about another film"
            );
        }
        assert_eq!(
            places_of(&item("movie", (None, None), &["Tide.mkv"]), Some("")),
            ["Tide.nfo"]
        );
        let episode = item("tv", (Some(1), Some(2)), &["Show/S1/Show S01E02.mkv"]);
        assert_eq!(places_of(&episode, Some("Show/S1")), ["Show/S1/Show S01E02.nfo"]);
        assert_eq!(place_of_show("Show"), "Show/tvshow.nfo");
    }

    #[test]
    fn an_episode_takes_the_note_with_its_numbers() {
        let both = "<episodedetails><title>One</title><season>1</season><episode>1</episode></episodedetails>\
                    <episodedetails><title>Two</title><season>1</season><episode>2</episode></episodedetails>";
        let title = |item: &SubjectItem, text: &str| {
            note_about(item, read(text.as_bytes())).and_then(|note| note.title)
        };
        let second = item("tv", (Some(1), Some(2)), &["a"]);
        assert_eq!(title(&second, both).as_deref(), Some("Two"));
        assert_eq!(title(&item("tv", (Some(1), Some(3)), &["a"]), both), None);
        assert_eq!(
            title(&second, "<episodedetails><title>Any</title></episodedetails>").as_deref(),
            Some("Any")
        );
        assert_eq!(title(&second, "<movie><title>Film</title></movie>"), None);
        let film = item("movie", (None, None), &["a"]);
        assert_eq!(
            title(&film, "<movie><title>Film</title></movie>").as_deref(),
            Some("Film")
        );
        assert_eq!(title(&film, both), None);
    }
}
