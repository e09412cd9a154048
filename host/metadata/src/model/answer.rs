//! Conversion of a provider's data about a title into the library's form.

use qm_ports::metadata::{Credit, EpisodeDetails, ExternalId, Metadata, Person, TitleDetails, TitleKind};

/// Largest number of cast members, studios, and jobs counted as writers.
const CAST: usize = 20;
const STUDIOS: usize = 10;
const WRITERS: &[&str] = &["Writer", "Screenplay"];

/// Metadata of a title; texts of an episode replace those of its show where it has some.
pub fn to_metadata(provider: &str, title: TitleDetails, episode: Option<EpisodeDetails>) -> Metadata {
    let own = ExternalId {
        source: provider.to_owned(),
        id: title.id.clone(),
    };
    let mut ids = vec![own];
    for id in title.ids {
        if ids.iter().all(|other| other.source != id.source) {
            ids.push(id);
        }
    }
    let (first, second) = match title.kind {
        TitleKind::Movie => (title.studios, title.networks),
        TitleKind::Show => (title.networks, title.studios),
    };
    let mut studios = first;
    if studios.is_empty() {
        studios = second;
    }
    studios.truncate(STUDIOS);
    let plays = |credit: &&Credit| credit.role.is_some();
    let mut cast: Vec<Person> = title.cast.iter().filter(plays).take(CAST).map(person).collect();
    if cast.is_empty() {
        cast = title.cast.iter().take(CAST).map(person).collect();
    }
    let mut crew: Vec<Person> = title.crew.iter().filter(plays).map(person).collect();
    let mut told = Metadata {
        provider: provider.to_owned(),
        year: title.released.as_deref().and_then(year),
        original_title: title
            .original_title
            .or_else(|| episode.is_some().then(|| title.title.clone())),
        title: Some(title.title),
        overview: title.overview,
        release_date: title.released,
        runtime: title.runtime,
        genres: title.genres,
        studios,
        rating: title.rating.filter(|rating| *rating > 0.0),
        certification: title.certification,
        tags: title.tags,
        ids,
        ..Metadata::default()
    };
    if let Some(episode) = episode {
        told.title = episode.title.or(told.title);
        told.overview = episode.overview.or(told.overview);
        told.year = episode.aired.as_deref().and_then(year).or(told.year);
        told.release_date = episode.aired.or(told.release_date);
        told.runtime = episode.runtime.or(told.runtime);
        told.rating = episode.rating.filter(|rating| *rating > 0.0).or(told.rating);
        cast.extend(episode.guests.iter().map(person));
        crew.extend(episode.crew.iter().filter(plays).map(person));
    }
    let with = |jobs: &[&str]| {
        let mut names: Vec<String> = Vec::new();
        for one in &crew {
            let has = one.role.as_deref().is_some_and(|job| jobs.contains(&job));
            if has && !names.contains(&one.name) {
                names.push(one.name.clone());
            }
        }
        names
    };
    (told.directors, told.writers) = (with(&["Director"]), with(WRITERS));
    (told.cast, told.crew) = (cast, crew);
    told
}

fn person(credit: &Credit) -> Person {
    Person {
        name: credit.name.clone(),
        role: credit.role.clone(),
    }
}

fn year(day: &str) -> Option<u32> {
    day.get(..4)?.parse().ok()
}

#[cfg(test)]
pub mod tests {
    use qm_ports::metadata::Standing;

    use super::*;

    /// A title with only an id and a name.
    pub fn title(kind: TitleKind, id: &str, name: &str) -> TitleDetails {
        TitleDetails {
            id: id.to_owned(),
            kind,
            title: name.to_owned(),
            original_title: None,
            overview: None,
            tagline: None,
            released: None,
            last_aired: None,
            status: None,
            standing: Standing::Unknown,
            original_language: None,
            countries: Vec::new(),
            genres: Vec::new(),
            tags: Vec::new(),
            runtime: None,
            rating: None,
            votes: None,
            popularity: None,
            certification: None,
            studios: Vec::new(),
            networks: Vec::new(),
            cast: Vec::new(),
            crew: Vec::new(),
            creators: Vec::new(),
            seasons: Vec::new(),
            season_count: None,
            episode_count: None,
            last_episode: None,
            next_episode: None,
            poster: None,
            backdrop: None,
            page: None,
            ids: Vec::new(),
        }
    }

    fn credit(name: &str, role: Option<&str>) -> Credit {
        Credit {
            name: name.to_owned(),
            role: role.map(str::to_owned),
            ..Credit::default()
        }
    }

    fn show() -> TitleDetails {
        let id = |source: &str, id: &str| ExternalId {
            source: source.to_owned(),
            id: id.to_owned(),
        };
        TitleDetails {
            overview: Some("A port.".to_owned()),
            released: Some("2023-02-01".to_owned()),
            runtime: Some(50),
            rating: Some(7.5),
            networks: vec!["Channel Nine".to_owned()],
            studios: vec!["Quay".to_owned()],
            cast: (0..30)
                .map(|number| credit("Jo", Some(&format!("Mate {number}"))))
                .collect(),
            crew: vec![credit("Di", Some("Director")), credit("No job", None)],
            ids: vec![
                id("provider_a", "other"),
                id("titledb", "tt1"),
                id("titledb", "tt2"),
            ],
            ..title(TitleKind::Show, "81", "Harbor Nine")
        }
    }

    #[test]
    fn a_show_and_its_episode() {
        let whole = to_metadata("provider_a", show(), None);
        assert_eq!(
            (whole.title.as_deref(), whole.original_title.as_deref()),
            (Some("Harbor Nine"), None)
        );
        assert_eq!(
            (whole.year, whole.cast.len(), whole.crew.len()),
            (Some(2023), 20, 1)
        );
        assert_eq!(whole.studios, ["Channel Nine"]);
        let ids: Vec<_> = whole.ids.iter().map(|id| (&*id.source, &*id.id)).collect();
        assert_eq!(
            ids,
            [("provider_a", "81"), ("titledb", "tt1")],
            "its own is what it was asked by"
        );
        let episode = EpisodeDetails {
            title: Some("Tide".to_owned()),
            aired: Some("2024-03-01".to_owned()),
            rating: Some(0.0),
            guests: vec![credit("Gus", Some("Guest"))],
            crew: vec![credit("Wy", Some("Writer")), credit("Di", Some("Director"))],
            ..EpisodeDetails::default()
        };
        let told = to_metadata("provider_a", show(), Some(episode));
        assert_eq!(
            (told.title.as_deref(), told.original_title.as_deref()),
            (Some("Tide"), Some("Harbor Nine"))
        );
        assert_eq!(
            (told.overview.as_deref(), told.year, told.runtime),
            (Some("A port."), Some(2024), Some(50))
        );
        assert_eq!(told.rating, Some(7.5), "no rating is none");
        assert_eq!((told.cast.len(), &*told.cast[20].name), (21, "Gus"));
        assert_eq!(
            (told.directors, told.writers),
            (vec!["Di".to_owned()], vec!["Wy".to_owned()])
        );
    }

    #[test]
    fn a_film() {
        let film = TitleDetails {
            studios: (0..30).map(|number| format!("Studio {number}")).collect(),
            networks: vec!["Net".to_owned()],
            cast: vec![credit("Herself", None)],
            released: Some("odd".to_owned()),
            ..title(TitleKind::Movie, "603", "Orchard")
        };
        let told = to_metadata("zoo", film, None);
        assert_eq!((told.studios.len(), told.cast.len(), told.year), (10, 1, None));
    }
}
