//! Whether source text may contain a direct call of `eval`.

use crate::value::Text;

/// Has no false negatives: V8 ends the process when a function that was compiled before its snapshot was made calls `eval`.
pub fn may_call_eval(source: &Text) -> bool {
    match source {
        Text::Latin1(bytes) => search(bytes.iter().map(|byte| u16::from(*byte))),
        Text::Utf16(units) => search(units.iter().copied()),
    }
}

/// Looks for the word followed by a character with which a call can continue, or for one of its letters written as an escape.
fn search(units: impl Iterator<Item = u16>) -> bool {
    const WORD: &[u8] = b"eval";
    let mut units = units.peekable();
    // Number of letters of the word that have just passed; `None` inside another word.
    let mut passed = Some(0);
    let mut spaced = false;
    while let Some(unit) = units.next() {
        if unit == u16::from(b'\\') {
            if units.next_if_eq(&u16::from(b'u')).is_some() && escapes_letter(&mut units) {
                return true;
            }
            passed = None;
        } else if is_part_of_name(unit) {
            // The word itself may follow, on a new line.
            passed = if spaced { Some(0) } else { passed };
            passed = passed.filter(|count| WORD.get(*count).is_some_and(|letter| u16::from(*letter) == unit));
            passed = passed.map(|count| count + 1);
        } else if passed != Some(WORD.len()) {
            passed = Some(0);
        } else if !is_space(unit) {
            // The last three begin comments.
            if b"()/<-".iter().any(|byte| u16::from(*byte) == unit) {
                return true;
            }
            passed = Some(0);
        }
        spaced = is_space(unit);
    }
    false
}

/// Whether the characters after `\u` denote a letter of the word.
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

/// JavaScript's white space and line ends.
fn is_space(unit: u16) -> bool {
    matches!(unit, 9..=13 | 32 | 0xa0 | 0x1680 | 0x2000..=0x200a | 0x2028 | 0x2029 | 0x202f | 0x205f | 0x3000 | 0xfeff)
}

/// All other characters beyond ASCII count as part of a name.
fn is_part_of_name(unit: u16) -> bool {
    match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'),
        _ => !is_space(unit),
    }
}

#[cfg(test)]
mod tests {
    use super::may_call_eval;
    use crate::value::Text;

    #[test]
    fn finds_every_spelling_of_a_call() {
        for code in [
            "eval('1')",
            "x=eval ('')",
            "(eval)('')",
            "ev\\u0061l('')",
            "\\u{65}val('')",
            "\\u{0000065}val()",
            "\u{2028}eval\u{2029}()",
            "'€';eval\n()",
            "eval/**/()",
            "eval<!-- x\n()",
            "eval\n--> x\n()",
            "f = eval\neval('')",
            "eval \n eval\neval ()",
        ] {
            assert!(may_call_eval(&Text::from(code)), "{code}");
        }
        for code in [
            "evaluate()",
            "medieval()",
            "retrieval",
            "ev al()",
            "$eval()",
            "eval_()",
            "'\\u2028'",
            "EVAL()",
            "evéal()",
            "'eval'(",
            "typeof eval;",
            "eval",
            "eval\nevaluate()",
            "eval\nx()",
        ] {
            assert!(!may_call_eval(&Text::from(code)), "{code}");
        }
    }
}
