//! Time from process start to the first 200 on `/api/system/live`, with compiled plugins in the cache.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use qm_testkit::http::Http;
use qm_testkit::process::{Process, free_port};

use crate::report::{Report, median};
use crate::server::{Build, first_start};

const RUNS: usize = 11;

pub async fn measure(report: &mut Report) {
    let build = Build::measured();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut seconds = Vec::new();
    for run in 0..=RUNS {
        let took = once(&build, dir.path()).as_secs_f64();
        // The first start migrates and seeds.
        if run == 0 {
            report.add(
                "first start ever: database made, admin hashed; plugins are compiled after it",
                format!("{took:.2} s"),
                "",
            );
            first_start(&build, dir.path(), &Http::new(), &[]).await;
        } else {
            seconds.push(took);
        }
    }
    report.add(
        "from start to first 200, plugins compiled before",
        format!("{:.3} s", median(seconds)),
        "≤ 0.25 s",
    );
}

/// One start, stopped at its first answer.
pub fn once(build: &Build, dir: &Path) -> Duration {
    let port = free_port();
    let begin = Instant::now();
    let mut process = Process::start("quartermaster", dir, &mut build.command(dir, port));
    while !is_live(port) {
        assert!(
            begin.elapsed() < Duration::from_mins(1),
            "the server did not start: {}",
            process.output()
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    let took = begin.elapsed();
    process.kill();
    took
}

fn is_live(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let request = "GET /api/system/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut reply = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut reply).is_ok()
        && reply.starts_with("HTTP/1.1 200")
}
