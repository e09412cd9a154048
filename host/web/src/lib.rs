//! The HTTP surface: guarded route lines, extractors, error bodies, throttle, headers, the OpenAPI document.
//!
//! Order on a request: id and span → security and CORS headers → doorkeeper (503 `standby`) → throttle (429) → bearer token (401) →
//! permission (403) → body and query (400) → handler. Owns no domain rule and no database.
//!
//! ```
//! use qm_kernel::Permission;
//! use qm_web::{ApiResult, Auth, Body, Created, FromBody, Json, Routes, routes};
//! # use serde::Serialize;
//! # use utoipa::ToSchema;
//! # #[derive(Clone)] struct Shelf;
//! #[derive(ToSchema, FromBody)]
//! struct NewTag {
//!     #[field(max = 80)]
//!     name: String,
//!     color: Option<String>,
//! }
//!
//! #[derive(Serialize, ToSchema)]
//! struct Tag { name: String }
//!
//! /// Creates a tag.
//! #[utoipa::path(post, path = "/api/tags", tag = "taxonomy", request_body = Body<NewTag>, responses((status = 201, body = Tag)))]
//! async fn create_tag(Auth(caller): Auth, Body(tag): Body<NewTag>) -> ApiResult<Created<Tag>> {
//!     tracing::debug!(user = %caller.username, color = tag.color, "a new tag");
//!     Ok(Created(Tag { name: tag.name }))
//! }
//!
//! /// Lists the tags.
//! #[utoipa::path(get, path = "/api/tags", tag = "taxonomy", responses((status = 200, body = Vec<Tag>)))]
//! async fn list_tags() -> Json<Vec<Tag>> {
//!     Json(Vec::new())
//! }
//!
//! fn taxonomy_routes() -> Routes {
//!     Routes::new()
//!         .add(routes!(list_tags).need(Permission::TorrentsView))
//!         .add(routes!(create_tag).need(Permission::TagsManage).limit(30))
//!         .with_state(Shelf)
//! }
//! # assert!(std::panic::catch_unwind(taxonomy_routes).is_ok());
//! ```

mod body;
mod client;
mod config;
mod disposition;
mod docs;
mod edge;
mod error;
mod etag;
mod fields;
mod guard;
mod headers;
mod lanes;
mod listen;
mod metrics;
mod openapi;
mod reply;
mod routes;
mod serve;
mod silence;
mod surface;
mod throttle;
mod tokens;
mod upload;

pub use body::{Body, Params, Path};
pub use client::{Client, HungUp, Origin, Peer, RequestId};
pub use config::{Docs, DocumentMaker, Doorkeeper, WebConfig};
pub use disposition::disposition;
pub use error::{ApiError, ApiResult};
pub use fields::{
    AnyField, Fields, FlagField, FloatField, FromBody, FromQuery, IntegerField, ListField, ObjectField, Rows,
    TextField, is_printable,
};
pub use guard::{Auth, By};
pub use lanes::{lane_code, lane_kind};
pub use listen::listen;
pub use openapi::{describe, document, refusals};
/// The derives of the traits of the same names.
pub use qm_web_derive::{FromBody, FromQuery};
pub use reply::{Created, Framable, Json, Prepared};
pub use routes::{Access, Answering, Described, GuardedLine, Line, Routes};
pub use serve::{ConnectionLimits, serve};
pub use surface::finish;
pub use upload::{Upload, UploadedFile};

/// The macros of [`routes!`] and [`faults!`] need them by a path that every crate has.
#[doc(hidden)]
pub use {utoipa, utoipa_axum};
