//! The beginning of a text that stays in the guest's memory: no more of it is read than the host has a use for, and nothing
//! before somebody asks for it.
//!
//! The library lifts a text whole, or checks it whole ([`WasmStr::to_str`]). Here the guest's length is cut before the library
//! sees it, so a text of 60 MiB costs what its first few KiB cost.

#![expect(
    unsafe_code,
    reason = "the library's traits for what is lifted are unsafe to implement; nothing here uses a pointer"
)]

use std::borrow::Cow;

use wasmtime::component::__internal::wasmtime_environ::component::StringEncoding;
use wasmtime::component::__internal::{CanonicalAbiInfo, InstanceType, InterfaceType, LiftContext};
use wasmtime::component::{ComponentType, Lift, WasmStr};
use wasmtime::{Result, StoreContext, ValRaw, bail, format_err};

/// Bit of a length that says of a text in one of two encodings that it is the wider one.
const WIDE: usize = 1 << 31;

/// The first `MAX` units (bytes, or pairs of them where the guest's texts are UTF-16) of a guest's text.
pub(super) struct Beginning<const MAX: usize> {
    text: WasmStr,
    /// Bytes of the whole text.
    pub(super) whole: usize,
}

impl<const MAX: usize> Beginning<MAX> {
    /// Reads it. An error if it is no text.
    pub(super) fn read<'a, T: 'static>(&self, store: impl Into<StoreContext<'a, T>>) -> Result<Cow<'a, str>> {
        self.text.to_str(store)
    }

    fn lift(cx: &mut LiftContext<'_>, ty: InterfaceType, at: u32, told: u32) -> Result<Self> {
        let encoding = cx.options().string_encoding;
        let (start, told) = (usize::try_from(at)?, usize::try_from(told)?);
        let (units, size, tag) = match encoding {
            StringEncoding::Utf8 => (told, 1, 0),
            StringEncoding::Utf16 => (told, 2, 0),
            StringEncoding::CompactUtf16 if told & WIDE == 0 => (told, 1, 0),
            StringEncoding::CompactUtf16 => (told ^ WIDE, 2, WIDE),
        };
        let end = units.checked_mul(size).and_then(|bytes| start.checked_add(bytes));
        let Some(bytes) = end.and_then(|end| cx.memory().get(start..end)) else {
            bail!("a text of {units} units at {start} reaches out of the guest's memory");
        };
        let kept = match (encoding, size) {
            (StringEncoding::Utf8, _) => utf8(bytes, MAX),
            (_, 2) => utf16(bytes, MAX),
            _ => units.min(MAX),
        };
        let whole = bytes.len();
        let cut = [ValRaw::u32(at), ValRaw::u32(u32::try_from(kept | tag)?)];
        Ok(Self {
            text: WasmStr::linear_lift_from_flat(cx, ty, &cut)?,
            whole,
        })
    }
}

/// Bytes of the text up to `max`, without a character that would be cut.
fn utf8(bytes: &[u8], max: usize) -> usize {
    if bytes.len() <= max {
        return bytes.len();
    }
    // A character has four bytes at most, of which the first is no continuation. More of them are no text, which whoever reads
    // it will see.
    let continues = |&at: &usize| bytes[at] & 0xc0 != 0x80;
    (max.saturating_sub(3)..=max).rev().find(continues).unwrap_or(max)
}

/// Units of the text up to `max`, without one half of a pair.
fn utf16(bytes: &[u8], max: usize) -> usize {
    let (units, _) = bytes.as_chunks::<2>();
    if units.len() <= max {
        return units.len();
    }
    let last = max.checked_sub(1).map(|at| u16::from_le_bytes(units[at]));
    let opens = last.is_some_and(|unit| (0xd800..0xdc00).contains(&unit));
    max - usize::from(opens)
}

// SAFETY: it is lowered, laid out and checked as the library's own text is.
unsafe impl<const MAX: usize> ComponentType for Beginning<MAX> {
    type Lower = <WasmStr as ComponentType>::Lower;

    const ABI: CanonicalAbiInfo = WasmStr::ABI;

    fn typecheck(ty: &InterfaceType, types: &InstanceType<'_>) -> Result<()> {
        WasmStr::typecheck(ty, types)
    }
}

// SAFETY: what is lifted is the library's own text, shorter than it was checked to be.
unsafe impl<const MAX: usize> Lift for Beginning<MAX> {
    fn linear_lift_from_flat(cx: &mut LiftContext<'_>, ty: InterfaceType, src: &Self::Lower) -> Result<Self> {
        Self::lift(cx, ty, src[0].get_u32(), src[1].get_u32())
    }

    fn linear_lift_from_memory(cx: &mut LiftContext<'_>, ty: InterfaceType, bytes: &[u8]) -> Result<Self> {
        let (words, _) = bytes.as_chunks::<4>();
        let &[at, told] = words else {
            return Err(format_err!("a text is an address and a length"));
        };
        Self::lift(cx, ty, u32::from_le_bytes(at), u32::from_le_bytes(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_two_characters() {
        for (text, max, kept) in [
            ("abc", 3, 3),
            ("abc", 2, 2),
            ("aä", 2, 1),
            ("a€", 3, 1),
            ("a😀", 4, 1),
            ("a😀b", 5, 5),
            ("", 0, 0),
        ] {
            assert_eq!(utf8(text.as_bytes(), max), kept, "{text} in {max}");
        }
        assert_eq!(utf8(&[0x80; 9], 5), 5, "no text, and still within the bounds");
    }

    #[test]
    fn a_wide_text_is_cut_between_two_characters() {
        let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        for (text, max, kept) in [("abc", 3, 3), ("abc", 2, 2), ("a😀", 2, 1), ("a😀b", 3, 3)] {
            assert_eq!(utf16(&wide(text), max), kept, "{text} in {max}");
        }
    }
}
