//! When an engine that went or came back is worth telling of. Pure.

use std::collections::HashMap;

use qm_kernel::EngineProbe;
use serde_json::{Value, json};

pub const OFFLINE: &str = "provider.offline";
pub const RECOVERED: &str = "provider.recovered";
pub const RESOURCE: &str = "torrent_engine";

/// What is to be told of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'a> {
    Offline(&'a EngineProbe),
    Recovered(&'a EngineProbe),
}

impl<'a> Told<'a> {
    pub fn key(self) -> &'static str {
        match self {
            Told::Offline(_) => OFFLINE,
            Told::Recovered(_) => RECOVERED,
        }
    }

    pub fn probe(self) -> &'a EngineProbe {
        match self {
            Told::Offline(probe) | Told::Recovered(probe) => probe,
        }
    }

    pub fn payload(self) -> Value {
        match self {
            Told::Offline(probe) => {
                json!({ "providerName": probe.name, "kind": probe.kind, "reason": probe.error })
            }
            Told::Recovered(probe) => json!({ "providerName": probe.name, "kind": probe.kind }),
        }
    }
}

/// Which engines were online when they were last asked.
#[derive(Default)]
pub struct EngineWatch {
    online: HashMap<String, bool>,
}

impl EngineWatch {
    /// Takes in what all enabled engines said; answers what is to be told. An engine that is no longer among them is
    /// forgotten: should it come back, its first look is silent again.
    pub fn look<'a>(&mut self, probes: &'a [EngineProbe]) -> Vec<Told<'a>> {
        let now = probes.iter().map(|probe| (probe.engine_id.clone(), probe.online));
        let before = std::mem::replace(&mut self.online, now.collect());
        let told = probes
            .iter()
            .filter_map(|probe| match (before.get(&probe.engine_id)?, probe.online) {
                (true, false) => Some(Told::Offline(probe)),
                (false, true) => Some(Told::Recovered(probe)),
                (true, true) | (false, false) => None,
            });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::Timestamp;

    use super::*;

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
                .map(|online| watch.look(&[probe("a", *online)]).first().map(|told| told.key()))
                .collect();
            assert_eq!(told, expected, "{looks:?}");
        }
    }

    #[test]
    fn an_engine_that_was_away_starts_anew() {
        let mut watch = EngineWatch::default();
        assert!(watch.look(&[probe("a", true), probe("b", true)]).is_empty());
        let gone = [probe("a", false)];
        let told = watch.look(&gone);
        assert_eq!(told, [Told::Offline(&gone[0])]);
        assert_eq!(
            told[0].payload(),
            json!({ "providerName": "Engine a", "kind": "scgi_client", "reason": "Engine a cannot be reached" })
        );
        assert!(watch.look(&[probe("a", false), probe("b", false)]).is_empty());
        let back = [probe("b", true)];
        assert_eq!(
            watch.look(&back)[0].payload(),
            json!({ "providerName": "Engine b", "kind": "scgi_client" })
        );
    }
}
