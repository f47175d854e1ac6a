//! Source text that may call `eval` directly.

use super::input::Input;
use crate::ops::may_call_eval;
use crate::value::Text;

/// Any text gets an answer, and a call is found however it is spelled.
pub fn evals(data: &[u8]) {
    let mut input = Input::new(data);
    let _ = may_call_eval(&input.text());
    let mut code = String::from(
        *input.pick(&["", "x=", ";", "(", "'€';", "a.b;\n", "\u{2028}", "/*", "x\\u0020;"]).unwrap_or(&""),
    );
    for letter in "eval".chars() {
        match input.byte() % 4 {
            0 => code.push_str(&format!("\\u{:04x}", letter as u32)),
            1 => code.push_str(&format!("\\u{{{:0width$X}}}", letter as u32, width = input.below(12))),
            _ => code.push(letter),
        }
    }
    for _ in 0..input.below(6) {
        let between =
            ["", " ", "\t", "\n", "\u{a0}", "\u{feff}", "\u{2029}", "\u{3000}", "/* ( */", "// x\n", "\u{1680}"];
        code.push_str(input.pick(&between).unwrap_or(&""));
    }
    code.push_str(input.pick(&["(", "('1')", "(\u{20ac})"]).unwrap_or(&"("));
    let code = Text::from(code);
    assert!(may_call_eval(&code), "{code:?}");
}
