//! A data set of titles that a test makes up.

use std::sync::Mutex;

use async_trait::async_trait;
use qm_ports::titledb::{
    CreditRecord, EpisodeRecord, SeriesAnswer, SeriesQuestion, TitleData, TitleDataError, TitleMatch,
    TitleQuestion, TitleRecord,
};
use qm_titles::{Candidate, Picked, Qualified, Wanted, normalise, score, show, similarity};

/// Contents and behaviour of the data set.
#[derive(Default)]
pub struct Set {
    pub edition: Option<String>,
    pub titles: Vec<TitleRecord>,
    /// Series, season, number, id of the episode.
    pub episodes: Vec<(&'static str, i64, i64, &'static str)>,
    /// It cannot be read.
    pub is_broken: bool,
    /// Becomes the edition when the next question has been answered; empty: there is none then.
    pub next: Option<&'static str>,
    /// Questions for titles, series and episodes.
    pub asked: usize,
    /// Other names of titles, by their ids.
    pub akas: Vec<(&'static str, &'static str)>,
}

impl Set {
    /// A title that is called so, or nearly so.
    fn found(&self, title: &TitleRecord, wanted: &str, year: Option<i64>) -> Option<TitleMatch> {
        let akas = self.akas.iter().filter(|(id, _)| *id == title.id);
        let mut names: Vec<String> = akas.map(|(_, name)| normalise(name)).collect();
        names.push(normalise(&title.title));
        let is_like = names
            .iter()
            .any(|name| similarity(wanted, name) > 0.6 || name.contains(wanted));
        is_like.then(|| TitleMatch {
            title: title.clone(),
            confidence: score(wanted, names.iter().map(String::as_str), (year, title.year), true),
            names,
        })
    }
}

#[derive(Default)]
pub struct Titles(pub Mutex<Set>);

impl Titles {
    /// Fills it: id, kind, title, year.
    ///
    /// # Panics
    /// When another test has.
    pub fn has(
        &self,
        edition: &str,
        titles: &[(&str, &str, &str, i64)],
        episodes: &[(&'static str, i64, i64, &'static str)],
    ) {
        let mut set = self.0.lock().expect("whole");
        set.edition = Some(edition.to_owned());
        set.episodes = episodes.to_vec();
        let record = |(id, kind, title, year): &(&str, &str, &str, i64)| TitleRecord {
            id: (*id).to_owned(),
            kind: (*kind).to_owned(),
            title: (*title).to_owned(),
            original_title: None,
            year: Some(*year),
            end_year: None,
            runtime: Some(90),
            is_adult: false,
            genres: vec!["Drama".to_owned()],
            directors: vec!["Somebody".to_owned()],
            writers: Vec::new(),
            rating: Some(7.5),
            votes: Some(100),
        };
        set.titles = titles.iter().map(record).collect();
    }

    /// # Panics
    /// When a test has failed that holds it.
    pub fn change(&self, change: impl FnOnce(&mut Set)) {
        change(&mut self.0.lock().expect("whole"));
    }

    /// Questions so far.
    ///
    /// # Panics
    /// When a test has failed that holds it.
    pub fn asked(&self) -> usize {
        self.0.lock().expect("whole").asked
    }

    fn ask<T>(&self, answer: impl FnOnce(&Set) -> T) -> Result<T, TitleDataError> {
        let mut set = self.0.lock().expect("whole");
        set.asked += 1;
        if set.is_broken {
            return Err(TitleDataError("it is being repaired".to_owned()));
        }
        let said = answer(&set);
        if let Some(next) = set.next.take() {
            set.edition = (!next.is_empty()).then(|| next.to_owned());
        }
        Ok(said)
    }
}

#[async_trait]
impl TitleData for Titles {
    async fn edition(&self) -> Result<Option<String>, TitleDataError> {
        Ok(self.0.lock().expect("whole").edition.clone())
    }

    async fn title(&self, id: &str) -> Result<Option<TitleRecord>, TitleDataError> {
        self.ask(|set| set.titles.iter().find(|title| title.id == id).cloned())
    }

    async fn search(&self, asked: &TitleQuestion) -> Result<Vec<TitleMatch>, TitleDataError> {
        self.ask(|set| {
            let wanted = normalise(&asked.title);
            let of_kind = set.titles.iter().filter(|title| title.kind == "movie");
            of_kind
                .filter_map(|title| set.found(title, &wanted, asked.year))
                .collect()
        })
    }

    async fn best(&self, asked: &TitleQuestion) -> Result<Option<TitleMatch>, TitleDataError> {
        Ok(self.search(asked).await?.into_iter().next())
    }

    async fn series(&self, asked: &SeriesQuestion) -> Result<SeriesAnswer, TitleDataError> {
        self.ask(|set| {
            let wanted = normalise(&Qualified::split(&asked.title).title);
            let of_kind = set.titles.iter().filter(|title| title.kind == "tvSeries");
            let found: Vec<TitleMatch> = of_kind
                .filter_map(|title| set.found(title, &wanted, asked.year))
                .collect();
            let candidates: Vec<Candidate<'_>> = found
                .iter()
                .map(|one| Candidate {
                    id: &one.title.id,
                    title: &one.title.title,
                    others: &one.names,
                    year: one.title.year,
                    votes: one.title.votes.unwrap_or(0),
                    ..Candidate::default()
                })
                .collect();
            let wanted = Wanted {
                title: &asked.title,
                year: asked.year,
                season: asked.seasons.iter().copied().min(),
            };
            let id = match show(&wanted, &candidates) {
                Picked::One(at) => Some(found[at].title.id.clone()),
                Picked::None | Picked::Ambiguous(_) => None,
            };
            SeriesAnswer { id, found }
        })
    }

    async fn episodes(&self, id: &str) -> Result<Vec<EpisodeRecord>, TitleDataError> {
        self.ask(|set| {
            let of = set.episodes.iter().filter(|(series, ..)| *series == id);
            let record = |(_, season, episode, id): &(&str, i64, i64, &str)| EpisodeRecord {
                id: (*id).to_owned(),
                season: Some(*season),
                episode: Some(*episode),
                title: None,
                year: None,
            };
            of.map(record).collect()
        })
    }

    async fn parent(&self, id: &str) -> Result<Option<String>, TitleDataError> {
        self.ask(|set| {
            let found = set.episodes.iter().find(|(.., episode)| *episode == id);
            found.map(|(series, ..)| (*series).to_owned())
        })
    }

    async fn credits(&self, _: &str) -> Result<Vec<CreditRecord>, TitleDataError> {
        self.ask(|_| Vec::new())
    }
}
