//! Requests to end the process: SIGTERM from a service manager, SIGINT from a keyboard.
//!
//! Bounds: requests have ten seconds to end (`qm_web::serve`); after [`PATIENCE`], waits for a lane that hangs are ended, so
//! that areas and loops can end in order; after [`GRACE`] the process ends at once.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit code of a process that was not given the time to end in order.
const ABANDONED: i32 = 1;

/// Time for blocking work to end by itself.
const PATIENCE: Duration = Duration::from_secs(15);
/// Time for the whole shutdown.
const GRACE: Duration = Duration::from_mins(1);

/// Listens from now on; the future ends at the first SIGTERM or SIGINT. A second one ends the process at once.
pub fn requested() -> std::io::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let name = either(&mut terminate, &mut interrupt).await;
        tracing::info!(signal = name, "shutting down");
        let thread = std::thread::Builder::new().name("last-resort".to_owned());
        // On a thread of its own, for what hangs may be the runtime. Without one the service manager ends the process.
        drop(thread.spawn(see_it_through));
        tokio::spawn(async move {
            let name = either(&mut terminate, &mut interrupt).await;
            tracing::warn!(signal = name, "asked to end a second time, ending at once");
            std::process::exit(ABANDONED);
        });
    })
}

/// Forces the end of work that does not end by itself, and at last of the process.
fn see_it_through() {
    std::thread::sleep(PATIENCE);
    let hung = qm_lanes::counts().into_iter().filter(|count| count.running > 0);
    let hung: Vec<&str> = hung.map(|count| count.lane).collect();
    if !hung.is_empty() {
        tracing::warn!(lanes = hung.join(", "), "work that does not end is left behind");
    }
    qm_lanes::end();
    std::thread::sleep(GRACE.saturating_sub(PATIENCE));
    tracing::error!("not everything has ended in time, ending at once");
    std::process::exit(ABANDONED);
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
