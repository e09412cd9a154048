//! Derived readers beside the same ones written by hand: same values, same errors, same document.

#![expect(clippy::option_option, reason = "absent, null and a value are three things")]

use axum::extract::{FromRequest, FromRequestParts};
use http::Request;
use qm_kernel::{PageQuery, Secret};
use qm_web::{Body, Created, Fields, FromBody, FromQuery, Params, Routes, WebConfig, describe, routes};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Calm,
    Loud,
}

impl Mood {
    const NAMES: &'static [&'static str] = &["calm", "loud"];

    fn from_name(name: &str) -> Option<Self> {
        match name {
            "calm" => Some(Mood::Calm),
            "loud" => Some(Mood::Loud),
            _ => None,
        }
    }
}

fn is_line(text: &str) -> bool {
    !text.contains('\n')
}

fn own(key: &str) -> Option<Secret> {
    (key != "•••").then(|| Secret::new(key))
}

fn even(f: &mut Fields<'_>, name: &'static str, most: i64) -> Option<i64> {
    let number = f.integer(name).max(most).optional();
    if number.is_some_and(|number| number % 2 != 0) {
        f.broken(format!("{name} must be even"));
    }
    number
}

/// Each kind of field, with its rules.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
#[fields(optional, check = has_priority)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Derived {
    #[field(not_empty, max = 8, check(is_line, "must be one line"))]
    user_name: String,
    #[field(trim, len(1, 4))]
    nick: Option<String>,
    #[field(min = 2)]
    #[schema(value_type = String)]
    password: Secret,
    #[field(max = 5, and_then = own)]
    #[schema(value_type = Option<String>)]
    api_key: Option<Option<Secret>>,
    #[field(max = 3)]
    note: Option<Option<String>>,
    #[field(email)]
    mail: Option<String>,
    #[field(one_of = &["a", "b"], default)]
    role: String,
    #[field(words(Mood::NAMES, Mood::from_name), stand_in = Mood::Calm)]
    #[schema(value_type = String)]
    mood: Mood,
    #[field(words(Mood::NAMES, Mood::from_name), default = Mood::Loud)]
    #[schema(value_type = String)]
    other_mood: Mood,
    is_active: bool,
    #[field(default = true)]
    is_enabled: bool,
    is_loud: Option<bool>,
    #[field(min = 1)]
    port: Option<u16>,
    size: u64,
    #[field(min = -5, max = 5, default = 2)]
    priority: i64,
    #[field(one_of = &[0, 1, 2])]
    level: u8,
    #[field(min = 0.5)]
    share: Option<f64>,
    #[field(max_items = 2, each_max = 3)]
    hashes: Vec<String>,
    #[field(default, each_one_of = &["x", "y"])]
    tags: Vec<String>,
    #[schema(value_type = Option<Object>)]
    config: Option<Map<String, Value>>,
    #[field(name = "value")]
    #[schema(rename = "value", value_type = Option<Object>)]
    anything: Option<Value>,
    #[field(with = even(10))]
    count: Option<i64>,
    #[field(flatten)]
    #[schema(ignore)]
    tail: Tail,
}

#[derive(Debug, FromBody)]
#[expect(dead_code, reason = "shown by `Debug`")]
struct Tail {
    #[field(string, given, map = is_long)]
    long_text: Option<bool>,
    #[field(skip)]
    seen: u32,
}

fn is_long(text: &str) -> bool {
    text.len() > 3
}

fn has_priority(value: &Derived, f: &mut Fields<'_>) {
    if value.mood == Mood::Calm && value.priority == 0 {
        f.broken("calm needs a priority");
    }
}

/// The same by hand.
#[derive(ToSchema)]
#[schema(value_type = Object)]
struct Written(Derived);

fn cleared<T>(value: Option<T>, is_null: bool) -> Option<Option<T>> {
    if is_null { Some(None) } else { value.map(Some) }
}

impl FromBody for Written {
    const OPTIONAL: bool = true;

    fn from_body(f: &mut Fields<'_>) -> Self {
        let user_name = f.string("userName").required().not_empty().max(8);
        let mood = |text: Option<String>| text.as_deref().and_then(Mood::from_name);
        let value = Derived {
            user_name: user_name.check(is_line, "must be one line").get(),
            nick: f.string("nick").trim().len(1, 4).optional(),
            password: Secret::new(f.string("password").required().min(2).get()),
            api_key: cleared(
                f.string("apiKey").max(5).optional().as_deref().and_then(own),
                f.is_null("apiKey"),
            ),
            note: cleared(f.string("note").max(3).optional(), f.is_null("note")),
            mail: f.string("mail").email().optional(),
            role: f
                .string("role")
                .one_of(&["a", "b"])
                .optional()
                .unwrap_or_default(),
            mood: mood(Some(f.string("mood").required().one_of(Mood::NAMES).get())).unwrap_or(Mood::Calm),
            other_mood: mood(f.string("otherMood").one_of(Mood::NAMES).optional()).unwrap_or(Mood::Loud),
            is_active: f.boolean("isActive").required().get(),
            is_enabled: f.boolean("isEnabled").or(true),
            is_loud: f.boolean("isLoud").optional(),
            port: f
                .integer("port")
                .min(1)
                .max(65_535)
                .optional()
                .map(|port| port as u16),
            size: f.integer("size").required().min(0).get().unsigned_abs(),
            priority: f.integer("priority").min(-5).max(5).or(2),
            level: f.integer("level").required().one_of(&[0, 1, 2]).get() as u8,
            share: f.number("share").min(0.5).optional(),
            hashes: f.strings("hashes").required().max_items(2).each_max(3).get(),
            tags: f
                .strings("tags")
                .each_one_of(&["x", "y"])
                .optional()
                .unwrap_or_default(),
            config: f.object("config").optional(),
            anything: f.any("value").optional(),
            count: even(f, "count", 10),
            tail: Tail {
                long_text: f.string("longText").given().optional().as_deref().map(is_long),
                seen: 0,
            },
        };
        has_priority(&value, f);
        Self(value)
    }
}

/// The value in full, or what the error says.
async fn read<T: FromBody>(body: &str, show: impl FnOnce(T) -> Derived) -> String {
    let request = Request::post("/").header("content-type", "application/json");
    let request = request.body(body.to_owned().into()).unwrap();
    match Body::<T>::from_request(request, &()).await {
        Ok(Body(value)) => {
            let value = show(value);
            let key = value.api_key.as_ref().map(|key| key.as_ref().map(Secret::expose));
            format!("{value:?} {} {key:?}", value.password.expose())
        }
        Err(error) => format!("{error:?}"),
    }
}

#[tokio::test]
async fn a_derived_reader_answers_as_one_by_hand() {
    let good = json!({
        "userName": "jo", "password": "abc", "mood": "loud", "isActive": true, "size": 5, "level": "1",
        "hashes": ["abc"],
    });
    let ok = read::<Derived>(&good.to_string(), |value| value).await;
    assert!(ok.starts_with("Derived {") && ok.contains("mood: Loud"), "{ok}");
    let values = [
        json!(null),
        json!(""),
        json!("a"),
        json!(" b "),
        json!("  four  "),
        json!("   "),
        json!("calm"),
        json!("•••"),
        json!("a line\nand one more"),
        json!("jo@example.org"),
        json!(0),
        json!(3),
        json!(70_000),
        json!(-1),
        json!(0.25),
        json!(true),
        json!([]),
        json!(["x", "y", "long"]),
        json!({ "a": 1 }),
    ];
    let names = [
        "userName",
        "nick",
        "password",
        "apiKey",
        "note",
        "mail",
        "role",
        "mood",
        "otherMood",
        "isActive",
        "isEnabled",
        "isLoud",
        "port",
        "size",
        "priority",
        "level",
        "share",
        "hashes",
        "tags",
        "config",
        "value",
        "count",
        "longText",
        "seen",
        "anything",
    ];
    let mut bodies = vec!["{}".to_owned(), String::new(), good.to_string()];
    for name in names {
        for value in &values {
            let mut body = good.clone();
            body[name] = value.clone();
            bodies.push(body.to_string());
        }
        let mut body = good.clone();
        body.as_object_mut().unwrap().remove(name);
        bodies.push(body.to_string());
    }
    // Every property is wrong: the order of the texts.
    let all = names.iter().map(|name| ((*name).to_owned(), json!({})));
    bodies.push(Value::Object(all.collect()).to_string());
    bodies.push(json!({ "mood": "calm", "priority": 0 }).to_string());
    for body in bodies {
        let derived = read::<Derived>(&body, |value| value).await;
        let written = read::<Written>(&body, |Written(value)| value).await;
        assert_eq!(derived, written, "{body}");
    }
}

#[utoipa::path(post, path = "/api/thing", request_body = Body<Derived>, responses((status = 201)))]
async fn derived(Body(_): Body<Derived>) -> Created<()> {
    Created(())
}

#[utoipa::path(post, path = "/api/thing", request_body = Body<Written>, responses((status = 201)))]
async fn written(Body(_): Body<Written>) -> Created<()> {
    Created(())
}

fn described(routes: Routes) -> Value {
    serde_json::to_value(describe(&WebConfig::default(), &routes)).unwrap()
}

#[test]
fn a_derived_reader_is_declared_as_one_by_hand() {
    let derived = described(Routes::new().add(routes!(derived).public()));
    let written = described(Routes::new().add(routes!(written).public()));
    let (derived, written) = (
        &derived["components"]["schemas"]["Derived"],
        &written["components"]["schemas"]["Written"],
    );
    assert_eq!(derived["required"], written["required"]);
    let properties = |schema: &Value| schema["properties"].as_object().cloned().unwrap();
    let (mut derived, written) = (properties(derived), properties(written));
    // Only the declaration tells the shape of any value.
    derived["value"] = written["value"].clone();
    assert_eq!(Value::from(derived), Value::from(written));
}

#[derive(Debug, FromQuery)]
struct Listing {
    #[field(page(10, 50))]
    page: PageQuery,
    #[field(given, max = 3, about = "Part of a name.")]
    search: Option<String>,
    #[field(strings)]
    ids: Option<Vec<String>>,
}

#[derive(FromQuery)]
struct Lone(#[field(page = 20)] PageQuery);

async fn query<T: FromQuery>(query: &str) -> Result<T, String> {
    let request = Request::get(format!("/?{query}")).body(()).unwrap();
    let read = Params::<T>::from_request_parts(&mut request.into_parts().0, &()).await;
    read.map(|Params(value)| value)
        .map_err(|error| format!("{error:?}"))
}

#[tokio::test]
async fn queries_are_read_alike() {
    let read = query::<Listing>("page=2&search=&ids=a,b").await.unwrap();
    assert_eq!((read.page.page, read.page.page_size), (2, 10));
    assert_eq!(read.search, None);
    assert_eq!(read.ids, Some(vec!["a".to_owned(), "b".to_owned()]));
    let error = query::<Listing>("search=abcd&more=1").await.unwrap_err();
    assert!(
        error.contains("property more should not exist")
            && error.contains("search must be shorter than or equal to 3 characters"),
        "{error}"
    );
    let Lone(page) = query("pageSize=100").await.unwrap();
    assert_eq!(page.page_size, 20);
}
