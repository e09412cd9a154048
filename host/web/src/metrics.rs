//! Metrics of requests, in the server's registry.
//!
//! Labels are route patterns, never paths: an unknown path is `unmatched`, the realtime channel `mounted`. A
//! request costs one lookup by its pattern and some atomic additions; a label is created once, at its first
//! use. The time of a request ends with the head of its answer.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use http::{Method, StatusCode};
use prometheus::core::Collector;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
};

/// Upper bounds in seconds: a list from memory, a write to disk, a fast client, a slow one.
const BUCKETS: [f64; 8] = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0];

/// Frequent statuses with direct counters, in order; others are looked up.
const STATUSES: [u16; 19] = [
    101, 200, 201, 204, 206, 304, 400, 401, 403, 404, 409, 413, 416, 429, 500, 501, 502, 503, 504,
];

const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other",
];

const UNMATCHED: usize = 0;
const MOUNTED: usize = 1;

pub(crate) struct HttpMetrics {
    requests: IntCounterVec,
    seconds: HistogramVec,
    in_flight: IntGauge,
    throttled: IntCounter,
    routes: Vec<Route>,
    numbers: HashMap<Box<str>, usize>,
}

struct Route {
    label: Box<str>,
    methods: [OnceLock<Box<Counts>>; METHODS.len()],
}

/// Counters of one route and method.
struct Counts {
    seconds: Histogram,
    statuses: [OnceLock<IntCounter>; STATUSES.len()],
}

impl HttpMetrics {
    /// `patterns` are those of all lines.
    pub(crate) fn new<'a>(
        registry: &Registry,
        patterns: impl Iterator<Item = &'a str>,
    ) -> Result<Self, prometheus::Error> {
        let requests = Opts::new("quartermaster_http_requests_total", "Requests answered.");
        let seconds = HistogramOpts::new(
            "quartermaster_http_request_seconds",
            "Seconds from a request's head to the head of its answer.",
        );
        let mut metrics = Self {
            requests: IntCounterVec::new(requests, &["method", "route", "status"])?,
            seconds: HistogramVec::new(seconds.buckets(BUCKETS.to_vec()), &["method", "route"])?,
            in_flight: IntGauge::new("quartermaster_http_in_flight", "Requests being answered.")?,
            throttled: IntCounter::new(
                "quartermaster_http_throttled_total",
                "Requests refused because their caller made too many.",
            )?,
            routes: vec![Route::new("unmatched"), Route::new("mounted")],
            numbers: HashMap::new(),
        };
        for pattern in patterns {
            metrics.numbers.insert(pattern.into(), metrics.routes.len());
            metrics.routes.push(Route::new(pattern));
        }
        let collectors: [Box<dyn Collector>; 4] = [
            Box::new(metrics.requests.clone()),
            Box::new(metrics.seconds.clone()),
            Box::new(metrics.in_flight.clone()),
            Box::new(metrics.throttled.clone()),
        ];
        for collector in collectors {
            registry.register(collector)?;
        }
        Ok(metrics)
    }

    pub(crate) fn throttled(&self) -> &IntCounter {
        &self.throttled
    }

    /// Begins a request; `pattern` is that of its route.
    pub(crate) fn begin(self: &Arc<Self>, method: &Method, pattern: Option<&str>) -> Running {
        self.in_flight.inc();
        Running {
            route: pattern.map_or(UNMATCHED, |pattern| {
                self.numbers.get(pattern).copied().unwrap_or(MOUNTED)
            }),
            method: method_number(method),
            begun: Instant::now(),
            metrics: Arc::clone(self),
        }
    }
}

impl Route {
    fn new(label: &str) -> Self {
        Self {
            label: label.into(),
            methods: Default::default(),
        }
    }
}

fn method_number(method: &Method) -> usize {
    match *method {
        Method::GET => 0,
        Method::HEAD => 1,
        Method::POST => 2,
        Method::PUT => 3,
        Method::PATCH => 4,
        Method::DELETE => 5,
        Method::OPTIONS => 6,
        _ => 7,
    }
}

/// A request in progress. Dropped without an answer (the caller hung up) it is no longer in flight.
pub(crate) struct Running {
    metrics: Arc<HttpMetrics>,
    route: usize,
    method: usize,
    begun: Instant,
}

impl Running {
    /// Ends the request; returns its duration in seconds.
    pub(crate) fn end(self, status: StatusCode) -> f64 {
        let seconds = self.begun.elapsed().as_secs_f64();
        let (metrics, method) = (&self.metrics, METHODS[self.method]);
        let route = &metrics.routes[self.route];
        let counts = route.methods[self.method].get_or_init(|| {
            Box::new(Counts {
                seconds: metrics.seconds.with_label_values(&[method, &route.label]),
                statuses: Default::default(),
            })
        });
        counts.seconds.observe(seconds);
        let labelled = || {
            let labels = [method, &route.label, status.as_str()];
            metrics.requests.with_label_values(&labels)
        };
        match STATUSES.binary_search(&status.as_u16()) {
            Ok(place) => counts.statuses[place].get_or_init(labelled).inc(),
            Err(_) => labelled().inc(),
        }
        seconds
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.metrics.in_flight.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(registry: &Registry) -> String {
        prometheus::TextEncoder::new()
            .encode_to_string(&registry.gather())
            .unwrap()
    }

    #[test]
    fn requests_are_counted_by_pattern_and_the_unknown_together() {
        let registry = Registry::new();
        let metrics = Arc::new(HttpMetrics::new(&registry, ["/api/things/{id}"].into_iter()).unwrap());
        for (method, pattern, status) in [
            (Method::GET, Some("/api/things/{id}"), 200),
            (Method::GET, Some("/api/things/{id}"), 200),
            (Method::DELETE, Some("/api/things/{id}"), 418),
            (Method::GET, Some("/ws/"), 101),
            (Method::from_bytes(b"BREW").unwrap(), None, 404),
            (Method::from_bytes(b"STIR").unwrap(), None, 404),
        ] {
            let running = metrics.begin(&method, pattern);
            assert_eq!(metrics.in_flight.get(), 1);
            running.end(StatusCode::from_u16(status).unwrap());
        }
        drop(metrics.begin(&Method::GET, None));
        assert_eq!(metrics.in_flight.get(), 0);
        let text = text(&registry);
        for line in [
            r#"quartermaster_http_requests_total{method="GET",route="/api/things/{id}",status="200"} 2"#,
            r#"quartermaster_http_requests_total{method="DELETE",route="/api/things/{id}",status="418"} 1"#,
            r#"quartermaster_http_requests_total{method="GET",route="mounted",status="101"} 1"#,
            r#"quartermaster_http_requests_total{method="other",route="unmatched",status="404"} 2"#,
            r#"quartermaster_http_request_seconds_count{method="GET",route="/api/things/{id}"} 2"#,
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn the_known_statuses_are_in_order() {
        assert!(STATUSES.is_sorted());
        assert!(BUCKETS.is_sorted());
    }
}
