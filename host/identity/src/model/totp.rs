//! Time-based one-time passwords (RFC 6238) by the `totp-rs` crate: SHA-1, 6 digits, steps of 30 s, one step
//! of drift either way. The time always comes from [`Ctx`].

use data_encoding::BASE32_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use qm_kernel::{Ctx, Secret, Timestamp};
use totp_rs::{Algorithm, TOTP};

const STEP_SECS: u64 = 30;
const DRIFT_STEPS: u64 = 1;
const DIGITS: usize = 6;
/// 160 bits, as RFC 4226 asks for: the length of the hash.
const SEED_BYTES: usize = 20;

/// Characters that a URI keeps unencoded (RFC 3986 §2.3).
const RESERVED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A new seed in the format of authenticator apps: base32 without padding.
pub fn new_seed(ctx: &Ctx) -> Secret {
    Secret::new(BASE32_NOPAD.encode(&ctx.bytes::<SEED_BYTES>()))
}

/// The URI that an authenticator reads, typed or scanned.
pub fn otpauth_url(issuer: &str, username: &str, seed: &Secret) -> String {
    let (issuer, username) = (
        utf8_percent_encode(issuer, &RESERVED),
        utf8_percent_encode(username, &RESERVED),
    );
    format!(
        "otpauth://totp/{issuer}:{username}?secret={}&period={STEP_SECS}&digits={DIGITS}&algorithm=SHA1&issuer={issuer}",
        seed.expose()
    )
}

/// The time step whose code is `code` (trimmed): the present one, the one before or the one after. `None` for
/// any other code. `seed` is base32 text; an unreadable one matches nothing.
pub fn matching_step(seed: &Secret, code: &str, now: Timestamp) -> Option<i64> {
    let code = code.trim();
    if code.len() != DIGITS {
        return None;
    }
    let totp = totp_of(seed)?;
    let step = u64::try_from(now.secs()).ok()? / STEP_SECS;
    let candidates = step.saturating_sub(DRIFT_STEPS)..=step + DRIFT_STEPS;
    // Checked one by one, because the caller spends the matching step.
    let matched = candidates
        .into_iter()
        .find(|step| totp.check(code, step * STEP_SECS))?;
    i64::try_from(matched).ok()
}

/// Generator for a seed, without drift.
fn totp_of(seed: &Secret) -> Option<TOTP> {
    let text = seed.expose().trim_end_matches('=').to_ascii_uppercase();
    let key = BASE32_NOPAD.decode(text.as_bytes()).ok()?;
    // Unchecked, because earlier seeds have 80 bits, which the crate would refuse.
    Some(TOTP::new_unchecked(Algorithm::SHA1, DIGITS, 0, STEP_SECS, key))
}

/// Present code of an authenticator with this seed.
#[cfg(test)]
pub fn code_at(seed: &Secret, now: Timestamp) -> String {
    let totp = totp_of(seed).expect("base32");
    totp.generate(now.secs() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The ASCII key of RFC 6238, appendix B.
    const RFC_KEY: &[u8] = b"12345678901234567890";
    const STEP: i64 = STEP_SECS as i64;
    /// Unix seconds and the SHA-1 code of 8 digits.
    const RFC_VECTORS: [(i64, u32); 6] = [
        (59, 94_287_082),
        (1_111_111_109, 7_081_804),
        (1_111_111_111, 14_050_471),
        (1_234_567_890, 89_005_924),
        (2_000_000_000, 69_279_037),
        (20_000_000_000, 65_353_130),
    ];

    fn rfc_seed() -> Secret {
        Secret::new(BASE32_NOPAD.encode(RFC_KEY))
    }

    #[test]
    fn codes_are_those_of_rfc_6238() {
        for (secs, eight_digits) in RFC_VECTORS {
            let eight = TOTP::new_unchecked(Algorithm::SHA1, 8, 0, STEP_SECS, RFC_KEY.to_vec());
            assert_eq!(
                eight.generate(secs as u64),
                format!("{eight_digits:08}"),
                "at {secs}"
            );
            let six = format!("{:06}", eight_digits % 1_000_000);
            assert_eq!(
                matching_step(&rfc_seed(), &six, Timestamp::from_secs(secs)),
                Some(secs / STEP),
                "{six} at {secs}"
            );
        }
    }

    #[test]
    fn one_step_of_drift_is_taken_and_two_are_not() {
        let seed = rfc_seed();
        let (at, code) = (1_111_111_109, "081804");
        let start_of_step = at / STEP * STEP;
        for (secs, taken) in [
            (start_of_step - STEP, true),
            (start_of_step, true),
            (start_of_step + 2 * STEP - 1, true),
            (start_of_step - STEP - 1, false),
            (start_of_step + 2 * STEP, false),
        ] {
            assert_eq!(
                matching_step(&seed, code, Timestamp::from_secs(secs)),
                taken.then_some(at / STEP),
                "at {secs}"
            );
        }
    }

    #[test]
    fn spaces_around_and_lower_case_seeds_are_fine() {
        let seed = Secret::new(BASE32_NOPAD.encode(RFC_KEY).to_lowercase());
        assert_eq!(
            matching_step(&seed, " 287082\n", Timestamp::from_secs(59)),
            Some(1)
        );
        let unreadable = Secret::new("not base32!");
        assert_eq!(
            matching_step(&unreadable, "287082", Timestamp::from_secs(59)),
            None
        );
    }

    /// A seed of 80 bits from an earlier version, with a code from that version.
    #[test]
    fn seeds_enrolled_before_stay_valid() {
        let (seed, now) = (
            Secret::new("JBSWY3DPEHPK3PXP"),
            Timestamp::from_secs(1_932_628_500),
        );
        assert_eq!(matching_step(&seed, "097956", now), Some(64_420_950));
        assert_eq!(code_at(&seed, now), "097956");
    }

    #[test]
    fn a_seed_is_32_characters_and_no_two_are_alike() {
        let seed = new_seed(&Ctx::system());
        assert_eq!(seed.expose().len(), 32);
        assert_eq!(
            BASE32_NOPAD
                .decode(seed.expose().as_bytes())
                .expect("base32")
                .len(),
            SEED_BYTES
        );
        assert!(seed != new_seed(&Ctx::system()));
    }

    #[test]
    fn names_are_encoded_so_that_nobody_can_add_a_parameter() {
        let seed = Secret::new("JBSWY3DPEHPK3PXP");
        assert_eq!(
            otpauth_url("Quarter & master", "zoë@home:1?secret=x", &seed),
            "otpauth://totp/Quarter%20%26%20master:zo%C3%AB%40home%3A1%3Fsecret%3Dx\
             ?secret=JBSWY3DPEHPK3PXP&period=30&digits=6&algorithm=SHA1&issuer=Quarter%20%26%20master"
        );
    }

    proptest! {
        #[test]
        fn hostile_texts_never_panic(seed in ".*", code in ".*", ms in any::<i64>()) {
            let _ = matching_step(&Secret::new(seed), &code, Timestamp::from_ms(ms));
        }
    }
}
