//! Choices of whoever creates a torrent, and their limits.

use super::{CreateError, MAX_PIECE_BYTES, MIN_PIECE_BYTES};

/// Trackers of all tiers at most; web seeds too.
pub const MAX_ADDRESSES: usize = 100;
/// Longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 2048;
/// Longest comment, in bytes.
const MAX_COMMENT_BYTES: usize = 4096;
/// Longest source and name of the creating program, in bytes.
const MAX_LABEL_BYTES: usize = 255;

/// Version of the torrent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For every client.
    #[default]
    V1,
    /// Both versions in one, with an identity of each. Files begin at pieces, with padding between them. Clients that know
    /// nothing of padding, such as rTorrent 0.9.8, take it for files, and do not complete a torrent of several files from
    /// the disk.
    Hybrid,
}

/// Choices for a new torrent. The default is a public v1 torrent without trackers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub format: Format,
    /// Bytes of a piece, a power of two from 16 KiB to 64 MiB; `None`: by the size of the content.
    pub piece_size: Option<u64>,
    /// Clients get peers from the trackers alone (BEP 27).
    pub is_private: bool,
    /// Label that makes the info-hash differ from that of the same files elsewhere.
    pub source: Option<String>,
    /// Announce addresses in tiers (BEP 12); empty tiers are left out.
    pub trackers: Vec<Vec<String>>,
    /// Addresses of the content (BEP 19): of the file, or of the folder that holds the torrent's own.
    pub web_seeds: Vec<String>,
    pub comment: Option<String>,
    /// Name of the program.
    pub created_by: Option<String>,
    /// Seconds since 1970.
    pub created_at: Option<i64>,
}

fn refused(option: impl Into<String>, fault: impl Into<String>) -> CreateError {
    CreateError::Option {
        option: option.into(),
        fault: fault.into(),
    }
}

impl Options {
    /// Refuses choices with which no torrent can be made, whatever the files are.
    pub fn check_choices(&self) -> Result<(), CreateError> {
        if let Some(size) = self.piece_size
            && !(size.is_power_of_two() && (MIN_PIECE_BYTES..=MAX_PIECE_BYTES).contains(&size))
        {
            return Err(CreateError::PieceSize(size));
        }
        check_text("source", self.source.as_deref(), MAX_LABEL_BYTES)?;
        check_text("createdBy", self.created_by.as_deref(), MAX_LABEL_BYTES)?;
        check_text("comment", self.comment.as_deref(), MAX_COMMENT_BYTES)?;
        if self.created_at.is_some_and(|seconds| seconds < 0) {
            return Err(refused("createdAt", "it lies before 1970"));
        }
        let trackers = self.trackers.iter().map(Vec::len).sum::<usize>();
        for (option, given) in [("trackers", trackers), ("webSeeds", self.web_seeds.len())] {
            if given > MAX_ADDRESSES {
                let fault = format!("{given} addresses, at most {MAX_ADDRESSES} are possible");
                return Err(refused(option, fault));
            }
        }
        for (tier, trackers) in self.trackers.iter().enumerate() {
            for (at, tracker) in trackers.iter().enumerate() {
                let fault = fault_of_address(tracker, &["http", "https", "udp", "ws", "wss"]);
                if let Some(fault) = fault {
                    return Err(refused(format!("trackers[{tier}][{at}]"), fault));
                }
            }
        }
        for (at, seed) in self.web_seeds.iter().enumerate() {
            if let Some(fault) = fault_of_address(seed, &["http", "https", "ftp"]) {
                return Err(refused(format!("webSeeds[{at}]"), fault));
            }
        }
        Ok(())
    }
}

fn check_text(option: &str, text: Option<&str>, most: usize) -> Result<(), CreateError> {
    let Some(text) = text else { return Ok(()) };
    if text.is_empty() {
        return Err(refused(option, "it is empty: leave it out instead"));
    }
    if text.len() > most {
        return Err(refused(
            option,
            format!("{} bytes, at most {most} are possible", text.len()),
        ));
    }
    let may_break = option == "comment";
    if text
        .chars()
        .any(|letter| letter.is_control() && !(may_break && matches!(letter, '\n' | '\r' | '\t')))
    {
        return Err(refused(option, "it has a control character in it"));
    }
    Ok(())
}

/// Fault of an address, which is not quoted: it may contain a key.
fn fault_of_address(address: &str, schemes: &[&str]) -> Option<String> {
    if address.len() > MAX_ADDRESS_BYTES {
        return Some(format!(
            "{} bytes, at most {MAX_ADDRESS_BYTES} are possible",
            address.len()
        ));
    }
    if !address.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some("it has a blank or a character beyond ASCII in it: write it percent-encoded".into());
    }
    let known = address
        .split_once("://")
        .filter(|(scheme, _)| schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme)));
    let Some((_, rest)) = known else {
        return Some(format!("it must begin with one of {}://", schemes.join("://, ")));
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    (host.is_empty() || host.starts_with(':')).then(|| "it names no host".into())
}
