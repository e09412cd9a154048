//! Lines of JSON: one flat object an event. First `timestamp`, `level`, `target` and `message`, then the event's own
//! fields, then those of the spans it happened in, innermost first; of fields with one name the first stays.
//!
//! Not the `json` layer of `tracing-subscriber`, also not flattened: there the request's id stands in a list below `spans`, the
//! causes of an error are left out, and a field called `level` or `target` makes a second key of that name.

use std::fmt::{self, Debug, Display};
use std::io::Write as _;

use qm_kernel::Ctx;
use serde::Serializer as _;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Writes each event as a line.
pub struct JsonLines<W> {
    to: W,
}

impl<W> JsonLines<W> {
    pub fn new(to: W) -> Self {
        Self { to }
    }
}

/// The fields of a span, kept in its extensions.
struct SpanFields(Fields);

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(SpanFields(fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        if let Some(SpanFields(fields)) = span.extensions_mut().get_mut() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let mut own = Fields::default();
        event.record(&mut own);
        let metadata = event.metadata();
        let mut line = head(*metadata.level(), metadata.target(), own.take_message());
        line.add(&own);
        let scope = ctx.event_scope(event);
        for span in scope.into_iter().flatten() {
            if let Some(SpanFields(fields)) = span.extensions().get() {
                line.add(fields);
            }
        }
        let text = line.text();
        // A closed standard error is no reason to stop.
        let _ = self.to.make_writer_for(metadata).write_all(text.as_bytes());
    }
}

/// The line that tells why the program ends, for what happens before there is a logger too.
pub fn failure_line(text: &str) -> String {
    head(Level::ERROR, "quartermaster", Value::from(text)).text()
}

fn head(level: Level, target: &str, message: Value) -> Line {
    // A log tells the machine's time, also in tests that stop their own clock.
    let now = Ctx::system().now().to_string();
    let mut line = Line(Vec::with_capacity(12));
    line.put("timestamp", &Value::from(now));
    line.put("level", &Value::from(level.as_str()));
    line.put("target", &Value::from(target));
    line.put("message", &message);
    line
}

struct Line(Vec<(&'static str, Value)>);

impl Line {
    fn put(&mut self, name: &'static str, value: &Value) {
        if self.0.iter().all(|(known, _)| *known != name) {
            self.0.push((name, value.clone()));
        }
    }

    fn add(&mut self, fields: &Fields) {
        for (name, value) in &fields.0 {
            self.put(name, value);
        }
    }

    fn text(self) -> String {
        let mut bytes = Vec::with_capacity(256);
        let mut writer = serde_json::Serializer::new(&mut bytes);
        // Texts, numbers and flags under names, into memory: this cannot fail.
        let _ = writer.collect_map(self.0.iter().map(|(name, value)| (name, value)));
        bytes.push(b'\n');
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// Fields as they were recorded; a later value of one name replaces an earlier one.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn set(&mut self, field: &Field, value: Value) {
        let name = field.name();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    fn take_message(&mut self) -> Value {
        let place = self.0.iter().position(|(name, _)| *name == "message");
        place.map_or_else(|| Value::from(""), |place| self.0.remove(place).1)
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Value::from(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, Value::from(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.set(field, Value::from(Chain(value).to_string()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field, Value::from(format!("{value:?}")));
    }
}

/// An error with its causes.
struct Chain<'a>(&'a (dyn std::error::Error + 'static));

impl Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(inner) = cause {
            write!(f, ": {inner}")?;
            cause = inner.source();
        }
        Ok(())
    }
}

#[cfg(test)]
pub mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use qm_kernel::as_error;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    pub struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Memory {
        pub fn lines(&self) -> Vec<Value> {
            let bytes = self.0.lock().expect("not poisoned").clone();
            let text = String::from_utf8(bytes).expect("UTF-8");
            let parse = |line| serde_json::from_str(line).expect("JSON");
            text.lines().map(parse).collect()
        }
    }

    impl io::Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("not poisoned").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(work: impl FnOnce()) -> Vec<Value> {
        let memory = Memory::default();
        let writer = memory.clone();
        let subscriber = tracing_subscriber::registry().with(JsonLines::new(move || writer.clone()));
        tracing::subscriber::with_default(subscriber, work);
        memory.lines()
    }

    #[test]
    fn a_line_is_flat_and_carries_the_fields_of_its_spans() {
        let lines = lines(|| {
            let outer = tracing::info_span!(
                "outer",
                request.id = "0123",
                size = 1_u64,
                late = tracing::field::Empty
            );
            let _outer = outer.enter();
            let _inner = tracing::info_span!("inner", size = 2_u64, name = "deep").entered();
            outer.record("late", true);
            let error = io::Error::other("the cause");
            tracing::warn!(target: "there", size = 3_i64, ratio = 0.5, error = as_error(&error), "two\nlines");
            tracing::info!(size = ?Some("x"));
        });
        let mut first = lines[0].clone();
        let at = first
            .as_object_mut()
            .expect("an object")
            .remove("timestamp")
            .expect("a time");
        assert!(
            at.as_str().is_some_and(|at| at.len() == 24 && at.ends_with('Z')),
            "{at}"
        );
        assert_eq!(
            first,
            serde_json::json!({
                "level": "WARN", "target": "there", "message": "two\nlines", "size": 3, "ratio": 0.5,
                "error": "the cause", "name": "deep", "request.id": "0123", "late": true,
            })
        );
        assert_eq!(lines[1]["message"], "");
        assert_eq!(lines[1]["size"], "Some(\"x\")");
        assert_eq!(lines[1]["request.id"], "0123");
    }

    #[test]
    fn the_reason_of_a_failed_start_is_a_line_too() {
        let line = failure_line("cannot \"listen\"");
        let value: Value = serde_json::from_str(line.trim_end()).expect("JSON");
        assert_eq!(
            (&value["level"], &value["message"]),
            (&Value::from("ERROR"), &Value::from("cannot \"listen\""))
        );
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
    }
}
