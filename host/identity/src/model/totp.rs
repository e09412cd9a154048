//! Time-based one-time passwords (RFC 6238): SHA-1, 6 digits, steps of 30 s, one step of drift either way.

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, Mac};
use qm_kernel::{Secret, Timestamp};
use sha1::Sha1;
use subtle::{Choice, ConstantTimeEq};

const STEP_SECS: i64 = 30;
const DRIFT_STEPS: i64 = 1;
const DIGITS: usize = 6;

/// Whether `code` (trimmed) is the one of `now`, of the step before or of the step after.
/// `seed` is base32 text as authenticators take it; one that cannot be read matches nothing.
pub fn verify(seed: &Secret, code: &str, now: Timestamp) -> bool {
    let code = code.trim();
    if code.len() != DIGITS {
        return false;
    }
    let text = seed.expose().trim_end_matches('=').to_ascii_uppercase();
    let Ok(key) = BASE32_NOPAD.decode(text.as_bytes()) else {
        return false;
    };
    let step = now.secs().div_euclid(STEP_SECS);
    // Every step is reckoned and compared in full, so the time taken says nothing about which one matched.
    let matched = (step - DRIFT_STEPS..=step + DRIFT_STEPS)
        .map(|step| code_of(&key, step).as_bytes().ct_eq(code.as_bytes()))
        .fold(Choice::from(0), |any, one| any | one);
    matched.into()
}

/// The code of one step, with leading zeros.
fn code_of(key: &[u8], step: i64) -> String {
    format!("{:0DIGITS$}", truncated(key, step) % 10_u32.pow(DIGITS as u32))
}

/// The 31 bits that RFC 4226 takes out of the HMAC ("dynamic truncation").
fn truncated(key: &[u8], step: i64) -> u32 {
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(key) else {
        // HMAC takes keys of any length; this arm is never taken.
        return 0;
    };
    mac.update(&step.to_be_bytes());
    let digest = mac.finalize().into_bytes();
    let offset = usize::from(digest[digest.len() - 1] & 0x0f);
    let word = [
        digest[offset],
        digest[offset + 1],
        digest[offset + 2],
        digest[offset + 3],
    ];
    u32::from_be_bytes(word) & 0x7fff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The ASCII key `12345678901234567890` of RFC 6238, appendix B.
    const RFC_KEY: &[u8] = b"12345678901234567890";
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
            assert_eq!(
                truncated(RFC_KEY, secs / STEP_SECS) % 100_000_000,
                eight_digits,
                "at {secs}"
            );
            let six = format!("{:06}", eight_digits % 1_000_000);
            assert!(
                verify(&rfc_seed(), &six, Timestamp::from_secs(secs)),
                "{six} at {secs}"
            );
        }
    }

    #[test]
    fn one_step_of_drift_is_taken_and_two_are_not() {
        let seed = rfc_seed();
        let (at, code) = (1_111_111_109, "081804");
        let start_of_step = at / STEP_SECS * STEP_SECS;
        for (secs, taken) in [
            (start_of_step - STEP_SECS, true),
            (start_of_step, true),
            (start_of_step + 2 * STEP_SECS - 1, true),
            (start_of_step - STEP_SECS - 1, false),
            (start_of_step + 2 * STEP_SECS, false),
        ] {
            assert_eq!(
                verify(&seed, code, Timestamp::from_secs(secs)),
                taken,
                "at {secs}"
            );
        }
    }

    #[test]
    fn spaces_around_and_lower_case_seeds_are_fine() {
        let seed = Secret::new(BASE32_NOPAD.encode(RFC_KEY).to_lowercase());
        assert!(verify(&seed, " 287082\n", Timestamp::from_secs(59)));
        assert!(!verify(
            &Secret::new("not base32!"),
            "287082",
            Timestamp::from_secs(59)
        ));
    }

    proptest! {
        #[test]
        fn hostile_texts_never_panic(seed in ".*", code in ".*", ms in any::<i64>()) {
            let _ = verify(&Secret::new(seed), &code, Timestamp::from_ms(ms));
        }
    }
}
