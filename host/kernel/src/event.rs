//! Domain events: what areas tell each other. An area declares its own with [`events!`](crate::events), one struct an
//! event, and publishes them in the transaction of the change; the bus that carries them is `platform`'s.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::auth::ClientInfo;
use crate::context::Ctx;
use crate::time::Timestamp;

/// The payload of one kind of event. Implemented by [`events!`](crate::events).
pub trait Event: Serialize + DeserializeOwned {
    /// The dotted name of the kind, e.g. `torrent.completed`.
    const KEY: &'static str;
    /// Type of the resource the event is about, e.g. `torrent`.
    const RESOURCE: &'static str;
    /// Seconds in which another one about the same thing is dropped; 0 = never.
    const WINDOW_SECS: u32;
    /// The fields of the payload.
    const FIELDS: &'static [Field];
}

/// A field of a payload, as its struct declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field's name in Rust.
    pub name: &'static str,
    /// The field's type in Rust.
    pub kind: &'static str,
}

impl Field {
    /// True when every payload has a value for the field.
    pub fn is_required(self) -> bool {
        !self.kind.starts_with("Option")
    }

    /// The field's name in JSON: `sizeBytes` for `size_bytes`.
    pub fn wire_name(self) -> String {
        let mut name = String::with_capacity(self.name.len());
        let mut words = self.name.split('_');
        name.extend(words.next());
        for word in words {
            let mut letters = word.chars();
            name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            name.push_str(letters.as_str());
        }
        name
    }
}

/// Declares kinds of events, each with the struct of its payload:
///
/// ```
/// qm_kernel::events! {
///     /// A torrent was given up.
///     pub struct TorrentFailed: "torrent.failed" about "torrent", once in 3600 {
///         torrent_name: String,
///         hash: String,
///         reason: Option<String>,
///     }
/// }
/// ```
///
/// The number is the kind's window in seconds; without one no event is dropped for being like another. In JSON the fields
/// are in camelCase, and those that are no `Option` are required.
#[macro_export]
macro_rules! events {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident: $key:literal about $resource:literal $(, once in $window:literal)? {
            $($(#[$field_meta:meta])* $field:ident: $kind:ty,)*
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        $vis struct $name {
            $($(#[$field_meta])* pub $field: $kind,)*
        }

        impl $crate::event::Event for $name {
            const KEY: &'static str = $key;
            const RESOURCE: &'static str = $resource;
            const WINDOW_SECS: u32 = 0 $(+ $window)?;
            const FIELDS: &'static [$crate::event::Field] = &[
                $($crate::event::Field { name: stringify!($field), kind: stringify!($kind) },)*
            ];
        }
    )+};
}

/// An event as it is told and stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainEvent {
    /// UUID v4; the same id twice is delivered once.
    pub id: String,
    /// Dotted name, e.g. `torrent.completed`.
    pub event_key: Cow<'static, str>,
    pub occurred_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_id: Option<String>,
    pub payload: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

impl DomainEvent {
    /// An event that happens now, about the thing with the id `about`.
    pub fn new<E: Event>(ctx: &Ctx, cause: Cause, about: impl Into<String>, payload: &E) -> Self {
        Self {
            id: ctx.id(),
            event_key: Cow::Borrowed(E::KEY),
            occurred_at: ctx.now(),
            actor_user_id: None,
            subject_user_id: None,
            resource_type: Some(Cow::Borrowed(E::RESOURCE)),
            resource_id: Some(about.into()),
            // A struct of texts and numbers always has a JSON form; without one it would lack its fields and
            // be refused.
            payload: serde_json::to_value(payload).unwrap_or_default(),
            correlation_id: cause.correlation_id,
            causation_id: cause.causation_id,
        }
    }

    /// Names the user who made it happen, if one did.
    pub fn by(mut self, user: Option<&str>) -> Self {
        self.actor_user_id = user.map(str::to_owned);
        self
    }

    /// Names the user whom it concerns.
    pub fn concerning(mut self, user: impl Into<String>) -> Self {
        self.subject_user_id = Some(user.into());
        self
    }

    /// The payload, if the event is of this kind.
    pub fn read<E: Event>(&self) -> Option<Result<E, serde_json::Error>> {
        (self.event_key == E::KEY).then(|| E::deserialize(&self.payload))
    }
}

/// Why something happens, as the events of it tell: what belongs together has one correlation id, and what an event led to
/// names that event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    correlation_id: Option<String>,
    causation_id: Option<String>,
}

impl Cause {
    /// Nobody asked for it and no event led to it: a loop saw it.
    pub const NONE: Cause = Cause {
        correlation_id: None,
        causation_id: None,
    };

    /// A request asked for it: its id stands in the logs and in the answer's `X-Request-Id`.
    pub fn request(client: &ClientInfo) -> Self {
        Self {
            correlation_id: Some(client.request_id.clone()).filter(|id| !id.is_empty()),
            causation_id: None,
        }
    }

    /// An event led to it.
    pub fn event(event: &DomainEvent) -> Self {
        Self {
            correlation_id: Some(event.correlation_id.clone().unwrap_or_else(|| event.id.clone())),
            causation_id: Some(event.id.clone()),
        }
    }
}

/// A kind of event, as it is registered with the bus.
#[derive(Clone, Copy, Debug)]
pub struct EventSpec {
    pub key: &'static str,
    pub fields: &'static [Field],
    /// Seconds in which the same (key, resource type, resource id) is dropped; 0 = never.
    pub window_secs: u32,
}

impl EventSpec {
    pub const fn for_event<E: Event>() -> Self {
        Self {
            key: E::KEY,
            fields: E::FIELDS,
            window_secs: E::WINDOW_SECS,
        }
    }

    /// The payload fields that must have a value, by their names in JSON.
    pub fn required(&self) -> Vec<String> {
        let required = self.fields.iter().filter(|field| field.is_required());
        required.map(|field| field.wire_name()).collect()
    }
}

/// Treatment of an event by its transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Seconds in which another one about the same thing is dropped; 0 = never.
    pub window_secs: u32,
    /// True to store it in the outbox, for consumers that must not miss it.
    pub stored: bool,
}

/// Judges events when they are published, and takes them once their transaction has committed. Implemented by `platform`'s bus.
pub trait EventSink: Send + Sync {
    /// Judges an event when it is published, before anything is committed; `None` refuses it, and then nobody hears of it.
    fn plan(&self, _event: &DomainEvent) -> Option<Plan> {
        Some(Plan::default())
    }

    /// Tells an event whose transaction has committed. Never blocks and never fails the caller.
    fn publish(&self, event: DomainEvent);

    /// Counts an event that was dropped, because one like it was published within the window of its kind.
    fn repeated(&self, _event: &DomainEvent) {}
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use serde_json::json;

    use super::*;

    crate::events! {
        /// Something of every shape.
        struct Happened: "test.happened" about "thing", once in 60 {
            name: String,
            size_in_bytes: u64,
            path: Option<String>,
        }

        struct Empty: "test.empty" about "thing" {}
    }

    fn happened() -> Happened {
        Happened {
            name: "a".into(),
            size_in_bytes: 1,
            path: None,
        }
    }

    #[test]
    fn what_is_required_is_what_a_payload_always_has() {
        const SPEC: EventSpec = EventSpec::for_event::<Happened>();
        assert_eq!((SPEC.key, SPEC.window_secs), ("test.happened", 60));
        assert_eq!(SPEC.required(), ["name", "sizeInBytes"]);
        let payload = serde_json::to_value(happened()).unwrap();
        assert_eq!(payload, json!({ "name": "a", "sizeInBytes": 1, "path": null }));
        assert_eq!(EventSpec::for_event::<Empty>().window_secs, 0);
        assert!(EventSpec::for_event::<Empty>().required().is_empty());
    }

    #[test]
    fn an_event_is_read_as_what_it_was() {
        let event = DomainEvent::new(&Ctx::system(), Cause::NONE, "t", &happened());
        let stored = serde_json::to_string(&event).unwrap();
        let event: DomainEvent = serde_json::from_str(&stored).unwrap();
        assert_eq!(event.read::<Happened>().unwrap().unwrap(), happened());
        assert!(event.read::<Empty>().is_none());
        assert_eq!(
            (event.resource_type.as_deref(), event.resource_id.as_deref()),
            (Some("thing"), Some("t"))
        );
    }

    #[test]
    fn what_belongs_together_has_one_correlation_id() {
        let ctx = Ctx::system();
        let client = ClientInfo {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            forwarded: String::new(),
            user_agent: None,
            request_id: "0123456789abcdef".into(),
        };
        let asked = DomainEvent::new(&ctx, Cause::request(&client), "t", &Empty {});
        let led_to = DomainEvent::new(&ctx, Cause::event(&asked), "t", &Empty {});
        let further = DomainEvent::new(&ctx, Cause::event(&led_to), "t", &Empty {});
        for event in [&asked, &led_to, &further] {
            assert_eq!(event.correlation_id.as_deref(), Some("0123456789abcdef"));
        }
        assert_eq!(asked.causation_id, None);
        assert_eq!(led_to.causation_id.as_ref(), Some(&asked.id));
        assert_eq!(further.causation_id.as_ref(), Some(&led_to.id));
        let seen = DomainEvent::new(&ctx, Cause::NONE, "t", &Empty {});
        assert_eq!((&seen.correlation_id, &seen.causation_id), (&None, &None));
        assert_eq!(Cause::event(&seen).correlation_id, Some(seen.id));
    }
}
