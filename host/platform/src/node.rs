//! Role of this server among the servers of its database: active or standby. Used by routes, status pages and
//! metrics; `qm_db` and `server` decide which one is active.

use std::sync::{Arc, Mutex};

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntGauge, Registry};
use qm_kernel::Mandate;
use qm_lanes::IgnorePoison;

/// Word in `code` of a standby's answers, and in `status` of its readiness.
pub const STANDBY: &str = "standby";

/// Role of this server. Clones are handles to the same state.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    name: String,
    mandate: Mandate,
    place: Mutex<Place>,
}

/// Known state of the lease.
#[derive(Clone, Debug, Default)]
struct Place {
    /// The term in which this server is, or was, active.
    term: Option<i64>,
    /// Name of the other server that is active now.
    active: Option<String>,
    /// True when it was active and another one has taken over.
    succeeded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRole {
    Active,
    Standby,
}

impl NodeRole {
    pub const fn word(self) -> &'static str {
        match self {
            NodeRole::Active => "active",
            NodeRole::Standby => STANDBY,
        }
    }
}

impl Node {
    /// The only server of its database.
    pub fn alone(name: impl Into<String>) -> Self {
        Self::with_mandate(name, Mandate::for_ever())
    }

    /// A server that acts while `mandate` is valid.
    pub fn with_mandate(name: impl Into<String>, mandate: Mandate) -> Self {
        Self(Arc::new(Inner {
            name: name.into(),
            mandate,
            place: Mutex::default(),
        }))
    }

    /// The name its operator gave it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn role(&self) -> NodeRole {
        if self.0.mandate.holds() {
            NodeRole::Active
        } else {
            NodeRole::Standby
        }
    }

    /// The term in which it is active; `None` where there are no terms.
    pub fn term(&self) -> Option<i64> {
        self.place().term
    }

    /// Records that it has become active.
    pub fn note_term(&self, term: i64) {
        let mut place = self.0.place.lock().ignore_poison();
        *place = Place {
            term: Some(term),
            ..Place::default()
        };
    }

    /// Records the active server; `None` when there is none.
    pub fn note_active(&self, name: Option<String>) {
        let mut place = self.0.place.lock().ignore_poison();
        place.active = name;
    }

    /// Records that another server has taken over.
    pub fn note_succeeded(&self) {
        self.0.mandate.take_away();
        let mut place = self.0.place.lock().ignore_poison();
        place.succeeded = true;
    }

    /// Reason to refuse a request. Without a mandate no request that may change data is accepted; a standby,
    /// or a server that was replaced, accepts none.
    pub fn turns_away(&self, only_reads: bool) -> Option<String> {
        if self.0.mandate.holds() {
            return None;
        }
        let place = self.place();
        // Reads are still answered: perhaps only the database is unreachable.
        let may_be_active = place.term.is_some() && !place.succeeded;
        (!(may_be_active && only_reads)).then(|| place.sentence())
    }

    /// Sentence about the standby state for users; `None` while it is active.
    pub fn standing_by(&self) -> Option<String> {
        (self.role() == NodeRole::Standby).then(|| self.place().sentence())
    }

    /// Registers metrics of role and term.
    pub fn register(&self, metrics: &Registry) -> Result<(), prometheus::Error> {
        metrics.register(Box::new(NodeMetrics::new(self.clone())?))
    }

    fn place(&self) -> Place {
        self.0.place.lock().ignore_poison().clone()
    }
}

impl Place {
    fn sentence(&self) -> String {
        match &self.active {
            Some(name) => format!("This server stands by: the node `{name}` is active, ask that one"),
            None if self.succeeded => {
                "This server was succeeded: another node is active now, ask that one".to_owned()
            }
            None if self.term.is_some() => {
                "This server does not reach the database, and another node may be active \
                                            by now: try again in some seconds"
                    .to_owned()
            }
            None => "This server stands by, and no node is active at the moment: try again in some seconds"
                .to_owned(),
        }
    }
}

/// Metrics, read at each scrape.
struct NodeMetrics {
    node: Node,
    active: IntGauge,
    term: IntGauge,
}

impl NodeMetrics {
    fn new(node: Node) -> Result<Self, prometheus::Error> {
        Ok(Self {
            node,
            active: IntGauge::new(
                "quartermaster_node_active",
                "1 while this server is the active one of its database, 0 while it stands by.",
            )?,
            term: IntGauge::new(
                "quartermaster_node_term",
                "How many times a server of this database has become active, as this one knows it; 0 where it is alone.",
            )?,
        })
    }
}

impl Collector for NodeMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.active.desc().into_iter().chain(self.term.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.active.set(i64::from(self.node.role() == NodeRole::Active));
        self.term.set(self.node.term().unwrap_or_default());
        self.active
            .collect()
            .into_iter()
            .chain(self.term.collect())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_it_says_of_itself() {
        let mandate = Mandate::none();
        let standby = Node::with_mandate("b", mandate);
        assert!(
            standby
                .standing_by()
                .is_some_and(|text| text.contains("no node is active"))
        );
        standby.note_active(Some("a".to_owned()));
        assert!(
            standby
                .standing_by()
                .is_some_and(|text| text.contains("`a` is active"))
        );
        assert_eq!((standby.role(), standby.term()), (NodeRole::Standby, None));

        let later = Mandate::clock() + Duration::from_mins(1);
        let active = Node::with_mandate("a", Mandate::until(later));
        active.note_term(7);
        assert_eq!((active.role(), active.term()), (NodeRole::Active, Some(7)));
        assert_eq!(active.standing_by(), None);
        assert!(active.turns_away(false).is_none());
        active.note_succeeded();
        assert!(active.turns_away(true).is_some(), "another one is asked");
        assert!(
            active
                .standing_by()
                .is_some_and(|text| text.contains("was succeeded"))
        );
        assert!(standby.turns_away(true).is_some() && standby.turns_away(false).is_some());
        let lost = Node::with_mandate("d", Mandate::until(Duration::ZERO));
        lost.note_term(1);
        assert!(lost.turns_away(true).is_none(), "it tells what it knows");
        assert!(
            lost.turns_away(false)
                .is_some_and(|text| text.contains("does not reach the database"))
        );
        assert_eq!(Node::alone("c").role(), NodeRole::Active);
    }
}
