//! Lookup of one title: by the chain of providers, or at all of them.

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
use crate::model::answer::to_metadata;
use crate::model::merge::merged;
use crate::model::pick::{self, Picked};

/// Number of equal hits whose details are requested to tell them apart.
const JUDGED: usize = 4;

/// Result from one provider.
enum ProviderResult {
    Found(Box<Metadata>),
    /// No match; suggestions, and ids of equally good hits.
    Unknown(Vec<TitleSuggestion>, Vec<ExternalId>),
    /// A title with the requested name, but another external id.
    OtherId(Box<Metadata>),
    Silent(Silent),
}

/// Match of a lookup.
enum Meant {
    /// Title with a known id.
    Known(String),
    /// Title with exactly this name.
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

    /// Answer of one provider, whatever the order.
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
            // The caller compares the ids, and reports another one.
            ProviderResult::Found(metadata) | ProviderResult::OtherId(metadata) => Alone::Told(metadata),
            ProviderResult::Unknown(suggested, _) if !suggested.is_empty() => Alone::Unsure(suggested),
            ProviderResult::Unknown(..) => Alone::Unknown,
            ProviderResult::Silent(silent) => Alone::Silent(silent),
        }
    }

    /// Adds the provider's own id, if it can be found by external ones.
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

    /// The provider's own id for an external id.
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

    /// The complete answer of a provider: a failure in between yields none.
    async fn ask_one(&self, usable: &Usable, lookup: &Lookup) -> ProviderResult {
        match self.ask_provider(usable, lookup).await {
            Ok(one) => one,
            Err(reason) => ProviderResult::Silent(unanswered(&usable.kind.id, reason)),
        }
    }

    async fn ask_provider(&self, usable: &Usable, lookup: &Lookup) -> Result<ProviderResult, String> {
        let lookup = &self.with_own_id(usable, lookup.clone()).await?;
        let (id, is_known) = match self.meant(usable, lookup).await? {
            Meant::Known(id) => (id, true),
            Meant::Named(id) => (id, false),
            Meant::Unknown(suggested, equals) => return Ok(ProviderResult::Unknown(suggested, equals)),
        };
        let Some(title) = self.title(usable, lookup, &id).await? else {
            return Ok(ProviderResult::Unknown(Vec::new(), Vec::new()));
        };
        if !is_known && !pick::is_of_year(lookup, &title) {
            return Ok(ProviderResult::Unknown(Vec::new(), Vec::new()));
        }
        let is_another = !is_known && pick::contradicts(&lookup.ids, &title.ids);
        let mut episode = None;
        if let (true, Some(season), Some(number)) = (lookup.kind.is_show(), lookup.season, lookup.episode) {
            let answer = self.ask(usable, Question::Episodes { show: id, season }).await?;
            // For an episode unknown there, the show is returned.
            if let Answer::Episodes(all) = answer {
                episode = all.iter().find(|episode| episode.number == number).cloned();
            }
        }
        let told = Box::new(to_metadata(&usable.kind.id, Arc::unwrap_or_clone(title), episode));
        Ok(if is_another {
            ProviderResult::OtherId(told)
        } else {
            ProviderResult::Found(told)
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
        // Providers' titles contain neither country nor year.
        let named = Some(Qualified::split(&lookup.title)).filter(|_| lookup.kind.is_show());
        let title = turned(named.as_ref().map_or(&*lookup.title, |named| &*named.title));
        let year = lookup
            .year
            .or(named.as_ref().and_then(|named| u32::try_from(named.year?).ok()));
        let query = TitleQuery {
            year,
            ..TitleQuery::first_page(lookup.kind.title_kind(), &title)
        };
        let mut hits = self.hits(usable, query.clone()).await?;
        if year.is_some() && pick::meant(lookup, &hits) == Picked::None {
            // The year may differ by one there.
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

    /// Selects one of several equal hits by season, country or external id. Without any of these no request
    /// is made.
    async fn judged(
        &self,
        usable: &Usable,
        lookup: &Lookup,
        equals: &[&TitleHit],
    ) -> Result<Option<String>, String> {
        let has_country = Qualified::split(&lookup.title).country.is_some();
        let is_show = lookup.kind.is_show() && (lookup.season.is_some() || has_country);
        let can_tell = is_show || !lookup.ids.is_empty();
        if !can_tell || !(2..=JUDGED).contains(&equals.len()) {
            return Ok(None);
        }
        let mut told = Vec::new();
        for hit in equals {
            match self.title(usable, lookup, &hit.id).await? {
                Some(title) => told.push(Arc::unwrap_or_clone(title)),
                // Its details are unknown.
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

    /// A cached answer, or the provider's.
    pub(super) async fn ask(&self, usable: &Usable, question: Question) -> Result<Answer, String> {
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
                Question::Artwork(subject) => {
                    let all = providers.artwork(provider, config.clone(), subject.clone()).await;
                    all.map(|all| Answer::Images(Arc::new(all)))
                }
                Question::Find(id) => {
                    let hits = providers.find(provider, config.clone(), id.clone(), None).await;
                    hits.map(|hits| Answer::Hits(Arc::new(hits)))
                }
                // Providers are not asked for ratings alone.
                Question::Rating(_) => Ok(Answer::Unknown),
            }
        };
        self.asked(provider, fingerprint(usable), &question, asking).await
    }

    /// The cached answer, or that of `asking`, which waits for its turn in the pace of `provider` and is
    /// cached.
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
        // An earlier request may have asked the same.
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

/// Fingerprint of the configuration, valid for the life of the process; no secret can be read from it.
fn fingerprint(usable: &Usable) -> u64 {
    let mut hasher = DefaultHasher::new();
    usable.kind.version.hash(&mut hasher);
    for (name, value) in &usable.config.fields {
        (name, value.to_string()).hash(&mut hasher);
    }
    hasher.finish()
}

trait Take {
    /// Collects suggestions, and returns the metadata.
    fn take(&mut self, one: ProviderResult) -> Option<Metadata>;
}

impl Take for Told {
    fn take(&mut self, one: ProviderResult) -> Option<Metadata> {
        match one {
            ProviderResult::Found(metadata) => return Some(*metadata),
            ProviderResult::Unknown(_, equals) => self.ambiguous.extend(equals),
            ProviderResult::OtherId(_) => {}
            ProviderResult::Silent(silent) => self.silent.push(silent),
        }
        None
    }
}
