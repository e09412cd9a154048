//! `mail`: letters by the operator's own mail server. Granted by an administrator, by the word `mail`; the guest names a reader
//! and what they read, never the server, the sender or a header.

use qm_ports::mail::{Letter, MailError};
use wasmtime::Result;

use super::wit::mail::{self, MailError as Told};
use crate::services::capability::MAIL;
use crate::state::{State, at_work};

impl From<MailError> for Told {
    fn from(error: MailError) -> Self {
        match error {
            MailError::NotConfigured => Told::NotConfigured,
            MailError::Invalid(what) => Told::Invalid(what),
            MailError::Unreachable(why) => Told::Unreachable(why),
            MailError::Timeout => Told::Timeout,
            MailError::Later(words) => Told::Later(words),
            MailError::Refused(words) => Told::Refused(words),
            MailError::Auth(words) => Told::Auth(words),
            MailError::Busy => Told::Busy,
        }
    }
}

/// Bytes that a letter holds.
fn size(letter: &mail::Letter) -> usize {
    let extra = letter.extra.iter().map(|(name, text)| name.len() + text.len());
    let html = letter.html.as_ref().map_or(0, String::len);
    letter.id.len() + letter.to.len() + letter.subject.len() + letter.text.len() + html + extra.sum::<usize>()
}

impl mail::Host for State {
    async fn send(&mut self, letter: mail::Letter) -> Result<std::result::Result<(), Told>> {
        // Twice: as it is, and as it is sent.
        let _held = self.account.charge(2 * size(&letter))?;
        if let Err(refusal) = self.check_grant(MAIL) {
            return Ok(Err(Told::Denied(refusal)));
        }
        if let Err(refusal) = self.errands.count_letter() {
            return Ok(Err(Told::Invalid(refusal)));
        }
        let letter = Letter {
            id: letter.id,
            to: letter.to,
            subject: letter.subject,
            text: letter.text,
            html: letter.html,
        };
        if let Err(refusal) = letter.check() {
            return Ok(Err(refusal.into()));
        }
        let Some(mailer) = self.errands.services.mailer() else {
            return Ok(Err(Told::NotConfigured));
        };
        let progress = self.network.progress.clone();
        Ok(at_work(&progress, mailer.send(&letter)).await.map_err(Told::from))
    }
}
