//! Paging of lists: `page` from 1, `pageSize` clamped, never an error.

use serde::Serialize;

/// A page of a list as every paged route answers it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Items over all pages.
    pub total: u64,
    /// The page used, from 1.
    pub page: u64,
    /// The page size used, after clamping.
    pub page_size: u64,
}

/// The page a caller asked for, clamped to what the route allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageQuery {
    pub page: u64,
    pub page_size: u64,
}

impl PageQuery {
    pub const DEFAULT_SIZE: u64 = 50;

    /// Reads the two query texts: anything below 1 or not a number is 1 (page) or the default (size);
    /// `pageSize` is clamped to 1..=`max`.
    pub fn parse(page: Option<&str>, page_size: Option<&str>, max: u64) -> Self {
        let number = |text: Option<&str>| text.and_then(|t| t.trim().parse::<i64>().ok());
        let page = number(page).map_or(1, |n| n.clamp(1, i64::from(i32::MAX)) as u64);
        let page_size =
            number(page_size).map_or(Self::DEFAULT_SIZE.min(max), |n| n.clamp(1, max as i64) as u64);
        Self { page, page_size }
    }

    pub const fn offset(self) -> u64 {
        (self.page - 1) * self.page_size
    }
}
