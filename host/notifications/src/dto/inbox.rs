//! Queries and answers about inboxes.

use qm_kernel::{PageQuery, Timestamp};
use qm_web::{Fields, FromQuery};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::inbox::{Item, MAX_SEARCH, Shelf, Wanted};
use crate::model::presentation::Presentation;

const PAGE: u64 = 25;
const MAX_PAGE: u64 = 100;

/// A notification.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Notification)]
pub struct ItemView {
    pub id: String,
    pub event_key: String,
    pub category: String,
    pub severity: String,
    pub title: String,
    /// Always null.
    pub body: Option<String>,
    /// Where clients show more of it, e.g. `/torrents`.
    pub deep_link: Option<String>,
    pub resource_type: Option<String>,
    pub resource_id: Option<String>,
    pub read: bool,
    pub archived: bool,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The same as a card; null where there is only the title.
    pub presentation: Option<Presentation>,
}

impl From<Item> for ItemView {
    fn from(item: Item) -> Self {
        Self {
            id: item.id,
            event_key: item.event_key,
            category: item.category,
            severity: item.severity,
            title: item.title,
            body: None,
            deep_link: item.deep_link,
            resource_type: item.resource_type,
            resource_id: item.resource_id,
            read: item.is_read,
            archived: item.is_archived,
            created_at: item.created_at,
            presentation: item.presentation,
        }
    }
}

/// A page of an inbox.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationPage)]
pub struct InboxPage {
    /// The newest first.
    pub items: Vec<ItemView>,
    /// Over all pages.
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
}

/// Number of unread, unarchived notifications.
#[derive(Serialize, ToSchema)]
#[schema(as = NotificationsUnread)]
pub struct UnreadView {
    pub unread: u64,
}

/// Number of marked notifications.
#[derive(Serialize, ToSchema)]
#[schema(as = NotificationsMarked)]
pub struct MarkedView {
    pub updated: u64,
}

/// Filter and page of an inbox.
pub struct InboxQuery {
    pub page: PageQuery,
    pub wanted: Wanted,
}

impl FromQuery for InboxQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let state = f
            .string("state")
            .about("`unread`, `read` or `archived`; anything else: all that is not archived.")
            .optional();
        let search = f
            .string("search")
            .about("A part of the title.")
            .max(MAX_SEARCH)
            .optional();
        let search = search.map(|text| text.trim().to_owned());
        Self {
            page: f.page_or(PAGE, MAX_PAGE),
            wanted: Wanted {
                shelf: state.as_deref().map(Shelf::named).unwrap_or_default(),
                category: f.string("category").given().optional(),
                search: search.filter(|text| !text.is_empty()),
            },
        }
    }
}
