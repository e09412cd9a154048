//! The authenticator of a phone: the six digits of a seed at this moment (RFC 6238, SHA-1, 30 s).

use hmac::{Hmac, Mac};
use qm_kernel::Ctx;
use sha1::Sha1;

const STEP_SECS: i64 = 30;

/// The code of a base32 seed, as the service hands it out at setup.
///
/// # Panics
/// When the text is no base32.
pub fn code(seed: &str) -> String {
    let step = Ctx::system().now().secs() / STEP_SECS;
    let mut mac = Hmac::<Sha1>::new_from_slice(&base32(seed)).expect("HMAC takes any key");
    mac.update(&step.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let offset = usize::from(hash[19] & 15);
    let word = u32::from_be_bytes([hash[offset], hash[offset + 1], hash[offset + 2], hash[offset + 3]]);
    format!("{:06}", (word & 0x7fff_ffff) % 1_000_000)
}

fn base32(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'2'..=b'7' => letter - b'2' + 26,
            _ => panic!("{text} is no base32"),
        };
        bits = (bits << 5) | u32::from(value);
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_as_in_rfc_4648() {
        assert_eq!(base32("MZXW6YTBOI"), b"foobar");
        assert_eq!(base32("GEZDGNBVGY3TQOJQ"), b"1234567890");
    }
}
