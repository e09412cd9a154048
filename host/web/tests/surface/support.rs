//! A server with one route of each kind, a stopped clock, and a client that sees every byte.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use qm_kernel::context::{Clock, Rng};
use qm_kernel::{
    Ctx, ErrorKind, Permission, PermissionSet, Principal, Role, Timestamp, TokenError, TokenVerifier,
};
use qm_web::{
    ApiError, ApiResult, Auth, Body, Client, ConnectionLimits, Created, Fields, FromBody, FromQuery, HungUp,
    Json, Params, Path, Prepared, Routes, Upload, WebConfig, describe, finish, routes, serve,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use utoipa::ToSchema;

pub const START: i64 = 1_900_000_000_000;
const DEADLINE: Duration = Duration::from_mins(1);

#[derive(Clone)]
pub struct Frozen(Arc<AtomicI64>);

impl Frozen {
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as i64, Ordering::Relaxed);
    }
}

impl Clock for Frozen {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::Relaxed))
    }
}

struct Counting(AtomicI64);

impl Rng for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        let number = self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let length = bytes.len();
        bytes.copy_from_slice(&number[..length]);
    }
}

/// `viewer`, `adder`, `nobody` and `root` are valid tokens; `refresh` is one of another type.
struct Tokens;

impl TokenVerifier for Tokens {
    fn verify(&self, token: &str) -> Result<Principal, TokenError> {
        let (roles, permissions): (&[Role], &[Permission]) = match token {
            "viewer" => (&[], &[Permission::TorrentsView]),
            "adder" => (&[], &[Permission::TorrentsView, Permission::TorrentsAdd]),
            "nobody" => (&[], &[]),
            "root" => (&[Role::SuperAdmin], &[]),
            "refresh" => return Err(TokenError::WrongType),
            _ => return Err(TokenError::Unauthorized),
        };
        Ok(Principal {
            user_id: token.into(),
            username: token.into(),
            roles: roles.to_vec(),
            permissions: permissions
                .iter()
                .copied()
                .fold(PermissionSet::empty(), PermissionSet::with),
            expires_at: Timestamp::from_ms(START).plus(Duration::from_mins(15)),
        })
    }
}

#[derive(Serialize, ToSchema)]
pub struct Account {
    username: String,
    password: String,
    totp: Option<String>,
    age: Option<i64>,
    share: Option<f64>,
    active: Option<bool>,
    role: Option<String>,
    mail: Option<String>,
    tags: Option<Vec<String>>,
    config: Option<Map<String, Value>>,
    value: Option<Value>,
}

impl FromBody for Account {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            username: f.string("username").required().max(8).get(),
            password: f.string("password").required().len(2, 8).get(),
            totp: f.string("totp").max(4).optional(),
            age: f.integer("age").min(0).max(99).optional(),
            share: f.number("share").min(0.0).optional(),
            active: f.boolean("active").optional(),
            role: f.string("role").one_of(&["a", "b"]).optional(),
            mail: f.string("mail").email().optional(),
            tags: f.strings("tags").max_items(3).each_max(5).optional(),
            config: f.object("config").optional(),
            value: f.any("value").optional(),
        }
    }
}

/// One required property of each kind.
#[derive(Serialize, ToSchema)]
pub struct Strict {
    hashes: Vec<String>,
    index: i64,
    flag: bool,
    config: Map<String, Value>,
    value: Value,
}

impl FromBody for Strict {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            hashes: f.strings("hashes").required().get(),
            index: f.integer("index").required().min(0).get(),
            flag: f.boolean("flag").required().get(),
            config: f.object("config").required().get(),
            value: f.any("value").required().get(),
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct Loose(Map<String, Value>);

impl FromBody for Loose {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self(f.all())
    }
}

#[derive(Serialize, ToSchema)]
pub struct Listing {
    page: u64,
    page_size: u64,
    search: Option<String>,
    limit: Option<i64>,
}

impl FromQuery for Listing {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let page = f.page(500);
        Self {
            page: page.page,
            page_size: page.page_size,
            search: f.string("search").max(10).optional(),
            limit: f.integer("limit").min(1).optional(),
        }
    }
}

#[utoipa::path(post, path = "/api/account", tag = "test", request_body = Body<Account>, responses((status = 201, body = Account)))]
async fn create_account(Body(account): Body<Account>) -> Created<Account> {
    Created(account)
}

#[utoipa::path(post, path = "/api/strict", tag = "test", request_body = Body<Strict>, responses((status = 201, body = Strict)))]
async fn create_strict(Auth(_caller): Auth, Body(strict): Body<Strict>) -> Created<Strict> {
    Created(strict)
}

/// The same as an account, for callers with a token.
#[utoipa::path(post, path = "/api/large", tag = "test", request_body = Body<Account>, responses((status = 201, body = Account)))]
async fn create_large(Body(account): Body<Account>) -> Created<Account> {
    Created(account)
}

#[utoipa::path(patch, path = "/api/loose", tag = "test", request_body = Body<Loose>, responses((status = 200, body = Loose)))]
async fn update_loose(Body(loose): Body<Loose>) -> Json<Loose> {
    Json(loose)
}

/// Uploads something.
#[utoipa::path(post, path = "/api/upload", tag = "test", request_body(content = Upload<Account>, content_type = "multipart/form-data"), responses((status = 201, body = Account)))]
async fn upload(upload: Upload<Account>) -> Created<Value> {
    let file = upload
        .file
        .map(|file| json!({ "name": file.name, "size": file.bytes.len() }));
    Created(json!({ "fields": upload.fields, "file": file }))
}

#[utoipa::path(get, path = "/api/things", tag = "test", params(("search" = Option<String>, Query, description = "Part of a name."), Params::<Listing>), responses((status = 200, body = Listing)))]
async fn list_things(Params(listing): Params<Listing>) -> Json<Listing> {
    Json(listing)
}

#[utoipa::path(get, path = "/api/things/{id}", tag = "test", params(("id" = String, Path)), responses((status = 200), (status = 502, description = "The engine is gone.")))]
async fn get_thing(Path(id): Path<String>, Auth(caller): Auth) -> Json<Value> {
    Json(json!({ "id": id, "caller": &*caller.username }))
}

#[utoipa::path(delete, path = "/api/things/{id}", tag = "test", params(("id" = String, Path)), responses((status = 200)))]
async fn delete_thing(Path(id): Path<String>) -> Json<Value> {
    Json(json!({ "gone": id }))
}

#[utoipa::path(get, path = "/api/client", tag = "test", responses((status = 200)))]
async fn show_client(Client(client): Client) -> Json<Value> {
    Json(json!({
        "ip": client.ip, "forwarded": client.forwarded, "userAgent": client.user_agent, "id": client.request_id,
    }))
}

#[utoipa::path(get, path = "/api/prepared", tag = "test", responses((status = 200)))]
async fn show_prepared() -> Prepared {
    Prepared {
        body: Bytes::from_static(b"{\"prepared\":true}"),
        etag: HeaderValue::from_static("W/\"own-1\""),
        headers: vec![(
            HeaderName::from_static("x-snapshot-at"),
            HeaderValue::from_static("now"),
        )],
    }
}

#[utoipa::path(get, path = "/api/failing/{how}", tag = "test", params(("how" = String, Path)), responses((status = 200)))]
async fn fail(Path(how): Path<String>) -> ApiResult<Json<Value>> {
    match how.as_str() {
        "panic" => panic!("a secret text"),
        "internal" => Err(ApiError::new(ErrorKind::Internal, "a secret text").with_source("a secret cause")),
        "upstream" => {
            Err(ApiError::new(ErrorKind::Upstream, "Engine `a` cannot be reached").with_source("refused"))
        }
        "timeout" => Err(ApiError::new(
            ErrorKind::UpstreamTimeout,
            "Engine `a` did not answer",
        )),
        "conflict" => Err(ApiError::new(ErrorKind::Conflict, "It exists").with_code("conflict.thing")),
        "bare" => Err(ApiError::bare(401)),
        "custom" => Err(ApiError::custom(
            ErrorKind::Unauthorized,
            json!({ "statusCode": 401, "error": "TwoFactorRequired", "message": "Two", "twoFactorRequired": true }),
        )),
        _ => Err(ApiError::new(ErrorKind::NotFound, "No such failure")),
    }
}

#[utoipa::path(get, path = "/api/limited", tag = "test", responses((status = 200)))]
async fn limited() -> Json<bool> {
    Json(true)
}

#[utoipa::path(get, path = "/api/unlimited", tag = "test", responses((status = 200)))]
async fn unlimited() -> Json<bool> {
    Json(true)
}

#[utoipa::path(get, path = "/api/framework", tag = "test", responses((status = 200)))]
async fn framework_error() -> (http::StatusCode, &'static str) {
    (
        http::StatusCode::UNPROCESSABLE_ENTITY,
        "plain text of the framework",
    )
}

/// First step of a change in two steps, between which a caller may hang up.
pub static FIRST_STEP: Notify = Notify::const_new();
pub static GO_ON: Notify = Notify::const_new();
pub static SECOND_STEP: Notify = Notify::const_new();
/// Notified when the handler has seen the hang-up.
pub static HEARD: Notify = Notify::const_new();

#[utoipa::path(post, path = "/api/steps", tag = "test", responses((status = 201)))]
async fn change_in_steps(hung_up: HungUp) -> Created<bool> {
    FIRST_STEP.notify_one();
    GO_ON.notified().await;
    SECOND_STEP.notify_one();
    // A late request for the token fires at once.
    hung_up.0.cancelled().await;
    HEARD.notify_one();
    Created(true)
}

fn all_routes() -> Routes {
    Routes::new()
        .add(routes!(change_in_steps).public())
        .add(routes!(create_account).public())
        .add(routes!(create_strict).need_all(&[Permission::TorrentsView, Permission::TorrentsAdd]))
        .add(routes!(update_loose).public())
        .add(routes!(create_large).authenticated())
        .add(routes!(upload).authenticated().body(25 * 1024 * 1024))
        .add(routes!(list_things).public())
        .add(routes!(get_thing).authenticated())
        .add(routes!(delete_thing).need(Permission::TorrentsView))
        .add(routes!(show_client).public())
        .add(routes!(show_prepared).public())
        .add(routes!(fail).public())
        .add(routes!(limited).public().limit(3))
        .add(routes!(unlimited).ticketed("pass").unlimited())
        .add(routes!(framework_error).public())
}

pub struct Server {
    pub address: SocketAddr,
    pub clock: Frozen,
    pub api: utoipa::openapi::OpenApi,
}

/// Switches protocols and then stays silent.
async fn upgrade(request: axum::extract::Request) -> axum::response::Response {
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        let mut stream = hyper_util::rt::TokioIo::new(upgrade.await.unwrap());
        let mut scrap = [0; 16];
        while matches!(stream.read(&mut scrap).await, Ok(1..)) {}
    });
    let switching = http::Response::builder().status(101);
    let switching = switching
        .header("connection", "upgrade")
        .header("upgrade", "silence");
    switching.body(axum::body::Body::empty()).unwrap()
}

pub async fn start(config: WebConfig) -> Server {
    start_within(config, ConnectionLimits::default()).await
}

pub async fn start_within(config: WebConfig, limits: ConnectionLimits) -> Server {
    let clock = Frozen(Arc::new(AtomicI64::new(START)));
    let ctx = Ctx::new(Arc::new(clock.clone()), Arc::new(Counting(AtomicI64::new(1))));
    let silent = axum::Router::new().route("/silence", axum::routing::get(upgrade));
    let api = describe(&config, &all_routes());
    let router = finish(all_routes().mount(silent), config, Arc::new(Tokens), ctx);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, router, limits, std::future::pending()));
    Server { address, clock, api }
}

pub async fn server() -> Server {
    start(WebConfig {
        throttle_limit: 10_000,
        ..WebConfig::default()
    })
    .await
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    /// All values of a header, joined as HTTP allows.
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self
            .headers
            .iter()
            .filter(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer but {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        Self {
            status,
            headers: headers.collect(),
            body: body.to_owned(),
        }
    }
}

impl Server {
    pub async fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let read = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut answer));
        read.await.expect("the server answers in time").unwrap();
        Answer::parse(&answer)
    }

    pub async fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.address
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        head += "\r\n";
        self.send(&[head.as_bytes(), body].concat()).await
    }

    pub async fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, &[], b"").await
    }

    pub async fn get_as(&self, token: &str, target: &str) -> Answer {
        self.ask(
            "GET",
            target,
            &[("Authorization", &format!("Bearer {token}"))],
            b"",
        )
        .await
    }

    /// Posts JSON with a token.
    pub async fn post_as(&self, token: &str, target: &str, body: &str) -> Answer {
        let token = format!("Bearer {token}");
        let headers = [("Content-Type", "application/json"), ("Authorization", &token)];
        self.ask("POST", target, &headers, body.as_bytes()).await
    }

    pub async fn post(&self, target: &str, body: &str) -> Answer {
        self.ask(
            "POST",
            target,
            &[("Content-Type", "application/json")],
            body.as_bytes(),
        )
        .await
    }
}
