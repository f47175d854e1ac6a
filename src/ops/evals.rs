//! Whether source text may hold a direct call of `eval`.

use crate::value::Text;

/// No false negatives: V8 ends the process when a function that was compiled before its snapshot was made calls `eval`.
pub fn may_call_eval(source: &Text) -> bool {
    match source {
        Text::Latin1(bytes) => search(bytes.iter().map(|byte| u16::from(*byte))),
        Text::Utf16(units) => search(units.iter().copied()),
    }
}

/// Looks for the four letters as a word, or for one of them written as an escape.
fn search(units: impl Iterator<Item = u16>) -> bool {
    const WORD: [u8; 4] = *b"eval";
    let mut units = units.peekable();
    // Letters of the word that have just passed; none inside another word.
    let mut passed = Some(0);
    while let Some(unit) = units.next() {
        if unit == u16::from(b'\\') {
            if units.next_if_eq(&u16::from(b'u')).is_some() && escapes_letter(&mut units) {
                return true;
            }
            passed = None;
        } else if is_part_of_name(unit) {
            passed = passed.filter(|count| WORD.get(*count).is_some_and(|letter| u16::from(*letter) == unit));
            passed = passed.map(|count| count + 1);
        } else if passed == Some(WORD.len()) {
            return true;
        } else {
            passed = Some(0);
        }
    }
    passed == Some(WORD.len())
}

/// What follows `\u` stands for a letter of the word.
fn escapes_letter(units: &mut std::iter::Peekable<impl Iterator<Item = u16>>) -> bool {
    let braced = units.next_if_eq(&u16::from(b'{')).is_some();
    let mut code = 0u32;
    let mut count = 0;
    while let Some(digit) = units.peek().and_then(|unit| char::from(u8::try_from(*unit).ok()?).to_digit(16)) {
        if !braced && count == 4 {
            break;
        }
        code = code.saturating_mul(16).saturating_add(digit);
        count += 1;
        units.next();
    }
    b"eval".iter().any(|letter| code == u32::from(*letter))
}

/// What is not ASCII counts as part of a name, except for V8's white space and line ends.
fn is_part_of_name(unit: u16) -> bool {
    match unit {
        0xa0 | 0x1680 | 0x2000..=0x200a | 0x2028 | 0x2029 | 0x202f | 0x205f | 0x3000 | 0xfeff => false,
        128.. => true,
        _ => u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')),
    }
}

#[cfg(test)]
mod tests {
    use super::may_call_eval;
    use crate::value::Text;

    #[test]
    fn finds_every_spelling() {
        for code in [
            "eval('1')",
            "x=eval ('')",
            "(eval)('')",
            "ev\\u0061l('')",
            "\\u{65}val('')",
            "\\u{0000065}val()",
            "\u{2028}eval()",
            "'€';eval()",
        ] {
            assert!(may_call_eval(&Text::from(code)), "{code}");
        }
        for code in
            ["evaluate()", "medieval()", "retrieval", "ev al", "$eval()", "eval_()", "'\\u2028'", "EVAL()", "evéal()"]
        {
            assert!(!may_call_eval(&Text::from(code)), "{code}");
        }
    }
}
