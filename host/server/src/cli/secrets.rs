//! `quartermaster secrets rotate`: everything stored encrypted, under the current key.

use std::process::ExitCode;

use qm_kernel::Ctx;
use qm_platform::{AreaReport, Audit};

use super::say;
use crate::areas::sealed;
use crate::config::Config;
use crate::failure::StartError;
use crate::{logging, secrets, start};

/// The exit code that says: done, but something is still not under the current key.
const INCOMPLETE: u8 = 3;

/// Rotates and reports; with `dry_run` reports only.
pub async fn rotate(dry_run: bool) -> Result<ExitCode, StartError> {
    let config = Config::from_env()?;
    logging::init(&config.log);
    let ctx = Ctx::system();
    let resolved = secrets::resolve(&config.secrets, config.production, &config.data_dir, &ctx)?;
    // A key made just now has sealed nothing, and sealing with it would lose everything: it is not kept.
    if config.secrets.encryption.is_none() && resolved.unsaved.is_some() {
        return Err(StartError::NoKey);
    }
    let db = start::open_existing(&config).await?;
    let cipher = resolved.secrets.cipher(&ctx);
    let outcome = sealed(&db, &cipher, &Audit::new(ctx)).rotate(dry_run).await;
    db.close().await;
    let reports = outcome?;
    for report in &reports {
        show(report, dry_run);
    }
    Ok(conclude(&reports, &config, dry_run))
}

fn show(report: &AreaReport, dry_run: bool) {
    let done = if dry_run { "to rotate" } else { "rotated" };
    say(format_args!(
        "{}: {} already current, {} {done}, {} unreadable",
        report.area, report.current, report.rotated, report.unreadable
    ));
    for value in &report.named {
        say(format_args!(
            "  unreadable: {} {} {}",
            value.area, value.object, value.field
        ));
    }
    let unnamed = report.unreadable.saturating_sub(report.named.len() as u64);
    if unnamed > 0 {
        say(format_args!("  and {unnamed} more"));
    }
    if report.contested > 0 {
        say(format_args!(
            "  {} changed by a running server at that moment",
            report.contested
        ));
    }
}

/// Prints the next step for the operator, and returns the exit code.
fn conclude(reports: &[AreaReport], config: &Config, dry_run: bool) -> ExitCode {
    let total = |count: fn(&AreaReport) -> u64| reports.iter().map(count).sum::<u64>();
    if total(|report| report.unreadable) > 0 {
        say(format_args!(
            "The unreadable values are under none of the keys. Add the key they were stored under to \
             ENCRYPTION_KEY_PREVIOUS and run this again (a key the service generated is `encryptionKey` in `{}`), or \
             enter them anew.",
            secrets::file(&config.data_dir).display()
        ));
        return ExitCode::from(INCOMPLETE);
    }
    if total(|report| report.contested) > 0 {
        say("Run this again.");
        return ExitCode::from(INCOMPLETE);
    }
    if dry_run {
        say("Nothing was changed.");
    } else if total(|report| report.rotated) > 0 {
        say(
            "All is under the current key. Once another run rotates nothing, ENCRYPTION_KEY_PREVIOUS can be unset.",
        );
    } else {
        say("All is under the current key: ENCRYPTION_KEY_PREVIOUS can be unset.");
    }
    ExitCode::SUCCESS
}
