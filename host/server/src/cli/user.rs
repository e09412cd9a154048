//! `quartermaster user list` and `quartermaster user reset-password NAME`: the operator's way in when nobody can sign
//! in any more. Both work beside a running server or without one.
//!
//! Bound: a password on standard input has at most 4 KiB.

use std::io::{BufRead as _, Read as _};

use clap::Subcommand;
use qm_db::Db;
use qm_identity::{HashCost, IdentityError, Listed, Operator, Reset};
use qm_kernel::{Ctx, Secret, Timestamp};
use serde_json::json;

use super::say;
use crate::config::{Config, MAX_PASSWORD, MIN_PASSWORD};
use crate::failure::StartError;
use crate::{logging, start};

#[derive(Subcommand)]
pub(super) enum UserCommand {
    /// List all users.
    List {
        /// As JSON, for programs.
        #[arg(long)]
        json: bool,
    },
    /// Give a user a new password, and end all their sessions. Without --stdin one is generated and shown.
    ///
    /// There is no other way back in for an administrator who forgot theirs: the service sends no mail for that.
    /// Access tokens given out before live on until they expire (JWT_ACCESS_TTL).
    ResetPassword {
        /// The user's name, as `user list` shows it.
        name: String,
        /// Read the new password from the first line of standard input.
        #[arg(long)]
        stdin: bool,
        /// Switch two-factor authentication off as well, for a user who lost authenticator and recovery codes.
        #[arg(long)]
        disable_2fa: bool,
    },
}

const MAX_INPUT: u64 = 4096;

pub(super) async fn run(command: UserCommand) -> Result<(), StartError> {
    let config = Config::from_env()?;
    logging::init(&config.log);
    match command {
        UserCommand::List { json } => {
            let (db, operator) = open(&config).await?;
            let users = operator.users().await;
            db.close().await;
            let users = users.map_err(StartError::Users)?;
            if json {
                list_json(&users);
            } else {
                list_table(&users);
            }
        }
        UserCommand::ResetPassword {
            name,
            stdin,
            disable_2fa,
        } => {
            // Read first: what is not a password must not cost a connection.
            let given = if stdin { Some(read_password()?) } else { None };
            let (db, operator) = open(&config).await?;
            let outcome = operator.reset_password(&name, given, disable_2fa).await;
            db.close().await;
            let reset = outcome.map_err(|error| match error {
                IdentityError::UserNotFound => StartError::NoUser(name.clone()),
                other => StartError::Users(other),
            })?;
            show(&name, &reset);
        }
    }
    Ok(())
}

async fn open(config: &Config) -> Result<(Db, Operator), StartError> {
    let db = start::open_existing(config).await?;
    let operator = Operator::new(db.clone(), HashCost::STANDARD, Ctx::system());
    Ok((db, operator))
}

/// The first line of standard input, without its line break.
fn read_password() -> Result<Secret, StartError> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_INPUT)
        .read_line(&mut line)
        .map_err(StartError::Input)?;
    let text = line.strip_suffix('\n').unwrap_or(&line);
    let password = Secret::new(text.strip_suffix('\r').unwrap_or(text));
    drop(Secret::new(line));
    let length = password.expose().chars().count();
    if (MIN_PASSWORD..=MAX_PASSWORD).contains(&length) {
        Ok(password)
    } else {
        Err(StartError::PasswordLength(length))
    }
}

fn show(name: &str, reset: &Reset) {
    match &reset.generated {
        Some(password) => say(format_args!(
            "New password of {name}: {} (shown once; change it after signing in)",
            password.expose()
        )),
        None => say(format_args!("The password of {name} was changed.")),
    }
    say(format_args!("Sessions ended: {}", reset.revoked));
    if reset.two_factor_disabled {
        say("Two-factor authentication was switched off.");
    }
    if reset.two_factor {
        say("Signing in still takes a two-factor code; --disable-2fa switches that off.");
    }
    if !reset.is_active {
        say(format_args!(
            "{name} is deactivated and cannot sign in until another administrator activates the account."
        ));
    }
}

fn list_json(users: &[Listed]) {
    let users: Vec<_> = users
        .iter()
        .map(|user| {
            json!({
                "id": user.id,
                "username": user.username,
                "email": user.email,
                "displayName": user.display_name,
                "roles": user.roles,
                "isActive": user.is_active,
                "isSystem": user.is_system,
                "twoFactorEnabled": user.two_factor,
                "lastLoginAt": user.last_login_at,
                "createdAt": user.created_at,
            })
        })
        .collect();
    say(format_args!("{:#}", serde_json::Value::from(users)));
}

const COLUMNS: [&str; 6] = ["USERNAME", "EMAIL", "ROLES", "ACTIVE", "2FA", "LAST LOGIN"];

fn list_table(users: &[Listed]) {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(users.iter().map(row));
    for line in aligned(&rows) {
        say(line);
    }
}

fn row(user: &Listed) -> [String; COLUMNS.len()] {
    let word = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let roles: Vec<&str> = user.roles.iter().map(|role| role.name()).collect();
    [
        printable(&user.username),
        printable(&user.email),
        roles.join(","),
        word(user.is_active),
        word(user.two_factor),
        user.last_login_at
            .map_or_else(|| "never".to_owned(), |at: Timestamp| at.to_string()),
    ]
}

/// Text without control characters, which could move the cursor of a terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// Lines whose columns begin at the same place, two blanks after the widest text before them.
fn aligned(rows: &[[String; COLUMNS.len()]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|column| width(column).unwrap_or_default())
        .collect();
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(text, width)| format!("{text:<width$}"))
                .collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_without_blanks() {
        let row = |name: &str, last: &str| [name, "e", "USER", "yes", "no", last].map(str::to_owned);
        let lines = aligned(&[row("zoë", "never"), row("longest", ""), row("a", "x")]);
        assert_eq!(
            lines,
            [
                "zoë      e  USER  yes  no  never",
                "longest  e  USER  yes  no",
                "a        e  USER  yes  no  x",
            ]
        );
    }

    #[test]
    fn control_characters_are_not_printed() {
        assert_eq!(printable("a\u{1b}[2Jb\n"), "a?[2Jb?");
    }
}
