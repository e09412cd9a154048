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
        Self::parse_or(page, page_size, Self::DEFAULT_SIZE, max)
    }

    /// The same for a list whose pages have another size unless told otherwise.
    pub fn parse_or(page: Option<&str>, page_size: Option<&str>, default: u64, max: u64) -> Self {
        // Any number counts, also one that no integer holds: casts of floats end at the integer's bounds.
        let number = |text: Option<&str>| {
            let number = text?.trim().parse::<f64>().ok()?;
            number.is_finite().then_some(number as i64)
        };
        let page = number(page).map_or(1, |n| n.clamp(1, i64::from(i32::MAX)) as u64);
        let page_size = number(page_size).map_or(default.min(max), |n| n.clamp(1, max as i64) as u64);
        Self { page, page_size }
    }

    pub const fn offset(self) -> u64 {
        (self.page - 1) * self.page_size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_may_have_pages_of_another_size() {
        for (size, expected) in [(None, 25), (Some("many"), 25), (Some("0"), 1), (Some("500"), 100)] {
            assert_eq!(
                PageQuery::parse_or(None, size, 25, 100).page_size,
                expected,
                "{size:?}"
            );
        }
        assert_eq!(PageQuery::parse_or(None, None, 25, 10).page_size, 10);
    }

    #[test]
    fn every_number_is_clamped_and_everything_else_is_the_default() {
        for (page, size, expected) in [
            (None, None, (1, 50)),
            (Some("3"), Some("20"), (3, 20)),
            (Some("0"), Some("0"), (1, 1)),
            (Some("-7"), Some("-7"), (1, 1)),
            (Some("2.9"), Some("1.9"), (2, 1)),
            (Some("1e3"), Some("1e2"), (1000, 100)),
            (
                Some("99999999999999999999"),
                Some("99999999999999999999"),
                (2_147_483_647, 200),
            ),
            (Some("1e400"), Some("1e400"), (1, 50)),
            (Some("NaN"), Some("Infinity"), (1, 50)),
            (Some(""), Some("many"), (1, 50)),
        ] {
            let query = PageQuery::parse(page, size, 200);
            assert_eq!((query.page, query.page_size), expected, "{page:?} {size:?}");
        }
    }
}
