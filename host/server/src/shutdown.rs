//! When the process is asked to end: SIGTERM from a service manager, SIGINT from a keyboard.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit code of a process that was not given the time to end in order.
const ABANDONED: i32 = 1;

/// Listens from now on; the future ends at the first SIGTERM or SIGINT. A second one ends the process at once.
pub fn requested() -> std::io::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let name = either(&mut terminate, &mut interrupt).await;
        tracing::info!(signal = name, "shutting down");
        tokio::spawn(async move {
            let name = either(&mut terminate, &mut interrupt).await;
            tracing::warn!(signal = name, "asked to end a second time, ending at once");
            std::process::exit(ABANDONED);
        });
    })
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
