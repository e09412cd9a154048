//! Elements of a row in which numbers are joined.

use crate::error::Error;

/// The words of a joined element, one blank between two of them, of which the last may hold blanks.
pub struct Words<'a>(Option<&'a str>);

impl<'a> Words<'a> {
    pub fn split(joined: &'a str) -> Self {
        Self(Some(joined))
    }

    fn left(&self) -> Result<&'a str, Error> {
        self.0
            .ok_or_else(|| Error::Protocol("a torrent without all its fields".to_owned()))
    }

    /// The next word.
    pub fn word(&mut self) -> Result<&'a str, Error> {
        let text = self.left()?;
        let end = memchr::memchr(b' ', text.as_bytes()).unwrap_or(text.len());
        Ok(self.cut(text, end))
    }

    /// Rest of the text.
    pub fn rest(&mut self) -> Result<&'a str, Error> {
        let text = self.left()?;
        self.0 = None;
        Ok(text)
    }

    /// The next word as a number that cannot be negative; 0 when it is, or is none. Reads digits while it looks for the
    /// end of the word: most of a list is numbers.
    pub fn number(&mut self) -> Result<u64, Error> {
        let text = self.left()?;
        let (mut number, mut end, mut is_plain) = (0_u64, 0, true);
        for &byte in text.as_bytes() {
            if byte == b' ' {
                break;
            }
            let digit = byte.wrapping_sub(b'0');
            is_plain &= digit < 10;
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            end += 1;
        }
        let word = self.cut(text, end);
        // So many digits are no more than a u64 holds.
        if is_plain && (1..20).contains(&end) {
            return Ok(number);
        }
        Ok(word.parse().unwrap_or(0))
    }

    /// First `end` bytes of the rest; the blank behind them is removed too.
    fn cut(&mut self, text: &'a str, end: usize) -> &'a str {
        self.0 = text.get(end + 1..);
        &text[..end]
    }
}
