//! State machine that decides when to report an engine as offline or recovered. Pure.

use std::collections::HashMap;

use qm_kernel::Ctx;
use qm_kernel::event::{Cause, DomainEvent};
use qm_ports::EngineProbe;

qm_kernel::events! {
    pub struct ProviderOffline: "provider.offline" about "torrent_engine", once in 3600 {
        /// Name of the engine.
        provider_name: String,
        kind: String,
        /// Sentence that names the engine and no secret.
        reason: Option<String>,
    }

    pub struct ProviderRecovered: "provider.recovered" about "torrent_engine" {
        /// Name of the engine.
        provider_name: String,
        kind: String,
    }
}

/// A change of an engine's state to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateChange<'a> {
    Offline(&'a EngineProbe),
    Recovered(&'a EngineProbe),
}

impl StateChange<'_> {
    pub fn event(self, ctx: &Ctx) -> DomainEvent {
        match self {
            StateChange::Offline(probe) => {
                let payload = ProviderOffline {
                    provider_name: probe.name.clone(),
                    kind: probe.kind.clone(),
                    reason: probe.error.clone(),
                };
                DomainEvent::new(ctx, Cause::NONE, &probe.engine_id, &payload)
            }
            StateChange::Recovered(probe) => {
                let payload = ProviderRecovered {
                    provider_name: probe.name.clone(),
                    kind: probe.kind.clone(),
                };
                DomainEvent::new(ctx, Cause::NONE, &probe.engine_id, &payload)
            }
        }
    }
}

/// State of each engine at the last check.
#[derive(Default)]
pub struct EngineWatch {
    online: HashMap<String, bool>,
}

impl EngineWatch {
    /// Takes in the probes of all enabled engines; returns the changes to report. A missing engine is
    /// forgotten: when it comes back, its first probe is silent again.
    pub fn look<'a>(&mut self, probes: &'a [EngineProbe]) -> Vec<StateChange<'a>> {
        let now = probes.iter().map(|probe| (probe.engine_id.clone(), probe.online));
        let before = std::mem::replace(&mut self.online, now.collect());
        let told = probes
            .iter()
            .filter_map(|probe| match (before.get(&probe.engine_id)?, probe.online) {
                (true, false) => Some(StateChange::Offline(probe)),
                (false, true) => Some(StateChange::Recovered(probe)),
                (true, true) | (false, false) => None,
            });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::Timestamp;
    use serde_json::json;

    use super::*;

    const OFFLINE: &str = "provider.offline";
    const RECOVERED: &str = "provider.recovered";

    pub fn probe(id: &str, online: bool) -> EngineProbe {
        EngineProbe {
            engine_id: id.to_owned(),
            name: format!("Engine {id}"),
            kind: "scgi_client".to_owned(),
            online,
            latency_ms: online.then_some(3),
            version: online.then(|| "0.9.8".to_owned()),
            error: (!online).then(|| format!("Engine {id} cannot be reached")),
            checked_at: Timestamp::from_ms(0),
        }
    }

    #[test]
    fn edges_are_told_and_the_first_look_is_not() {
        for (looks, expected) in [
            (vec![true, true], vec![None, None]),
            (vec![false, false], vec![None, None]),
            (
                vec![true, false, false, true],
                vec![None, Some(OFFLINE), None, Some(RECOVERED)],
            ),
            (
                vec![false, true, false],
                vec![None, Some(RECOVERED), Some(OFFLINE)],
            ),
        ] {
            let mut watch = EngineWatch::default();
            let told: Vec<_> = looks
                .iter()
                .map(|online| {
                    let probes = [probe("a", *online)];
                    let told = watch.look(&probes);
                    told.first().map(|told| told.event(&Ctx::system()).event_key)
                })
                .collect();
            let told: Vec<Option<&str>> = told.iter().map(Option::as_deref).collect();
            assert_eq!(told, expected, "{looks:?}");
        }
    }

    #[test]
    fn an_engine_that_was_away_starts_anew() {
        let mut watch = EngineWatch::default();
        assert!(watch.look(&[probe("a", true), probe("b", true)]).is_empty());
        let gone = [probe("a", false)];
        let told = watch.look(&gone);
        assert_eq!(told, [StateChange::Offline(&gone[0])]);
        assert_eq!(
            told[0].event(&Ctx::system()).payload,
            json!({ "providerName": "Engine a", "kind": "scgi_client", "reason": "Engine a cannot be reached" })
        );
        assert!(watch.look(&[probe("a", false), probe("b", false)]).is_empty());
        let back = [probe("b", true)];
        assert_eq!(
            watch.look(&back)[0].event(&Ctx::system()).payload,
            json!({ "providerName": "Engine b", "kind": "scgi_client" })
        );
    }
}
