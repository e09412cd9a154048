//! Names by their kinds: each line is one way in which people, and media servers, name things.

use proptest::prelude::*;

use super::*;

/// Title, season, episode, last episode.
type Told = (String, Option<i64>, Option<i64>, Option<i64>);

fn episode(path: &str) -> Told {
    let found = identify(path, Kind::Tv, false);
    (
        found.title.unwrap_or_default(),
        found.season,
        found.episode,
        found.episode_end,
    )
}

fn film(path: &str, is_alone: bool) -> (String, Option<i64>) {
    let found = identify(path, Kind::Movie, is_alone);
    assert_eq!(
        (found.season, found.episode, found.episode_end),
        (None, None, None),
        "{path}"
    );
    (found.title.unwrap_or_default(), found.year)
}

#[test]
fn folders_of_seasons_are_known_in_many_languages() {
    for (folder, number) in [
        ("Season 2", 2),
        ("season02", 2),
        ("S2", 2),
        ("S2009", 2009),
        ("3.Staffel", 3),
        ("Staffel 3", 3),
        ("2nd Season", 2),
        ("1ª Temporada", 1),
        ("Temporada 1", 1),
        ("Stagione 4", 4),
        ("Saison 5", 5),
        ("Seizoen 2", 2),
        ("Säsong 2", 2),
        ("Sæson 2", 2),
        ("Sesong 2", 2),
        ("Kausi 2", 2),
        ("2. kausi", 2),
        ("Сезон 2", 2),
        ("2 сезон", 2),
        ("Sezon 2", 2),
        ("Sezonul 2", 2),
        ("Sezóna 2", 2),
        ("2. série", 2),
        ("2. évad", 2),
        ("Hooaeg 2", 2),
        ("Κύκλος 2", 2),
        ("Σεζόν 2", 2),
        ("עונה 2", 2),
        ("الموسم 2", 2),
        ("فصل 2", 2),
        ("सीज़न 2", 2),
        ("ซีซั่น 2", 2),
        ("Mùa 2", 2),
        ("Musim 2", 2),
        ("시즌 1", 1),
        ("시즌1", 1),
        ("1기", 1),
        ("シーズン 1", 1),
        ("シーズン1", 1),
        ("第2期", 2),
        ("第2季", 2),
        ("第二季", 2),
        ("第十二季", 12),
        ("Season Two", 2),
        ("Season IV", 4),
        ("Season 7 (2016)", 7),
        ("Season 7 - The Words", 7),
        ("7", 7),
        ("07", 7),
        ("Specials", 0),
        ("Extras", 0),
        ("Season 0", 0),
        ("Especiales", 0),
        ("Alder Season 3", 3),
        ("Alder - S03", 3),
        ("Alder Staffel 3", 3),
        ("Alder.S03.1080p.WEB-DL.x264-GRP", 3),
    ] {
        assert_eq!(
            season::season(folder).map(|found| found.number),
            Some(number),
            "{folder}"
        );
    }
    for folder in [
        "Alder",
        "Seasoned 2",
        "Warehouse 13",
        "Season",
        "Alder S01E02",
        "Apollo 18",
        "Alder (2012)",
        "",
    ] {
        assert_eq!(season::season(folder), None, "{folder}");
    }
}

#[test]
fn the_folder_of_a_season_gives_the_season() {
    for (name, first, last) in [
        ("01 - Pilot.mkv", 1, None),
        ("Episode 1.mkv", 1, None),
        ("E01 x.mkv", 1, None),
        ("02.avi", 2, None),
        ("2. Words.avi", 2, None),
        ("2 Words.avi", 2, None),
        ("[03] Words.avi", 3, None),
        ("02-04 - Words.avi", 2, Some(4)),
        ("201 - Words.avi", 1, None),
        ("Alder 05.mkv", 5, None),
        ("Alder - 05 - 12 Words.mkv", 5, None),
        ("Alder.E07.720p.mkv", 7, None),
        ("Ep. 12 - Words.mkv", 12, None),
        ("Episodes 3-4.mkv", 3, Some(4)),
        ("E03-E04.mkv", 3, Some(4)),
        ("Folge 4.mkv", 4, None),
        ("4. díl.mkv", 4, None),
        ("Серия 4.mkv", 4, None),
        ("第04話.mkv", 4, None),
        ("4화.mkv", 4, None),
        ("16 - 12 Words.avi", 16, None),
        ("Episode 21 - 94 Words.mp4", 21, None),
        ("02 - words 14 words.avi", 2, None),
        ("S02E03.mkv", 3, None),
        ("2x03-04-05 - Words.mkv", 3, Some(5)),
        ("2x03 - 2x04 - 2x05 - Words.mkv", 3, Some(5)),
        ("02x03x04x05.mkv", 3, Some(5)),
        ("S02E03-E04-E06 - Words.mkv", 3, Some(6)),
        ("S02xE03.mkv", 3, None),
        ("S02x03.mkv", 3, None),
        ("S002 E003.mkv", 3, None),
        ("Season 2 Episode 3.mkv", 3, None),
    ] {
        let path = format!("Alder/Season 2/{name}");
        assert_eq!(
            episode(&path),
            ("Alder".to_owned(), Some(2), Some(first), last),
            "{name}"
        );
    }
    for (path, season, number) in [
        ("Alder/Season 2009/S2009x02.mkv", 2009, 2),
        ("Alder/Season 2009/2009x02 Words.mkv", 2009, 2),
        ("Alder/Specials/01 - Words.mkv", 0, 1),
        ("Alder/Extras/S00E02.mkv", 0, 2),
        ("Alder/Season 12/1203 - Words.mkv", 12, 3),
        ("Alder/Season 3/101 - Words.mkv", 3, 101),
        ("Alder/Alder.S02.1080p.WEB-DL.x264-GRP/05.mkv", 2, 5),
        ("Alder/Season 2/Alder.S02.1080p.WEB-DL.x264-GRP/05.mkv", 2, 5),
        ("Alder/Season 2/Disc 1/05.mkv", 2, 5),
        ("Alder.S03.1080p.WEB-DL.x264-GRP/05.mkv", 3, 5),
        ("Alder Season 3/05.mkv", 3, 5),
        ("Alder/3/05.mkv", 3, 5),
        // What the file says itself is so.
        ("Alder/Season 2/Alder S01E04.mkv", 1, 4),
    ] {
        assert_eq!(
            episode(path),
            ("Alder".to_owned(), Some(season), Some(number), None),
            "{path}"
        );
    }
}

#[test]
fn the_folder_of_a_show_names_its_episodes() {
    for (path, title, season, number) in [
        ("Series 7/Season 1/01.mkv", "Series 7", 1, 1),
        ("Series 7/Series 7 - S01E02.mkv", "Series 7", 1, 2),
        ("Volume 2/Season 3/Episode 4.mkv", "Volume 2", 3, 4),
        (
            "Storehouse 13/Season 2/Storehouse 13 - 02x03.mkv",
            "Storehouse 13",
            2,
            3,
        ),
        ("Storehouse 13/Season 2/05 - Words.mkv", "Storehouse 13", 2, 5),
        ("Storehouse 13/Storehouse 13 - S02E03.mkv", "Storehouse 13", 2, 3),
        ("37/Season 1/37 - 1x03.mkv", "37", 1, 3),
        ("37/1/03.mkv", "37", 1, 3),
        ("1887/Season 1/1887 S01E02.mkv", "1887", 1, 2),
        ("Drama/37/Season 1/03.mkv", "37", 1, 3),
        ("Extras/Season 1/03.mkv", "Extras", 1, 3),
        ("Тайна 24/Сезон 2/Серия 3.mkv", "Тайна 24", 2, 3),
        ("Alder/Words, Pt. 1_s06e32.mp4", "Alder", 6, 32),
        ("Downloads/Birch.S01E02.mkv", "Birch", 1, 2),
        ("Season 1/Birch S01E02.mkv", "Birch", 1, 2),
        ("Alder {tvdb-12345}/Season 1/S01E02.mkv", "Alder", 1, 2),
        ("Dtt (2012)/Season 1/03.mkv", "Dtt", 1, 3),
        ("HDTV (2012)/Season 2/HDTV - S02E05.mkv", "HDTV", 2, 5),
    ] {
        assert_eq!(
            episode(path),
            (title.to_owned(), Some(season), Some(number), None),
            "{path}"
        );
    }
    let found = identify("Alder [tvdbid-12345] (2012)/Season 1/01.mkv", Kind::Tv, false);
    assert_eq!(
        (found.year, found.ids.provider_b.as_deref()),
        (Some(2012), Some("12345"))
    );
    assert!(found.is_matched());
}

#[test]
fn the_folder_of_a_release_names_an_obfuscated_episode() {
    for path in [
        "Alder.S01E02.1080p.WEB.x264-GRP/9a8b7c6d5e4f30219a8b7c6d.mkv",
        "Alder/Alder.S01E02.1080p.WEB.x264-GRP/grp-alder102.mkv",
        "Alder/Season 1/Alder.S01E02.1080p.WEB.x264-GRP/aB3dE7gH9jK2.mkv",
    ] {
        assert_eq!(
            episode(path),
            ("Alder".to_owned(), Some(1), Some(2), None),
            "{path}"
        );
    }
}

#[test]
fn the_folder_of_a_film_speaks_where_the_file_does_not() {
    for path in [
        "Salt River (2011)/movie.mkv",
        "Salt River (2011)/Salt River.mkv",
        "Salt River (2011)/Salt River - Director's Cut.mkv",
        "Salt River (2011)/Salt River-cd1.avi",
        "Salt River (2011)/CD1/x-cd1.avi",
        "Salt River (2011)/sr-grp.mkv",
        "Salt River (2011)/title_t00.mkv",
        "Salt River (2011)/BDMV/STREAM/00001.m2ts",
        "Salt River (2011)/VIDEO_TS/VTS_01_1.VOB",
        "Salt.River.2011.1080p.BluRay.x264-GRP/grp-saltriver.mkv",
        "Salt.River.2011.1080p.BluRay.x264-GRP/saltriver.1080p-grp.mkv",
        "Salt.River.2011.1080p.BluRay.x264-GRP/9a8b7c6d5e4f30219a8b7c6d.mkv",
        "Salt.River.2011.1080p.BluRay.x264-GRP/aB3dE7gH9jK2.mkv",
    ] {
        assert_eq!(film(path, false), ("Salt River".to_owned(), Some(2011)), "{path}");
    }
    let path = "Salt River (2011)/any words.mkv";
    assert_eq!(film(path, true), ("Salt River".to_owned(), Some(2011)));
    assert_eq!(
        film(path, false),
        ("any words".to_owned(), None),
        "it may hold several films"
    );
    assert_eq!(
        film("Salt River/Birch (1999).mkv", true),
        ("Birch".to_owned(), Some(1999))
    );
    assert_eq!(
        film("2001 Rivers (1968)/2001 Rivers.mkv", false),
        ("2001 Rivers".to_owned(), Some(1968))
    );
    assert!(
        is_one_film(["a/Film-cd1.avi", "a/Film-cd2.avi"]) && is_one_film(["Film 1080p.mkv", "Film 720p.mkv"])
    );
    assert!(is_one_film([]) && !is_one_film(["Birch.mkv", "Alder.mkv"]));
}

#[test]
fn a_library_of_films_holds_films() {
    for (name, title, year) in [
        ("Agent 007 (1962).mkv", "Agent 007", Some(1962)),
        ("Agent.007.1962.1080p.BluRay-GRP.mkv", "Agent 007", Some(1962)),
        ("Agent 007.mkv", "Agent 007", None),
        ("Amber Ox - 2 (2013).mkv", "Amber Ox - 2", Some(2013)),
        ("Episode 5 (1980).mkv", "Episode 5", Some(1980)),
        ("Amber Ox Part 2 (2013).mkv", "Amber Ox Part 2", Some(2013)),
        ("12 Amber Oxen (1957).mkv", "12 Amber Oxen", Some(1957)),
        ("2012 (2009).mkv", "2012", Some(2009)),
        ("10 (1979).mkv", "10", Some(1979)),
        ("Amber Ox IMAX (2013).mkv", "Amber Ox", Some(2013)),
        ("Amber Ox Recut (2013).mkv", "Amber Ox", Some(2013)),
        ("Amber.Ox.Hybrid.2013.1080p.mkv", "Amber Ox", Some(2013)),
        ("Amber Ox 3D (2013).mkv", "Amber Ox", Some(2013)),
        ("Amber Ox Director's Cut (2013).mkv", "Amber Ox", Some(2013)),
        (
            "Amber Ox 25th Anniversary Edition (2013).mkv",
            "Amber Ox",
            Some(2013),
        ),
        ("Amber Ox (2013) - 1080p.mkv", "Amber Ox", Some(2013)),
        ("Amber Ox (2013) - Director's Cut.mkv", "Amber Ox", Some(2013)),
        ("Amber Ox [2013].mkv", "Amber Ox", Some(2013)),
        (
            "Amber Ox (Rotes Rind) (2013).mp4",
            "Amber Ox (Rotes Rind)",
            Some(2013),
        ),
        ("Mr. Ox (2009).mkv", "Mr. Ox", Some(2009)),
        ("Тайна 24 (2013).mkv", "Тайна 24", Some(2013)),
        ("琥珀 (2013).mkv", "琥珀", Some(2013)),
        ("Amber 🦊 Ox (2013).mkv", "Amber 🦊 Ox", Some(2013)),
    ] {
        assert_eq!(film(name, false), (title.to_owned(), year), "{name}");
        if year.is_some() {
            assert_eq!(
                identify(name, Kind::General, false).title.as_deref(),
                Some(title),
                "{name}"
            );
        }
    }
}

#[test]
fn ids_are_told_and_never_stay_in_a_title() {
    for (name, titledb, provider_a, provider_b) in [
        (
            "Amber Ox (2013) {imdb-tt1234567}.mkv",
            Some("tt1234567"),
            None,
            None,
        ),
        (
            "Amber Ox (2013) [imdbid-tt1234567].mkv",
            Some("tt1234567"),
            None,
            None,
        ),
        (
            "Amber Ox (2013) [imdbid=tt1234567] - 1080p.mkv",
            Some("tt1234567"),
            None,
            None,
        ),
        ("Amber Ox {tmdb-603} (2013).mkv", None, Some("603"), None),
        ("Amber Ox (2013) [tmdbid-603].mkv", None, Some("603"), None),
        ("Amber Ox (2013) [tvdbid-12].mkv", None, None, Some("12")),
        (
            "Amber Ox (2013) (tmdb=603) {imdb-tt1234567}.mkv",
            Some("tt1234567"),
            Some("603"),
            None,
        ),
        ("Amber Ox (2013) [TT1234567].mkv", Some("tt1234567"), None, None),
        ("Amber.Ox.2013.tt1234567.1080p.mkv", Some("tt1234567"), None, None),
        ("Amber Ox (2013) {tmdb-none}.mkv", None, None, None),
    ] {
        let found = identify(name, Kind::Movie, false);
        let ids = (
            found.ids.titledb.as_deref(),
            found.ids.provider_a.as_deref(),
            found.ids.provider_b.as_deref(),
        );
        assert_eq!(ids, (titledb, provider_a, provider_b), "{name}");
        assert_eq!(
            (found.title.as_deref(), found.year),
            (Some("Amber Ox"), Some(2013)),
            "{name}"
        );
    }
    let found = identify("Amber Ox (2013) {tmdb-603}/Amber Ox.mkv", Kind::Movie, false);
    assert_eq!(found.ids.provider_a.as_deref(), Some("603"));
}

#[test]
fn letters_and_their_marks_are_one_text_however_they_are_written() {
    let apart = "Cafe\u{301} Ru\u{308}ben (2013)/Season 1/01.mkv";
    assert_eq!(episode(apart).0, "Café Rüben");
    assert_eq!(composed("e\u{301}"), "é");
}

#[test]
fn a_part_is_called_like_the_whole() {
    for (path, year) in [
        ("Amber Ox cd1.avi", None),
        ("Amber Ox (2013) - part2.mkv", Some(2013)),
        ("Amber Ox (2013).pt1.mkv", Some(2013)),
        ("Amber.Ox.2013.CD1.DVDRip.XviD-GRP.avi", Some(2013)),
        ("Amber Ox (2013)/CD2/any.avi", Some(2013)),
        ("Amber Ox (2013)/cd1.avi", Some(2013)),
        ("Amber Ox [Disc 1].iso", None),
    ] {
        assert_eq!(film(path, false), ("Amber Ox".to_owned(), year), "{path}");
    }
    assert_eq!(film("Amber Ox Part 2 (2013).mkv", false).0, "Amber Ox Part 2");
}

#[test]
fn what_belongs_to_a_film_or_a_show_is_neither() {
    for (path, kind) in [
        ("Amber Ox (2013)/Amber Ox (2013)-trailer.mkv", "trailer"),
        ("Amber Ox (2013)/Amber Ox.trailer.mkv", "trailer"),
        ("Amber Ox (2013)/Amber Ox-trailer2.mkv", "trailer"),
        ("Amber Ox (2013)/trailer.mkv", "trailer"),
        ("Amber Ox (2013)/Amber Ox-sample.mkv", "sample"),
        ("Amber Ox (2013)/Any-behindthescenes.mkv", "behind_the_scenes"),
        ("Amber Ox (2013)/Any-deleted.mkv", "deleted_scene"),
        ("Amber Ox (2013)/Any-featurette.mkv", "featurette"),
        ("Amber Ox (2013)/Any-interview.mkv", "interview"),
        ("Amber Ox (2013)/Any-scene.mkv", "scene"),
        ("Amber Ox (2013)/Any-short.mkv", "short"),
        ("Amber Ox (2013)/Any-clip.mkv", "clip"),
        ("Amber Ox (2013)/Any-extra.mkv", "extra"),
        ("Amber Ox (2013)/Any-other.mkv", "other"),
        ("Amber Ox (2013)/extras/any.mkv", "extra"),
        ("Amber Ox (2013)/Featurettes/any.mkv", "featurette"),
        ("Amber Ox (2013)/BEHIND THE SCENES/any.mkv", "behind_the_scenes"),
        ("Amber Ox (2013)/deleted scene/any.mkv", "deleted_scene"),
        ("Amber Ox (2013)/interviews/any.mkv", "interview"),
        ("Amber Ox (2013)/Scenes/any.mkv", "scene"),
        ("Amber Ox (2013)/shorts/any.mkv", "short"),
        ("Amber Ox (2013)/clips/any.mkv", "clip"),
        ("Amber Ox (2013)/Trailers/any.mkv", "trailer"),
        ("Amber Ox (2013)/samples/any.mkv", "sample"),
        ("Amber Ox (2013)/theme-music/any.mkv", "theme"),
        ("Amber Ox (2013)/backdrops/any.mkv", "theme"),
        ("Amber Ox (2013)/Other/any.mkv", "other"),
        ("Amber.Ox.2013.1080p.x264-GRP/Sample/grp-amberox.mkv", "sample"),
        ("Alder/Season 1/Extras/any.mkv", "extra"),
        ("Alder/Season 1/Alder S01E02-trailer.mkv", "trailer"),
    ] {
        for library in [Kind::Movie, Kind::Tv] {
            assert_eq!(extra(path, library), Some(kind), "{path}");
        }
    }
    for (path, library) in [
        ("The Trailer/The Trailer.mkv", Kind::Movie),
        ("Deleted Scenes (2010).mkv", Kind::Movie),
        ("Shorts/Amber Ox (2013).mkv", Kind::Movie),
        ("Kids/Shorts/Amber Ox (2013).mkv", Kind::Movie),
        (
            "Scenes from a Town (1974)/Scenes from a Town (1974).mkv",
            Kind::Movie,
        ),
        ("Extras/Season 1/01.mkv", Kind::Tv),
        ("Extras/Extras S01E02.mkv", Kind::Tv),
        ("Alder/Specials/Alder S00E01.mkv", Kind::Tv),
        ("Alder/Extras/Alder S00E01.mkv", Kind::Tv),
        ("Alder/Season 1/Alder S01E02 - The Interview.mkv", Kind::Tv),
        ("Clips/any.mkv", Kind::General),
        ("2019/clips/any.mkv", Kind::General),
    ] {
        assert_eq!(extra(path, library), None, "{path}");
    }
}

proptest! {
    #[test]
    fn no_path_is_too_odd(path in "[ -~\\PC/.]{0,80}", is_alone in any::<bool>()) {
        for kind in [Kind::Tv, Kind::Movie, Kind::General] {
            identify(&path, kind, is_alone);
            extra(&path, kind);
        }
        is_one_film([&*path, "b"]);
    }

    #[test]
    fn a_season_holds_what_is_counted_in_it(
        title in "[A-Z][a-z]{2,8}( [A-Z][a-z]{2,8})?",
        season in 1..40_i64,
        number in 1..90_i64,
        form in 0..5_usize,
    ) {
        let folder = [format!("Season {season}"), format!("S{season:02}"), format!("{season}. Staffel"), format!("{season}"), format!("シーズン{season}")];
        let name = [format!("{number:02}"), format!("Episode {number}"), format!("E{number:02}"), format!("{number:02} - Words"), format!("{title} - {number:02}")];
        for name in &name {
            let path = format!("{title} (2012)/{}/{name}.mkv", folder[form]);
            let found = identify(&path, Kind::Tv, false);
            prop_assert_eq!((found.season, found.episode, found.title.as_deref(), found.year), (Some(season), Some(number), Some(&*title), Some(2012)), "{}", path);
        }
    }
}
