//! Tests of the routes, with running jobs and a file server.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use qm_db::{Db, db_test};
use qm_jobs::{Jobs, Pace};
use qm_kernel::Ctx;
use qm_net::{Net, NetConfig};
use qm_platform::testing::{self, Claims};
use qm_platform::{AuditTrail, Background};
use qm_ports::shows::{ShowDetails, ShowProvider};
use qm_ports::titledb::{SeriesAnswer, SeriesQuestion, TitleData, TitleKind, TitleQuestion};
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{NoTokens, RoleTokens};
use qm_web::{Docs, WebConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tower::ServiceExt;

use super::routes;
use crate::service::{Titledb, TitledbDeps};
use crate::testing::{Size, title_name, write};

qm_db::sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ('u', 'u', 'u@example.org', '', 0, 0) ON CONFLICT DO NOTHING";
}

struct Site {
    titledb: Arc<Titledb>,
    router: Router,
    jobs: Jobs,
    background: Background,
    root: PathBuf,
    _folder: tempfile::TempDir,
}

impl Site {
    async fn new(db: &Db) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().to_owned();
        let mut tx = db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, ADD_USER).await.unwrap();
        tx.commit().await.unwrap();
        Self::in_directory(db, folder, &at).await
    }

    async fn in_directory(db: &Db, folder: tempfile::TempDir, at: &Path) -> Self {
        let ctx = Ctx::system();
        let root = at.join("media");
        std::fs::create_dir_all(&root).unwrap();
        let (jobs, background) = qm_jobs::testing::worker_of(db, Pace::default(), ctx.clone());
        let net = Net::new(NetConfig {
            ssrf_allow_hosts: vec!["127.0.0.1".to_owned()],
            ..NetConfig::default()
        });
        let titledb = Titledb::new(TitledbDeps {
            ground: testing::ground(db, &ctx, Arc::new(Claims)),
            hub: Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx.clone()),
            jobs: jobs.clone(),
            net: net.unwrap(),
            file_roots: vec![root.clone()],
            data_dir: at.to_owned(),
        });
        jobs.start().await.unwrap();
        let config = WebConfig {
            throttle_limit: 0,
            docs: Docs::Hidden,
            ..WebConfig::default()
        };
        let router = qm_web::finish(
            routes().with_state(titledb.clone()),
            config,
            Arc::new(RoleTokens),
            ctx,
        );
        Self {
            titledb,
            router,
            jobs,
            background,
            root,
            _folder: folder,
        }
    }

    async fn ask(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/media/providers/titledb{path}"))
            .header(header::AUTHORIZATION, format!("Bearer {role}"));
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let response = self
            .router
            .clone()
            .oneshot(request.body(body).unwrap())
            .await
            .unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn admin(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.ask("ADMINISTRATOR", method, path, body).await
    }

    /// The newest import, after it has ended.
    async fn ended(&self) -> Value {
        for _ in 0..600 {
            let (_, imports) = self.admin("GET", "/dataset/imports", None).await;
            if !["pending", "running"].contains(&imports[0]["status"].as_str().unwrap_or_default()) {
                return imports[0].clone();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the import does not end");
    }

    async fn configure(&self, settings: Value) {
        let (status, answer) = self.admin("PATCH", "/settings", Some(settings)).await;
        assert_eq!(status, 200, "{answer}");
    }

    async fn import(&self) -> Value {
        let (status, import) = self
            .admin(
                "POST",
                "/dataset/import",
                Some(json!({ "datasetPath": self.root })),
            )
            .await;
        assert_eq!(status, 201, "{import}");
        self.ended().await
    }

    async fn stop(self) {
        self.jobs.shutdown().await;
        self.background.shutdown().await;
    }
}

async fn actions(db: &Db) -> Vec<String> {
    let rows = AuditTrail::newest(&mut db.begin_read().await.unwrap(), 50)
        .await
        .unwrap();
    rows.into_iter().map(|row| row.action).collect()
}

/// File server for a directory: whole files, ranges, and "not modified". The first answer for each file
/// breaks off in the middle.
async fn files(directory: PathBuf) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = asked.clone();
    tokio::spawn(async move {
        loop {
            let Ok((mut socket, _)) = listener.accept().await else {
                return;
            };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if socket.read_exact(&mut byte).await.is_err() {
                    break;
                }
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            let name = head.split(['/', ' ']).nth(2).unwrap_or_default().to_owned();
            let from: Option<usize> = head
                .split("range: bytes=")
                .nth(1)
                .and_then(|rest| rest.split('-').next()?.parse().ok());
            let seen = log.lock().unwrap().iter().any(|line| line.starts_with(&name));
            let since = head.contains("if-modified-since");
            log.lock().unwrap().push(format!("{name} {from:?} {since}"));
            let Ok(body) = std::fs::read(directory.join(&name)) else {
                let _ = socket
                    .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .await;
                continue;
            };
            if since {
                let _ = socket
                    .write_all(b"HTTP/1.1 304 Not Modified\r\nconnection: close\r\n\r\n")
                    .await;
                continue;
            }
            let (status, from) = from.map_or(("200 OK", 0), |from| ("206 Partial Content", from));
            let rest = &body[from.min(body.len())..];
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\netag: \"one\"\r\nlast-modified: Tue, 01 Jan 2030 00:00:00 GMT\r\n\
                 connection: close\r\n\r\n",
                rest.len()
            );
            let _ = socket.write_all(head.as_bytes()).await;
            let sent = if seen { rest } else { &rest[..rest.len() / 2] };
            let _ = socket.write_all(sent).await;
        }
    });
    (url, asked)
}

const FULL: &str = "full";

/// Titles of one name and others: running, ended, no series, series that end by themselves.
const SHOWS: &str =
    "tconst\ttitleType\tprimaryTitle\toriginalTitle\tisAdult\tstartYear\tendYear\truntimeMinutes\tgenres
tt0000101\ttvSeries\tHarbor Nine\tHarbor Nine\t0\t1999\t2004\t40\tDrama
tt0000102\ttvSeries\tHarbor Nine\tHafen 9\t0\t2023\t\\N\t40\tDrama
tt0000103\tmovie\tHarbor Nine\tHarbor Nine\t0\t2023\t\\N\t90\tDrama
tt0000104\ttvMiniSeries\tQuiet Web\tQuiet Web\t0\t2010\t\\N\t40\tDrama
tt0000105\ttvSeries\tHarbor Nine Stories\tHarbor Nine Stories\t0\t2023\t\\N\t40\tDrama
";

fn write_shows(folder: &Path) {
    write_file(folder, "title.basics.tsv.gz", SHOWS);
}

fn write_file(folder: &Path, name: &str, text: &str) {
    let file = std::fs::File::create(folder.join(name)).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap();
}

const NAMED: &str =
    "tconst\ttitleType\tprimaryTitle\toriginalTitle\tisAdult\tstartYear\tendYear\truntimeMinutes\tgenres
tt0000201\tmovie\tQuiet Harbor\tQuiet Harbor\t0\t2011\t\\N\t90\tDrama
tt0000202\tvideo\tEin Video\tEin Video\t0\t2012\t\\N\t90\tDrama
tt0000203\tshort\tKurz\tKurz\t0\t2012\t\\N\t9\tDrama
tt0000210\ttvSeries\tThe Desk\tThe Desk\t0\t2001\t2003\t30\tComedy
tt0000211\ttvSeries\tThe Desk\tThe Desk\t0\t2005\t2013\t30\tComedy
tt0000212\ttvSeries\tPier\tPier\t0\t2005\t2013\t30\tComedy
tt0000301\ttvEpisode\tOne\tOne\t0\t2001\t\\N\t30\tComedy
tt0000302\ttvEpisode\tOne\tOne\t0\t2002\t\\N\t30\tComedy
tt0000311\ttvEpisode\tOne\tOne\t0\t2005\t\\N\t30\tComedy
tt0000312\ttvEpisode\tOne\tOne\t0\t2012\t\\N\t30\tComedy
";
const AKAS: &str = "titleId\tordering\ttitle\tregion\tlanguage\ttypes\tattributes\tisOriginalTitle
tt0000201\t1\tТихая гавань\tRU\t\\N\timdbDisplay\t\\N\t0
tt0000201\t2\t東京\tJP\t\\N\timdbDisplay\t\\N\t0
tt0000201\t3\tالميناء الهادئ\tEG\t\\N\timdbDisplay\t\\N\t0
tt0000210\t1\tThe Desk (UK)\tUS\t\\N\timdbDisplay\t\\N\t0
tt0000211\t1\tКонтора\tRU\t\\N\timdbDisplay\t\\N\t0
tt0000211\t2\tThe Desk: U.S.\tGB\t\\N\timdbDisplay\t\\N\t0
";
const EPISODES: &str = "tconst\tparentTconst\tseasonNumber\tepisodeNumber
tt0000301\ttt0000210\t1\t1
tt0000302\ttt0000210\t2\t1
tt0000311\ttt0000211\t1\t1
tt0000312\ttt0000211\t7\t1
";
const RATINGS: &str = "tconst\taverageRating\tnumVotes
tt0000210\t8.5\t5000
tt0000211\t9.0\t9000
";

db_test! {
    async fn a_data_set_is_validated_imported_searched_and_removed(db: Db) {
        let site = Site::new(&db).await;
        write(&site.root, Size::SMALL, 7).unwrap();
        let (status, report) = site.admin("POST", "/dataset/validate", Some(json!({ "datasetPath": site.root }))).await;
        assert_eq!((status, &report["valid"], &report["filesFound"]), (201, &json!(true), &json!(7)), "{report}");
        assert_eq!(report["files"][0]["key"], "title.basics");
        let (_, answer) = site.admin("GET", "/search?title=night", None).await;
        assert_eq!(answer, json!([]), "it is switched off");
        site.configure(json!({ "mode": "dataset", "importStrategy": FULL, "datasetPath": site.root })).await;
        let (_, before) = site.admin("GET", "/status", None).await;
        assert_eq!((&before["available"], &before["lastImport"]), (&json!(false), &Value::Null));
        let ended = site.import().await;
        assert_eq!((&ended["status"], &ended["stats"]["errors"]), (&json!("completed"), &json!(0)), "{ended}");
        assert_eq!(ended["filesImported"].as_array().unwrap().len(), 7);
        let (_, after) = site.admin("GET", "/status", None).await;
        assert_eq!((&after["available"], &after["datasetTitleCount"]), (&json!(true), &json!(3000)));

        // Some titles, searched by name, by a part of it, and with a wrong letter.
        for number in (10..3000).step_by(430) {
            let name = title_name(7, number);
            let id = format!("tt{number:07}");
            let encoded = name.replace(' ', "%20");
            let (status, found) = site.ask("USER", "GET", &format!("/search?title={encoded}"), None).await;
            assert_eq!(status, 200, "{found}");
            let has = |found: &Value| found.as_array().unwrap().iter().any(|one| one["titledbId"] == id.as_str());
            assert!(has(&found), "{name}: {found}");
            assert_eq!(found[0]["confidence"], 0.8, "{name}: {found}");
            let year = found.as_array().unwrap().iter().find(|one| one["titledbId"] == id.as_str()).unwrap()["year"].clone();
            let (_, found) = site.admin("GET", &format!("/search?title={}&year={year}", &encoded[..encoded.len() - 1]), None).await;
            assert!(has(&found), "a part of {name} in {year}: {found}");
            let mut letters: Vec<char> = name.chars().collect();
            let middle = letters.len() / 2 + 1;
            letters[middle] = if letters[middle] == 'q' { 'z' } else { 'q' };
            let wrong: String = letters.into_iter().collect::<String>().replace(' ', "%20");
            if name.len() >= 8 {
                let (_, found) = site.admin("GET", &format!("/search?title={wrong}"), None).await;
                assert!(has(&found), "{wrong} for {name}: {found}");
            }
        }
        let (_, found) = site.admin("GET", "/search?title=night&type=tv", None).await;
        assert!(found.as_array().unwrap().iter().all(|one| one["titleType"] == "tvSeries"), "{found}");
        for blank in ["/search", "/search?title=", "/search?title=%20%3F"] {
            assert_eq!(site.admin("GET", blank, None).await, (200, json!([])), "{blank}");
        }
        let (status, title) = site.ask("USER", "GET", "/title/tt0000010", None).await;
        assert_eq!((status, &title["title"], &title["providerName"]), (200, &json!(title_name(7, 10)), &json!("titledb")));
        assert_eq!((title["directors"].as_array().unwrap().len(), &title["writers"][1]), (1, &json!("nm9999999")));
        assert_eq!(site.admin("GET", "/title/tt99999999", None).await.0, 404);
        for odd in ["/title/tt1234", "/title/nm0000010", "/title/tt12345678901"] {
            let (status, answer) = site.admin("GET", odd, None).await;
            assert_eq!((status, &answer["message"]), (400, &json!("Invalid id")), "{odd}");
        }

        let (status, again) = site.admin("POST", "/dataset/import/stop", None).await;
        assert_eq!((status, &again["code"]), (404, &json!("not_found.titledb_import")));
        let (status, cleared) = site.admin("POST", "/dataset/reset", Some(json!({}))).await;
        assert_eq!((status, cleared), (201, json!({ "clearedTitles": 3000, "reimport": null })));
        let (_, answer) = site.admin("GET", "/search?title=night", None).await;
        assert_eq!(answer, json!([]));
        let (_, imports) = site.admin("GET", "/dataset/imports", None).await;
        assert_eq!(imports.as_array().unwrap().len(), 1, "the history stays");
        let audited = actions(&db).await;
        for action in ["media.titledb.settings.changed", "media.titledb.dataset_path.changed", "media.titledb.dataset.reset",
            "media.titledb.dataset.import.started", "media.titledb.dataset.import.completed",
            "media.titledb.dataset.validate.started", "media.titledb.dataset.validate.completed"] {
            assert!(audited.iter().any(|row| row == action), "{action} in {audited:?}");
        }
        site.stop().await;
    }

    async fn shows_are_known_by_when_they_began_and_ended(db: Db) {
        let site = Site::new(&db).await;
        write_shows(&site.root);
        let shows: &dyn ShowProvider = &*site.titledb;
        assert!(!shows.is_ready().await, "it is switched off");
        assert!(shows.details("tt0000101").await.unwrap_err().0.contains("media.titledb"));
        site.configure(json!({ "mode": "dataset", "importStrategy": FULL, "importTvShows": true })).await;
        assert!(!shows.is_ready().await, "nothing is imported");
        assert!(shows.search("Harbor Nine", None).await.unwrap().is_empty());
        assert_eq!(site.import().await["status"], "completed");
        assert!(shows.is_ready().await);

        for (title, year, expected) in [
            ("harbor NINE", None, &["tt0000102", "tt0000101"][..]),
            ("Harbor Nine", Some(1999), &["tt0000101"]),
            ("Harbor Nine", Some(2000), &[]),
            ("Hafen 9", None, &[]),
            ("Quiet Web", None, &["tt0000104"]),
            ("Harbor", None, &[]),
            ("???", None, &[]),
        ] {
            let found = shows.search(title, year).await.unwrap();
            let ids: Vec<&str> = found.iter().map(|hit| hit.id.as_str()).collect();
            assert_eq!(ids, expected, "{title} {year:?}");
        }
        let over = shows.details("tt0000101").await.unwrap().unwrap();
        assert_eq!(over, ShowDetails {
            title: "Harbor Nine".to_owned(),
            end_year: Some(2004),
            first_air_date: Some("1999-01-01".to_owned()),
            last_air_date: Some("2004-12-31".to_owned()),
            ..ShowDetails::default()
        });
        let runs = |id: &'static str| async move {
            let told = shows.details(id).await.unwrap().unwrap();
            (told.is_running_series, told.end_year)
        };
        assert_eq!(runs("tt0000102").await, (true, None));
        assert_eq!(runs("tt0000104").await, (false, None), "a mini-series says nothing");
        for none in ["tt0000103", "tt0000999", "Harbor Nine", "81123"] {
            assert_eq!(shows.details(none).await.unwrap(), None, "{none}");
        }
        site.configure(json!({ "mode": "disabled" })).await;
        assert!(!shows.is_ready().await);
        site.stop().await;
    }

    async fn titles_are_known_by_their_names_in_every_script(db: Db) {
        let site = Site::new(&db).await;
        write_file(&site.root, "title.basics.tsv.gz", NAMED);
        write_file(&site.root, "title.akas.tsv.gz", AKAS);
        write_file(&site.root, "title.episode.tsv.gz", EPISODES);
        write_file(&site.root, "title.ratings.tsv.gz", RATINGS);
        // Alternative names of other countries are imported by default.
        site.configure(json!({ "mode": "dataset", "importTvShows": true })).await;
        assert_eq!(site.import().await["status"], "completed");
        let titles: &dyn TitleData = &*site.titledb;
        for (title, year, kind, expected) in [
            ("Тихая гавань", 2011, TitleKind::Movie, "tt0000201"),
            ("東京", 2011, TitleKind::Movie, "tt0000201"),
            ("الميناء الهادئ", 2011, TitleKind::Movie, "tt0000201"),
            ("Ein Video", 2012, TitleKind::Movie, "tt0000202"),
        ] {
            let question = TitleQuestion { title: title.to_owned(), year: Some(year), kind: Some(kind) };
            let found = titles.search(&question).await.unwrap();
            assert_eq!(found.first().map(|one| &*one.title.id), Some(expected), "{title}: {found:?}");
            assert!(found[0].names.contains(&qm_titles::normalise(title)), "{found:?}");
        }
        let series = async |title: &str, year: Option<i64>, seasons: &[i64]| {
            let question = SeriesQuestion { title: title.to_owned(), year, seasons: seasons.to_vec() };
            titles.series(&question).await.unwrap()
        };
        for (title, year, seasons, expected) in [
            ("Контора", None, &[][..], Some("tt0000211")),
            ("The Desk (UK)", None, &[], Some("tt0000210")),
            ("The Desk (US)", None, &[], Some("tt0000211")),
            ("The Desk", None, &[], None),
            ("The Desk", Some(2001), &[], Some("tt0000210")),
            ("The Desk", None, &[1, 7], Some("tt0000211")),
            ("The Desk", None, &[1], None),
            ("The Desk", Some(2015), &[], None),
            // The year of a release is that of its season; the year of a folder that of the show.
            ("The Desk", Some(2012), &[7], Some("tt0000211")),
            ("The Desk", Some(2009), &[7], None),
            ("The Desk", Some(2012), &[1, 7], None),
            ("TheDesk", Some(2005), &[], Some("tt0000211")),
            // Its episodes are unknown.
            ("Pier", None, &[], None),
            ("The Dusk", Some(2001), &[], None),
        ] {
            let answer = series(title, year, seasons).await;
            assert_eq!(answer.id.as_deref(), expected, "{title} {year:?} {seasons:?}: {answer:?}");
            assert!(!answer.found.is_empty(), "{title}");
        }
        assert_eq!(series("Elsewhere altogether", None, &[]).await, SeriesAnswer::default());
        let (_, status) = site.admin("GET", "/status", None).await;
        let left_out = status["leftOut"].to_string();
        assert!(left_out.contains("short films") && left_out.contains("before 1970") && !left_out.contains("importTvShows"), "{left_out}");
        site.configure(json!({ "mode": "disabled" })).await;
        assert_eq!(series("Контора", None, &[]).await, SeriesAnswer::default());
        // With a full import short films are identified too.
        site.configure(json!({ "mode": "dataset", "importStrategy": FULL })).await;
        assert_eq!(site.import().await["status"], "completed");
        let question = TitleQuestion { title: "Kurz".to_owned(), year: None, kind: Some(TitleKind::Movie) };
        assert_eq!(titles.search(&question).await.unwrap()[0].title.id, "tt0000203");
        site.stop().await;
    }

    async fn what_is_unfit_leaves_what_was_there(db: Db) {
        let site = Site::new(&db).await;
        write(&site.root, Size::SMALL, 7).unwrap();
        site.configure(json!({ "mode": "dataset", "importStrategy": FULL })).await;
        assert_eq!(site.import().await["status"], "completed");
        std::fs::write(site.root.join("title.akas.tsv.gz"), "<!DOCTYPE html>").unwrap();
        let failed = site.import().await;
        assert_eq!(failed["status"], "failed", "{failed}");
        let message = failed["errorMessage"].as_str().unwrap();
        assert!(message.starts_with("title.akas.tsv.gz is no gzip file, as those of IMDb are"), "{message}");
        let (_, status) = site.admin("GET", "/status", None).await;
        assert_eq!((&status["available"], &status["lastImport"]["status"]), (&json!(true), &json!("failed")));
        let (_, report) = site.admin("POST", "/dataset/validate", Some(json!({ "datasetPath": site.root }))).await;
        assert_eq!((&report["valid"], &report["hasMinimum"]), (&json!(false), &json!(true)), "{report}");
        std::fs::remove_file(site.root.join("title.basics.tsv.gz")).unwrap();
        let failed = site.import().await;
        assert_eq!(failed["errorMessage"], "title.basics.tsv.gz is not there", "{failed}");
        site.stop().await;
    }

    async fn settings_and_paths_are_judged(db: Db) {
        let site = Site::new(&db).await;
        let (_, defaults) = site.ask("USER", "GET", "/settings", None).await;
        assert_eq!((&defaults["mode"], &defaults["apiKey"], &defaults["hasApiKey"]), (&json!("disabled"), &Value::Null, &json!(false)));
        for bad in [json!({ "mode": "x" }), json!({ "minImportYear": 1800 }), json!({ "autoUpdateIntervalHours": 0 }),
            json!({ "datasetBaseUrl": "ftp://a" }), json!({ "datasetBaseUrl": "https://jo:secret@mirror.example/" }),
            json!({ "apiBaseUrl": "https://jo@api.example/" }), json!({ "importStrategy": "some" }), json!({ "minVotes": -1 }), json!({ "cacheTtl": -1 }),
            json!({ "importAkas": "maybe" }), json!({ "unknown": 1 }), json!({ "datasetPath": " " })] {
            let (status, answer) = site.admin("PATCH", "/settings", Some(bad.clone())).await;
            assert_eq!(status, 400, "{bad}: {answer}");
        }
        let changes = async || actions(&db).await.into_iter().filter(|action| action.ends_with("dataset_path.changed")).count();
        for _ in 0..2 {
            let (status, report) = site.admin("POST", "/dataset/validate", Some(json!({}))).await;
            assert_eq!(status, 201, "{report}");
            let (_, settings) = site.admin("GET", "/settings", None).await;
            assert_eq!((&settings["datasetPath"], changes().await), (&report["datasetPath"], 1), "where it looked is noted once");
        }
        std::os::unix::fs::symlink("/etc", site.root.join("link")).unwrap();
        for (path, status) in [("/", 403), ("/etc", 403), ("/etc/x", 403), ("relative", 403), ("", 400), (" ", 400)] {
            let (found, answer) = site.admin("POST", "/dataset/import", Some(json!({ "datasetPath": path }))).await;
            assert_eq!(found, status, "{path}: {answer}");
        }
        for path in [site.root.join("link"), site.root.join("link/x"), site.root.join("../other")] {
            let (status, answer) = site.admin("POST", "/dataset/import", Some(json!({ "datasetPath": path }))).await;
            assert_eq!(status, 403, "{answer}");
        }
        site.configure(json!({ "apiKey": "a secret", "apiBaseUrl": "https://api.example/ ", "mode": "official_api" })).await;
        let (_, shown) = site.admin("GET", "/settings", None).await;
        assert_eq!((&shown["apiKey"], &shown["hasApiKey"]), (&json!("••••••••"), &json!(true)), "{shown}");
        site.configure(json!({ "apiKey": "••••••••", "minVotes": 3 })).await;
        let (_, tested) = site.admin("POST", "/test", None).await;
        assert_eq!(tested, json!({ "apiConfigured": true, "available": true }));
        // The key stays with the origin it was entered for.
        for (url, kept) in [("https://API.example/deeper", true), ("https://other.example/", false), ("https://api.example/", false)] {
            site.configure(json!({ "apiBaseUrl": url, "apiKey": "••••••••" })).await;
            let (_, shown) = site.admin("GET", "/settings", None).await;
            let wanted = if kept { Value::Null } else { json!(["apiKey"]) };
            assert_eq!((&shown["hasApiKey"], &shown["secretsWanted"]), (&json!(kept), &wanted), "{url}");
        }
        let (_, status) = site.admin("GET", "/status", None).await;
        assert!(status["detail"].as_str().unwrap().contains("enter `apiKey` again"), "{status}");
        site.configure(json!({ "apiKey": null, "apiBaseUrl": "" })).await;
        let (_, shown) = site.admin("GET", "/settings", None).await;
        assert_eq!((&shown["apiKey"], &shown["apiBaseUrl"], &shown["minVotes"]), (&Value::Null, &Value::Null, &json!(3)));
        for (role, method, path) in [("READ_ONLY", "GET", "/status"), ("USER", "POST", "/dataset/update-now"), ("USER", "POST", "/test")] {
            assert_eq!(site.ask(role, method, path, None).await.0, 403, "{role} {path}");
        }
        site.stop().await;
    }

    async fn an_update_gets_what_is_new_and_goes_on_where_it_was_cut_off(db: Db) {
        let site = Site::new(&db).await;
        let there = tempfile::tempdir().unwrap();
        write(there.path(), Size::SMALL, 7).unwrap();
        let (url, asked) = files(there.path().to_owned()).await;
        site.configure(json!({ "mode": "dataset", "datasetBaseUrl": url, "datasetPath": site.root, "importTvShows": true })).await;
        let (status, started) = site.admin("POST", "/dataset/update-now", None).await;
        assert_eq!((status, &started["started"], &started["datasetPath"]), (201, &json!(true), &json!(site.root)), "{started}");
        let ended = site.ended().await;
        assert_eq!(ended["status"], "failed", "every file was cut off: {ended}");
        assert!(ended["errorMessage"].as_str().unwrap().starts_with("The data set cannot be downloaded"), "{ended}");
        site.admin("POST", "/dataset/update-now", None).await;
        let ended = site.ended().await;
        assert_eq!(ended["status"], "completed", "{ended}");
        assert_eq!(ended["datasetDate"], "2030-01-01T00:00:00.000Z");
        let wanted = std::fs::read(there.path().join("title.basics.tsv.gz")).unwrap();
        assert_eq!(std::fs::read(site.root.join("title.basics.tsv.gz")).unwrap(), wanted);
        let lines = std::mem::take(&mut *asked.lock().unwrap());
        let half = wanted.len() / 2;
        assert!(lines.contains(&format!("title.basics.tsv.gz Some({half}) false")), "{lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with("title.principals")), "{lines:?}");
        site.admin("POST", "/dataset/update-now", None).await;
        assert_eq!(site.ended().await["status"], "completed");
        assert!(asked.lock().unwrap().iter().all(|line| line.ends_with("None true")), "{:?}", asked.lock().unwrap());
        site.configure(json!({ "maxFileBytes": 100, "datasetPath": null })).await;
        site.admin("POST", "/dataset/update-now", None).await;
        let ended = site.ended().await;
        assert!(ended["errorMessage"].as_str().unwrap().contains("it is larger than 100 bytes (maxFileBytes)"), "{ended}");
        site.configure(json!({ "datasetBaseUrl": "http://169.254.169.254/" })).await;
        site.admin("POST", "/dataset/update-now", None).await;
        assert!(site.ended().await["errorMessage"].as_str().unwrap().contains("blocked internal address"));
        site.stop().await;
    }
}
