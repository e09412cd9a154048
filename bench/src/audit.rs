//! Audit list with 1,000,000 rows on both databases: the first page, one from the middle, the last, filtered
//! ones, and the query plans.

use std::time::Instant;

use qm_db::testing::Scratch;
use qm_db::{Backend, Db, STATEMENTS, Statement, all, exec, sql};
use qm_testkit::http::Http;

use crate::http_load;
use crate::report::Report;
use crate::server::Server;

const ROWS: u32 = 1_000_000;

sql! {
    /// A second apart, the last ones a day ago; half of them by a user; one action in ten is rare.
    FILL = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000000) \
        INSERT INTO audit_logs (id, user_id, action, object_type, object_id, result, ip_address, user_agent, metadata, created_at) \
        SELECT 'row-' || n, CASE WHEN n % 2 = 0 THEN (SELECT id FROM users LIMIT 1) END, \
        CASE WHEN n % 1000 = 0 THEN 'engines.update' WHEN n % 3 = 0 THEN 'auth.login' ELSE 'torrents.start' END, \
        'torrent', 'object-' || n, 'success', '198.51.100.7', 'Mozilla/5.0 (X11; Linux x86_64)', '{\"name\":\"Some.Show.S01E02\"}', \
        $1 + n * 1000 FROM numbers";
    ANALYZE_ROWS = "ANALYZE";
}

pub async fn measure(report: &mut Report) {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        match Scratch::new(backend).await {
            Some(scratch) => {
                measure_backend(report, backend, &scratch).await;
                scratch.remove().await;
            }
            None => report.add(
                format!("audit list, {backend:?}"),
                "no such server on this machine",
                "",
            ),
        }
    }
}

async fn measure_backend(report: &mut Report, backend: Backend, scratch: &Scratch) {
    let server = Server::start_on(scratch.url()).await;
    let db = Db::open(scratch.url()).await.expect("the database is open to us");
    fill(&db).await;
    let begin = Instant::now();
    let url = server.url("/api/audit");
    let authorization = format!("Bearer {}", server.token());
    let first = Http::new()
        .request("GET", &url)
        .header("authorization", &authorization)
        .send()
        .await;
    let first = first.expect("the server answers");
    let took = begin.elapsed().as_secs_f64() * 1000.0;
    let total = first.json()["total"].as_u64().unwrap_or(0);
    report.add(
        format!("audit list of {total} rows, {backend:?}: the very first request"),
        format!("{took:.1} ms"),
        "",
    );
    for (what, query) in [
        ("first page", "page=1"),
        ("a page of the middle", "page=10000"),
        ("last page", "page=20000"),
        ("first page of a common action", "action=auth.login"),
        (
            "page of the middle of a common action",
            "action=auth.login&page=3300",
        ),
        ("first page of a rare action", "action=engines.update"),
        ("an action nobody did", "action=nothing.at.all"),
    ] {
        let load = http_load::run(&server.url(&format!("/api/audit?{query}")), server.token(), 3, 4);
        report.add(
            format!("audit list, {backend:?}: {what}, 16 connections"),
            format!(
                "{:.0}/s, p50 {:.2} ms, p99 {:.2} ms",
                load.per_second, load.p50_ms, load.p99_ms
            ),
            "",
        );
    }
    plans(report, backend, &db).await;
    db.close().await;
}

/// Fills the audit trail in a database created by a server.
pub async fn fill(db: &Db) {
    let mut tx = db.begin_write().await.expect("a write");
    let newest = qm_kernel::Ctx::system().now().ms() - 24 * 3600 * 1000;
    let filled = exec!(&mut tx, FILL, newest - i64::from(ROWS) * 1000)
        .await
        .expect("rows");
    filled.exactly(u64::from(ROWS)).expect("all of them");
    tx.commit().await.expect("a commit");
    let mut tx = db.begin_write().await.expect("a write");
    let _ = exec!(&mut tx, ANALYZE_ROWS).await.expect("statistics");
    tx.commit().await.expect("a commit");
}

/// Query plan of each statement on the audit trail, at this size.
async fn plans(report: &mut Report, backend: Backend, db: &Db) {
    let audit = STATEMENTS
        .iter()
        .filter(|statement| statement.name.starts_with("qm_platform::audit"));
    for statement in audit {
        let text = (statement.text)();
        if !text.starts_with("SELECT") {
            continue;
        }
        let name = statement.name.rsplit("::").next().unwrap_or_default();
        report.add(
            format!("audit list, {backend:?}: plan of {name}"),
            explained(backend, db, &text).await,
            "an index, never a scan of the table",
        );
    }
}

async fn explained(backend: Backend, db: &Db, text: &str) -> String {
    // Literal values of the right types: a plan depends on them, and EXPLAIN takes parameters not everywhere.
    let text = literal(text);
    let mut tx = db.begin_read().await.expect("a read");
    let lines = match backend {
        Backend::Sqlite => {
            let plan = Statement {
                text: leaked(format!("EXPLAIN QUERY PLAN {text}")),
            };
            let steps = all!(&mut tx, (i64, i64, i64, String), plan).await;
            steps.map(|steps| steps.into_iter().map(|(.., step)| step).collect::<Vec<_>>())
        }
        Backend::Postgres => {
            let plan = Statement {
                text: leaked(format!("EXPLAIN (COSTS OFF) {text}")),
            };
            let lines = all!(&mut tx, (String,), plan).await;
            lines.map(|lines| lines.into_iter().map(|(line,)| line.trim().to_owned()).collect())
        }
    };
    match lines {
        Ok(lines) => lines.join("; "),
        Err(error) => format!("{error}"),
    }
}

/// Statements are constants elsewhere; here there are a handful, once.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The statement with literal values: texts where a parameter is compared with an action or an id, numbers
/// elsewhere.
fn literal(text: &str) -> String {
    let mut text = text.to_owned();
    for number in (1..=6).rev() {
        let parameter = format!("${number}");
        let is_action = text.contains(&format!("action <= {parameter}"));
        let is_id = text.contains(&format!(", {parameter})"));
        let value = match (is_action, is_id) {
            (true, _) => "'auth.login'",
            (_, true) => "'row-500000'",
            _ if text.contains(&format!("LIMIT {parameter}")) => "50",
            _ if text.contains(&format!("OFFSET {parameter}")) => "200",
            _ => "1700000000000",
        };
        text = text.replace(&parameter, value);
    }
    text
}
