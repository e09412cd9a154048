//! The contract tests of the role `media-server`, for `plugin check`: questions, which change nothing at the product.

use std::time::Duration;

use qm_plugin_host::Check;
use qm_plugin_host::role::{CallContext, Heard, note, word};
use qm_ports::media_server::MediaServerError;

use super::{MediaServer, description};
use crate::stateless::Bench;

/// A session that nobody has.
const NOBODYS: &str = "no-such-session";
/// Time for one call.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs them all with the configuration of the target.
pub(super) async fn run(bench: Bench<MediaServer>) -> Vec<Check> {
    let mut checks = Vec::new();
    let can = description::read(&bench.trial.about().traits).abilities;
    let text = bench.trial.config();
    let config = text.clone();
    let about = bench
        .ask(PATIENCE, context(), |code, store| {
            Box::pin(async move { code.test(store, &config).await })
        })
        .await;
    let about = word(about).map(|about| about.version.unwrap_or_default());
    note(
        &mut checks,
        "the server answers, and takes the credentials",
        about,
    );
    let nowhere = bench
        .ask(PATIENCE, context(), |code, store| {
            Box::pin(async move { code.test(store, "{}").await })
        })
        .await;
    let nowhere = nowhere.and_then(|word| match word {
        Err(MediaServerError::InvalidConfig(why)) => Ok(why),
        Err(other) => Err(format!("it answered otherwise: {other}")),
        Ok(_) => Err("it tested a server without an address".to_owned()),
    });
    note(
        &mut checks,
        "it refuses a configuration without an address",
        nowhere,
    );
    let config = text.clone();
    let playing = bench
        .ask(PATIENCE, context(), |code, store| {
            Box::pin(async move { code.sessions(store, &config).await })
        })
        .await;
    let playing = if can.sessions {
        word(playing).map(|playing| format!("{} sessions", playing.len()))
    } else {
        refused(playing)
    };
    note(&mut checks, "it tells who is watching", playing);
    if !can.terminate_sessions {
        let ended = bench
            .ask(PATIENCE, context(), |code, store| {
                Box::pin(async move { code.terminate(store, &text, NOBODYS, None).await })
            })
            .await;
        note(&mut checks, "it refuses to end sessions", refused(ended));
    }
    checks
}

/// Tells whether what is not offered is refused.
fn refused<T>(answer: Heard<T, MediaServerError>) -> Result<String, String> {
    answer.and_then(|word| match word {
        Err(MediaServerError::Unsupported(_)) => Ok("it does not offer this, and says so".to_owned()),
        _ => Err("its description does not offer this: it must answer `unsupported`".to_owned()),
    })
}

/// The context of a call to a product that may take its time.
fn context() -> CallContext {
    CallContext {
        patience: Some(PATIENCE),
        ..CallContext::default()
    }
}
