//! Requests to V8's inspector for which V8 would end the process. They are changed so that V8 refuses them.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::value::Text;

/// Parts of such requests.
const MARKS: [&str; 3] = ["startSampling", "serializationOptions", "restartFrame"];

/// V8 restarts a frame where a `debugger` statement or a breakpoint has paused the guest. It also accepts the request in other pauses, such as one
/// that was requested or that an exception has caused, and ends the process when the guest continues.
const RESTART: &str = "Debugger.restartFrame";

/// The request that V8 gets instead of `message`.
pub fn admitted(message: &Text) -> Cow<'_, Text> {
    let text = message.to_string();
    if !is_marked(&text) {
        return Cow::Borrowed(message);
    }
    // V8 must not read a request in another way than this, so it gets what was read. It refuses an empty request.
    let request =
        serde_json::from_str(&text).map(changed).map_or_else(|_| String::new(), |request| request.to_string());
    Cow::Owned(Text::from(request))
}

/// Whether a text has one of the marks, perhaps with escapes.
fn is_marked(text: &str) -> bool {
    let has_mark = |text: &str| MARKS.iter().any(|mark| text.contains(mark));
    has_mark(text) || (text.contains('\\') && has_mark(&unescaped(text)))
}

/// A text whose hexadecimal escapes of ASCII characters are replaced. V8 reads `\x61` like `\u0061`.
fn unescaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        result.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let digits = match escape.bytes().next() {
            Some(b'u') => 4,
            Some(b'x') => 2,
            _ => 0,
        };
        let code = escape.get(1..=digits).filter(|_| digits > 0).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let length = match code {
            Some(code) => {
                result.push(char::from(code));
                digits + 1
            }
            // Another character than these cannot be part of a mark.
            None => escape.chars().next().map_or(0, char::len_utf8),
        };
        rest = &escape[length..];
    }
    result.push_str(rest);
    result
}

/// Callers of an allocation that a profile may name, as V8 limits them by default. It nests a profile as deeply, and recurses to write it.
const MAX_CALLERS: u32 = 128;

fn changed(mut request: Value) -> Value {
    if request["method"] == RESTART {
        request["method"] = json!(format!("{RESTART}, which is not supported,"));
    }
    let is_sampling = request["method"] == "HeapProfiler.startSampling";
    let Some(params) = request.get_mut("params").and_then(Value::as_object_mut) else { return request };
    if is_sampling {
        let number = |name: &str| params.get(name).and_then(Value::as_f64);
        // V8 refuses 0, and takes a part of a byte for 0 later.
        let is_too_often = number("samplingInterval").is_some_and(|interval| interval < 1.0);
        let is_too_deep = number("stackDepth").is_some_and(|depth| depth > f64::from(MAX_CALLERS));
        if is_too_often {
            params.insert("samplingInterval".to_owned(), json!(0));
        }
        if is_too_deep {
            params.insert("stackDepth".to_owned(), json!(MAX_CALLERS));
        }
    }
    // V8 does not expect that a getter throws, or that the guest is stopped meanwhile.
    let mode = params.get_mut("serializationOptions").and_then(|options| options.get_mut("serialization"));
    if let Some(mode) = mode.filter(|mode| **mode == "deep") {
        *mode = json!("deep, which is not supported");
    }
    request
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::admitted;
    use crate::value::Text;

    fn through(message: &str) -> String {
        admitted(&Text::from(message)).to_string()
    }

    #[test]
    fn others_stay_as_they_are() {
        for message in [
            r#"{"id":1,"method":"Runtime.evaluate","params":{"expression":"'\ud800\\u0073tartSampling'"}}"#,
            r#"{ "id": 1, "method": "HeapProfiler.stopSampling" }"#,
            "\\",
            "\\u12",
            "",
        ] {
            assert_eq!(through(message), message);
        }
    }

    #[test]
    fn v8_refuses_what_it_cannot_do() {
        let interval = |message: &str| {
            serde_json::from_str::<Value>(&through(message)).unwrap()["params"]["samplingInterval"].as_f64()
        };
        let of = |method: &str, interval: &str| {
            format!(r#"{{"id":1,"method":"{method}","params":{{"samplingInterval":{interval}}}}}"#)
        };
        for method in ["HeapProfiler.startSampling", "HeapProfiler.st\\u0061rtSampling"] {
            for (given, expected) in [("0.5", 0.0), ("1e-300", 0.0), ("1", 1.0), ("32768.5", 32768.5)] {
                assert_eq!(interval(&of(method, given)), Some(expected));
            }
        }
        // Not JSON, or not in the only way that counts.
        assert_eq!(through(&of("HeapProfiler.st\\x61rtSampling", "0.5")), "");
        assert_eq!(through(&format!("/* */{}", of("HeapProfiler.startSampling", "0.5"))), "");
        let twice = r#"{"method":"HeapProfiler.startSampling","method":"x","params":{"samplingInterval":0.5}}"#;
        assert_eq!(through(twice).matches("method").count(), 1);
        let callers = of("HeapProfiler.startSampling", "1").replace("samplingInterval", "stackDepth");
        assert!(through(&callers.replace(":1}", ":1e5}")).contains("\"stackDepth\":128"));
        for method in ["Debugger.restartFrame", "Debugger.rest\\u0061rtFrame"] {
            assert!(through(&of(method, "1")).contains(r#""method":"Debugger.restartFrame, which"#));
        }
        let deep = r#"{"id":1,"params":{"serializationOptions":{"serialization":"deep"}}}"#;
        assert!(through(deep).contains("not supported"));
        let json = deep.replace("deep", "json");
        assert_eq!(serde_json::from_str::<Value>(&through(&json)).ok(), serde_json::from_str(&json).ok());
    }
}
