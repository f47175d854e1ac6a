//! Messages of the inspector's protocol.

use std::sync::Arc;

use super::input::Input;
use super::isolate::{Kept, Pair, settle};
use crate::isolate::{Guest, Limits, Sink, drain};
use crate::ops::Prepared;
use crate::value::{Completion, Text, Value};

static KEPT: Kept = Kept::new(|| Pair::new(true));
const MAX_USES: u32 = 500;
const MAX_MESSAGES: usize = 8;

/// `ID`, `TEXT` and `NUMBER` are filled in.
const TEMPLATES: [&str; 24] = [
    r#"{"id":NUMBER,"method":"Runtime.enable"}"#,
    r#"{"id":NUMBER,"method":"Debugger.enable","params":{"maxScriptsCacheSize":NUMBER}}"#,
    r#"{"id":NUMBER,"method":"Runtime.evaluate","params":{"expression":TEXT,"objectGroup":"g","contextId":NUMBER,"timeout":NUMBER}}"#,
    r#"{"id":NUMBER,"method":"Runtime.evaluate","params":{"expression":"({a:1,b:[new Map([[1,2]])]})","generatePreview":true,"returnByValue":true}}"#,
    r#"{"id":NUMBER,"method":"Runtime.getProperties","params":{"objectId":TEXT,"ownProperties":true}}"#,
    r#"{"id":NUMBER,"method":"Runtime.callFunctionOn","params":{"functionDeclaration":TEXT,"executionContextId":NUMBER,"arguments":[{"value":TEXT},{"unserializableValue":TEXT},{"objectId":TEXT}]}}"#,
    r#"{"id":NUMBER,"method":"Runtime.releaseObjectGroup","params":{"objectGroup":TEXT}}"#,
    r#"{"id":NUMBER,"method":"Runtime.compileScript","params":{"expression":TEXT,"sourceURL":TEXT,"persistScript":true}}"#,
    r#"{"id":NUMBER,"method":"Runtime.addBinding","params":{"name":TEXT}}"#,
    r#"{"id":NUMBER,"method":"Runtime.globalLexicalScopeNames"}"#,
    r#"{"id":NUMBER,"method":"Runtime.runIfWaitingForDebugger"}"#,
    r#"{"id":NUMBER,"method":"Debugger.setBreakpointByUrl","params":{"lineNumber":NUMBER,"urlRegex":TEXT,"condition":TEXT}}"#,
    r#"{"id":NUMBER,"method":"Debugger.setPauseOnExceptions","params":{"state":TEXT}}"#,
    r#"{"id":NUMBER,"method":"Debugger.pause"}"#,
    r#"{"id":NUMBER,"method":"Debugger.resume","params":{"terminateOnResume":true}}"#,
    r#"{"id":NUMBER,"method":"Debugger.getScriptSource","params":{"scriptId":TEXT}}"#,
    r#"{"id":NUMBER,"method":"Debugger.setScriptSource","params":{"scriptId":TEXT,"scriptSource":TEXT}}"#,
    r#"{"id":NUMBER,"method":"Debugger.evaluateOnCallFrame","params":{"callFrameId":TEXT,"expression":TEXT}}"#,
    r#"{"id":NUMBER,"method":"Debugger.searchInContent","params":{"scriptId":TEXT,"query":TEXT,"isRegex":true}}"#,
    r#"{"id":NUMBER,"method":"Profiler.enable"}"#,
    r#"{"id":NUMBER,"method":"Profiler.startPreciseCoverage","params":{"callCount":true,"detailed":true}}"#,
    r#"{"id":NUMBER,"method":"Profiler.takePreciseCoverage"}"#,
    r#"{"id":NUMBER,"method":"HeapProfiler.getObjectByHeapObjectId","params":{"objectId":TEXT}}"#,
    r#"{"id":NUMBER,"method":TEXT,"params":{TEXT:TEXT,"x":[NUMBER,{"y":TEXT}]}}"#,
];

struct Listener;

impl Sink for Listener {
    fn deliver(&self, _call: Option<i32>, message: Text, done: Arc<dyn Completion>) {
        let text = message.to_string();
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "not JSON: {text}");
        done.complete(Ok(Value::Undefined));
    }
}

/// Every message is accepted, and the isolate keeps working.
pub fn inspector(data: &[u8]) {
    let mut input = Input::new(data);
    KEPT.with(MAX_USES, |pair| {
        let remote = pair.remote();
        let Ok(session) = remote.open_session(Arc::new(Listener)) else { return };
        for _ in 0..MAX_MESSAGES {
            if input.is_empty() {
                break;
            }
            let message = message(&mut input);
            let _ = remote.send_to_session(session, message);
        }
        let work = Guest::work(|_scope, guest| {
            drain(guest);
            Ok(Value::Undefined)
        });
        let _ = settle(Prepared::Enter { remote: Arc::clone(&remote), limits: Limits::default(), work });
        remote.close_session(session);
    });
}

fn message(input: &mut Input<'_>) -> Text {
    let choice = usize::from(input.byte());
    let Some(template) = TEMPLATES.get(choice % (TEMPLATES.len() + 4)) else { return input.text() };
    let mut message = String::new();
    let mut rest = *template;
    while let Some(at) = rest.find(['T', 'N']) {
        let (before, hole) = rest.split_at(at);
        message.push_str(before);
        rest = if let Some(after) = hole.strip_prefix("TEXT") {
            let text = match input.byte() % 4 {
                0 => format!("{{\"injectedScriptId\":1,\"id\":{}}}", input.byte()),
                1 => input.byte().to_string(),
                2 => "for(;;);".to_owned(),
                _ => input.text().to_string(),
            };
            message.push_str(&serde_json::Value::String(text).to_string());
            after
        } else if let Some(after) = hole.strip_prefix("NUMBER") {
            message.push_str(&i32::from(input.byte() as i8).to_string());
            after
        } else {
            message.push_str(&hole[..1]);
            &hole[1..]
        };
    }
    message.push_str(rest);
    Text::from(message)
}
