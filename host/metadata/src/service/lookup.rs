//! One question of a library: the chain, or all at once.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use futures_util::future::join_all;
use qm_ports::metadata::{
    Ability, Alone, ExternalId, Lookup, Metadata, ProviderError, Silent, TitleDetails, TitleHit, TitleKind,
    TitleQuery, TitleSubject, TitleSuggestion, Told,
};
use qm_titles::{Qualified, turned};

use super::cache::{Answer, Question};
use super::{Arrangement, MetadataArea, Usable};
use crate::model::answer::told;
use crate::model::merge::merged;
use crate::model::pick::{self, Picked};

/// Equals of which all is asked, so that they are told apart.
const JUDGED: usize = 4;

/// What one provider comes to.
enum One {
    Told(Box<Metadata>),
    /// None; what may be meant, and of that the ids of those that are equally good.
    Unknown(Vec<TitleSuggestion>, Vec<ExternalId>),
    /// It has the name of what is looked for, and another id elsewhere.
    Another(Box<Metadata>),
    Silent(Silent),
}

/// Which title is meant.
enum Meant {
    /// Title of an id that somebody knew.
    Known(String),
    /// Title of the very name.
    Named(String),
    Unknown(Vec<TitleSuggestion>, Vec<ExternalId>),
}

impl MetadataArea {
    pub(super) async fn look_up(&self, all: &Arrangement, lookup: &Lookup) -> Told {
        let chain = all.chain(lookup.kind);
        let chain = chain
            .iter()
            .filter_map(|id| all.usable.iter().find(|usable| usable.kind.id == *id));
        let mut whole = Told::default();
        if all.is_merging() {
            let answers = join_all(chain.map(|usable| self.ask_one(usable, lookup))).await;
            let told: Vec<_> = answers.into_iter().filter_map(|one| whole.take(one)).collect();
            whole.metadata = merged(&told, &all.fields);
        } else {
            for usable in chain {
                let one = self.ask_one(usable, lookup).await;
                whole.metadata = whole.take(one);
                if whole.metadata.is_some() {
                    break;
                }
            }
        }
        if whole.metadata.is_some() {
            whole.ambiguous.clear();
        }
        whole
    }

    /// What one provider says, whatever the order.
    pub(super) async fn look_up_at(
        &self,
        all: &Arrangement,
        provider: &str,
        lookup: &Lookup,
    ) -> Alone<Box<Metadata>> {
        let Some(usable) = all.usable.iter().find(|usable| usable.kind.id == provider) else {
            return Alone::Nobody;
        };
        match self.ask_one(usable, lookup).await {
            // Whoever asks compares the ids, and says which other one it is.
            One::Told(metadata) | One::Another(metadata) => Alone::Told(metadata),
            One::Unknown(suggested, _) if !suggested.is_empty() => Alone::Unsure(suggested),
            One::Unknown(..) => Alone::Unknown,
            One::Silent(silent) => Alone::Silent(silent),
        }
    }

    /// With the provider's own id, where it finds one by those elsewhere.
    async fn with_own_id(&self, usable: &Usable, mut lookup: Lookup) -> Result<Lookup, String> {
        let provider = &usable.kind.id;
        if lookup.ids.iter().any(|id| id.source == *provider) {
            return Ok(lookup);
        }
        for id in lookup.ids.clone() {
            let found = self.found(usable, id, &[lookup.kind.title_kind()]).await?;
            if let Some((_, id)) = found {
                let source = provider.clone();
                lookup.ids.push(ExternalId { source, id });
                break;
            }
        }
        Ok(lookup)
    }

    /// A provider's own id of what has an id elsewhere.
    pub(super) async fn find_at(
        &self,
        all: &Arrangement,
        provider: &str,
        id: &ExternalId,
        kinds: &[TitleKind],
    ) -> Alone<(TitleKind, String)> {
        let Some(usable) = all.usable.iter().find(|usable| usable.kind.id == provider) else {
            return Alone::Nobody;
        };
        match self.found(usable, id.clone(), kinds).await {
            Ok(Some(found)) => Alone::Told(found),
            Ok(None) => Alone::Unknown,
            Err(reason) => silent(provider, reason),
        }
    }

    async fn found(
        &self,
        usable: &Usable,
        id: ExternalId,
        kinds: &[TitleKind],
    ) -> Result<Option<(TitleKind, String)>, String> {
        let finds = usable.kind.abilities.contains(&Ability::Find);
        if !finds || !usable.kind.find_sources.contains(&id.source) {
            return Ok(None);
        }
        let Answer::Hits(hits) = self.ask(usable, Question::Find(id)).await? else {
            return Ok(None);
        };
        let first = |kind: &TitleKind| hits.iter().find(|hit| hit.kind == *kind);
        let hit = kinds.iter().find_map(first);
        Ok(hit.map(|hit| (hit.kind, hit.id.clone())))
    }

    /// All that a provider says, or nothing: what failed in the middle is no answer.
    async fn ask_one(&self, usable: &Usable, lookup: &Lookup) -> One {
        match self.one(usable, lookup).await {
            Ok(one) => one,
            Err(reason) => One::Silent(unanswered(&usable.kind.id, reason)),
        }
    }

    async fn one(&self, usable: &Usable, lookup: &Lookup) -> Result<One, String> {
        let lookup = &self.with_own_id(usable, lookup.clone()).await?;
        let (id, is_known) = match self.meant(usable, lookup).await? {
            Meant::Known(id) => (id, true),
            Meant::Named(id) => (id, false),
            Meant::Unknown(suggested, equals) => return Ok(One::Unknown(suggested, equals)),
        };
        let Some(title) = self.title(usable, lookup, &id).await? else {
            return Ok(One::Unknown(Vec::new(), Vec::new()));
        };
        if !is_known && !pick::is_of_year(lookup, &title) {
            return Ok(One::Unknown(Vec::new(), Vec::new()));
        }
        let is_another = !is_known && pick::contradicts(&lookup.ids, &title.ids);
        let mut episode = None;
        if let (true, Some(season), Some(number)) = (lookup.kind.is_show(), lookup.season, lookup.episode) {
            let answer = self.ask(usable, Question::Episodes { show: id, season }).await?;
            // Of an episode that is not known there its show is told.
            if let Answer::Episodes(all) = answer {
                episode = all.iter().find(|episode| episode.number == number).cloned();
            }
        }
        let told = Box::new(told(&usable.kind.id, Arc::unwrap_or_clone(title), episode));
        Ok(if is_another {
            One::Another(told)
        } else {
            One::Told(told)
        })
    }

    async fn title(
        &self,
        usable: &Usable,
        lookup: &Lookup,
        id: &str,
    ) -> Result<Option<Arc<TitleDetails>>, String> {
        let subject = TitleSubject {
            kind: lookup.kind.title_kind(),
            id: id.to_owned(),
            language: None,
            country: None,
        };
        Ok(match self.ask(usable, Question::Details(subject)).await? {
            Answer::Title(title) => Some(title),
            _ => None,
        })
    }

    async fn meant(&self, usable: &Usable, lookup: &Lookup) -> Result<Meant, String> {
        let provider = &usable.kind.id;
        if let Some(own) = lookup.ids.iter().find(|id| id.source == *provider) {
            return Ok(Meant::Known(own.id.clone()));
        }
        // A country and a year are no part of the title that a provider has.
        let named = Some(Qualified::of(&lookup.title)).filter(|_| lookup.kind.is_show());
        let title = turned(named.as_ref().map_or(&*lookup.title, |named| &*named.title));
        let year = lookup
            .year
            .or(named.as_ref().and_then(|named| u32::try_from(named.year?).ok()));
        let query = TitleQuery {
            year,
            ..TitleQuery::of(lookup.kind.title_kind(), &title)
        };
        let mut hits = self.hits(usable, query.clone()).await?;
        if year.is_some() && pick::meant(lookup, &hits) == Picked::None {
            // It may be of the year before or after there.
            hits.extend(self.hits(usable, TitleQuery { year: None, ..query }).await?);
        }
        let equals = match pick::meant(lookup, &hits) {
            Picked::One(hit) => return Ok(Meant::Named(hit.id.clone())),
            Picked::None => Vec::new(),
            Picked::Ambiguous(equals) => equals,
        };
        if let Some(id) = self.judged(usable, lookup, &equals).await? {
            return Ok(Meant::Named(id));
        }
        let id = |hit: &&TitleHit| ExternalId {
            source: provider.clone(),
            id: hit.id.clone(),
        };
        let equals = equals.iter().map(id).collect();
        Ok(Meant::Unknown(pick::suggested(provider, lookup, &hits), equals))
    }

    /// The one of several equals that a season, a country or an id elsewhere speaks for. Without any of these nobody is asked.
    async fn judged(
        &self,
        usable: &Usable,
        lookup: &Lookup,
        equals: &[&TitleHit],
    ) -> Result<Option<String>, String> {
        let has_country = Qualified::of(&lookup.title).country.is_some();
        let is_show = lookup.kind.is_show() && (lookup.season.is_some() || has_country);
        let can_tell = is_show || !lookup.ids.is_empty();
        if !can_tell || !(2..=JUDGED).contains(&equals.len()) {
            return Ok(None);
        }
        let mut told = Vec::new();
        for hit in equals {
            match self.title(usable, lookup, &hit.id).await? {
                Some(title) => told.push(Arc::unwrap_or_clone(title)),
                // It is not known what it is.
                None => return Ok(None),
            }
        }
        Ok(pick::judged(lookup, equals, &told))
    }

    async fn hits(&self, usable: &Usable, query: TitleQuery) -> Result<Vec<TitleHit>, String> {
        match self.ask(usable, Question::Search(query)).await? {
            Answer::Found(found) => Ok(found.hits.clone()),
            _ => Ok(Vec::new()),
        }
    }

    /// An answer that is kept, or the provider's, when it is its turn.
    async fn ask(&self, usable: &Usable, question: Question) -> Result<Answer, String> {
        let (provider, config) = (usable.kind.id.as_str(), &usable.config);
        let providers = &self.providers;
        let asking = async {
            match &question {
                Question::Search(query) => {
                    let found = providers.search(provider, config.clone(), query.clone()).await;
                    found.map(|found| Answer::Found(Arc::new(found)))
                }
                Question::Details(subject) => {
                    let title = providers.details(provider, config.clone(), subject.clone()).await;
                    title.map(|title| Answer::Title(Arc::new(title)))
                }
                Question::Episodes { show, season } => {
                    let all = providers
                        .episodes(provider, config.clone(), show, *season, None)
                        .await;
                    all.map(|all| Answer::Episodes(Arc::new(all)))
                }
                Question::Find(id) => {
                    let hits = providers.find(provider, config.clone(), id.clone(), None).await;
                    hits.map(|hits| Answer::Hits(Arc::new(hits)))
                }
                // No provider is asked for a rating alone.
                Question::Rating(_) => Ok(Answer::Unknown),
            }
        };
        self.asked(provider, fingerprint(usable), &question, asking).await
    }

    /// The answer that is kept, else that of `asking` when it is its turn: in the pace of `provider`, and kept from then on.
    pub(super) async fn asked(
        &self,
        provider: &str,
        fingerprint: u64,
        question: &Question,
        asking: impl Future<Output = Result<Answer, ProviderError>> + Send,
    ) -> Result<Answer, String> {
        let key = (provider.to_owned(), fingerprint, question.clone());
        if let Some(kept) = self.cache.get(&key) {
            return Ok(kept);
        }
        let place = self.paces.turn(provider, fingerprint).await?;
        // Whoever was before may have asked the same.
        if let Some(kept) = self.cache.get(&key) {
            return Ok(kept);
        }
        let answer = asking.await;
        drop(place);
        let answer = match answer {
            Ok(answer) => answer,
            Err(ProviderError::NotFound(_) | ProviderError::Unsupported(_)) => Answer::Unknown,
            Err(error) => {
                self.paces.failed(provider, fingerprint, &error);
                return Err(error.to_string());
            }
        };
        self.paces.answered(provider, fingerprint);
        self.cache.put(key, answer.clone());
        Ok(answer)
    }
}

fn unanswered(provider: &str, reason: String) -> Silent {
    tracing::info!(provider, error = &*reason, "a metadata provider does not answer");
    Silent {
        provider: provider.to_owned(),
        reason,
    }
}

pub(super) fn silent<T>(provider: &str, reason: String) -> Alone<T> {
    Alone::Silent(unanswered(provider, reason))
}

/// Tells apart what a provider is asked with, and lives as long as the process: nothing can be read from it there.
fn fingerprint(usable: &Usable) -> u64 {
    let mut hasher = DefaultHasher::new();
    usable.kind.version.hash(&mut hasher);
    for (name, value) in &usable.config.fields {
        (name, value.to_string()).hash(&mut hasher);
    }
    hasher.finish()
}

trait Take {
    /// Keeps what is no metadata.
    fn take(&mut self, one: One) -> Option<Metadata>;
}

impl Take for Told {
    fn take(&mut self, one: One) -> Option<Metadata> {
        match one {
            One::Told(metadata) => return Some(*metadata),
            One::Unknown(_, equals) => self.ambiguous.extend(equals),
            One::Another(_) => {}
            One::Silent(silent) => self.silent.push(silent),
        }
        None
    }
}
