//! The contract tests of the role `metadata-provider`, for `plugin check`: questions, which change nothing at the product.

use std::time::Duration;

use futures_util::future::BoxFuture;
use qm_plugin_host::Check;
use qm_plugin_host::role::{CallContext, Heard, State, note, word};
use qm_ports::metadata::{Ability, ExternalId, ProviderError, TitleHit, TitleKind, TitleQuery, TitleSubject};
use wasmtime::Store;

use super::{Answer, Metadata, ProviderCode, description};
use crate::stateless::Bench;

/// A title that every provider knows some of.
const WORD: &str = "love";
/// An id that nothing has.
const NOBODYS: &str = "999999999";
/// A source of ids that nobody takes.
const NOWHERE: &str = "no_such_source";
/// Time for one call.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs them all with the configuration of the target.
pub(super) async fn run(bench: Bench<Metadata>) -> Vec<Check> {
    let mut checks = Vec::new();
    let text = bench.trial.config();
    let told = description::read(&bench.trial.about().traits);
    let can = |ability| told.abilities.contains(&ability);
    let tests = Contract(bench);
    let config = text.clone();
    let verified = tests
        .ask(|code, store| Box::pin(async move { code.verify(store, &config).await }))
        .await;
    let verified = word(verified).map(|()| String::new());
    note(&mut checks, "it verifies this configuration", verified);
    for kind in told.kinds {
        let hit = tests.search(&mut checks, kind, &text, can(Ability::Search)).await;
        tests
            .details(&mut checks, kind, &text, hit, can(Ability::Details))
            .await;
    }
    let config = text.clone();
    let found = tests
        .ask(|code, store| {
            let id = ExternalId {
                source: NOWHERE.to_owned(),
                id: NOBODYS.to_owned(),
            };
            Box::pin(async move { code.find(store, &config, id, None).await })
        })
        .await;
    let found = found.and_then(|word| match word {
        Err(ProviderError::Unsupported(why)) => Ok(why),
        Err(other) => Err(format!("it answered otherwise: {other}")),
        Ok(_) => Err("it answered for a source of ids that nobody takes".to_owned()),
    });
    note(&mut checks, "it refuses ids of a source it does not take", found);
    checks
}

fn kind_word(kind: TitleKind) -> &'static str {
    match kind {
        TitleKind::Movie => "films",
        TitleKind::Show => "shows",
    }
}

/// Tells whether what is not offered is refused.
fn refused<T>(answer: Heard<T, ProviderError>) -> Result<String, String> {
    answer.and_then(|word| match word {
        Err(ProviderError::Unsupported(_)) => Ok("it does not offer this, and says so".to_owned()),
        _ => Err("its description does not offer this: it must answer `unsupported`".to_owned()),
    })
}

/// The tests under way.
struct Contract(Bench<Metadata>);

impl Contract {
    /// Makes one call in an instance of its own.
    async fn ask<T: 'static>(
        &self,
        work: impl for<'a> FnOnce(&'a dyn ProviderCode, &'a mut Store<State>) -> BoxFuture<'a, Answer<T>>,
    ) -> Heard<T, ProviderError> {
        let context = CallContext {
            patience: Some(PATIENCE),
            ..CallContext::default()
        };
        self.0.ask(PATIENCE, context, work).await
    }

    /// A search, and its first hit.
    async fn search(
        &self,
        checks: &mut Vec<Check>,
        kind: TitleKind,
        config: &str,
        offered: bool,
    ) -> Option<TitleHit> {
        let found = self
            .ask(|code, store| {
                let config = config.to_owned();
                Box::pin(async move {
                    code.search(store, &config, TitleQuery::first_page(kind, WORD))
                        .await
                })
            })
            .await;
        if !offered {
            note(checks, "a search is answered", refused(found));
            return None;
        }
        let (told, hit) = match word(found) {
            Ok(mut found) if found.hits.iter().all(|hit| hit.kind == kind) => {
                let told = format!("{} {}", found.hits.len(), kind_word(kind));
                let hit = (!found.hits.is_empty()).then(|| found.hits.remove(0));
                (Ok(told), hit)
            }
            Ok(_) => (
                Err(format!(
                    "asked for {}, it found something else too",
                    kind_word(kind)
                )),
                None,
            ),
            Err(why) => (Err(why), None),
        };
        note(checks, "a search is answered", told);
        hit
    }

    /// Details of what was found, and of what nothing has the id of.
    async fn details(
        &self,
        checks: &mut Vec<Check>,
        kind: TitleKind,
        config: &str,
        hit: Option<TitleHit>,
        offered: bool,
    ) {
        let ask = async |id: &str| {
            let subject = TitleSubject {
                kind,
                id: id.to_owned(),
                language: None,
                country: None,
            };
            let config = config.to_owned();
            self.ask(|code, store| Box::pin(async move { code.details(store, &config, subject).await }))
                .await
        };
        let unknown = ask(NOBODYS).await;
        if !offered {
            note(checks, "an unknown title is not found", refused(unknown));
            return;
        }
        let unknown = unknown.and_then(|word| match word {
            Err(ProviderError::NotFound(why)) => Ok(why),
            Err(other) => Err(format!("it answered otherwise: {other}")),
            Ok(title) => Err(format!(
                "it answered \"{}\" for an id that nothing has",
                title.title
            )),
        });
        note(checks, "an unknown title is not found", unknown);
        if let Some(hit) = hit {
            let same = word(ask(&hit.id).await).and_then(|title| {
                if title.id == hit.id && title.kind == kind {
                    Ok(title.title)
                } else {
                    Err(format!("asked for {}, it answered about {}", hit.id, title.id))
                }
            });
            note(checks, "it tells about what it found", same);
        }
    }
}
