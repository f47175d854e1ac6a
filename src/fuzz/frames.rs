//! What a child process and its parent send each other.

use super::input::Input;
use crate::child::frame::{Limits, Message, Order};
use crate::child::splitter::Splitter;

const LIMITS: Limits = Limits { line: 256, tools: 8, params: 512, result: 1 << 11, text: 1 << 8, heap: 1e6 };

/// Frames arrive in pieces of any size. Each is decoded or refused, and a decoded message encodes to the same bytes.
pub fn frames(data: &[u8]) {
    let mut input = Input::new(data);
    let mut splitter = Splitter::default();
    while !input.is_empty() {
        splitter.push(input.some_bytes());
        loop {
            match splitter.next(|kind| LIMITS.frame(kind)) {
                Ok(Some(contents)) => {
                    assert!(contents.len() <= LIMITS.frame(contents[0]));
                    understand(contents);
                }
                Ok(None) => break,
                // Nothing more is read from such a child.
                Err(_) => return,
            }
        }
    }
}

fn understand(contents: &[u8]) {
    const HEADER: usize = 4;
    if let Some(message) = Message::decode(contents, &LIMITS) {
        assert!(is_within(&message), "{message:?}");
        let sent = message.encode();
        let again = Message::decode(&sent[HEADER..], &LIMITS).map(|message| message.encode());
        assert_eq!(again, Some(sent), "{message:?}");
    }
    if let Some(order) = Order::decode(contents) {
        let sent = order.encode();
        let again = Order::decode(&sent[HEADER..]).map(|order| order.encode());
        assert_eq!(again, Some(sent), "{order:?}");
    }
}

/// Whether every field is within its maximum.
fn is_within(message: &Message) -> bool {
    match message {
        Message::Moved(_) | Message::Ready(_) | Message::Begun => true,
        Message::Log(_, text) => text.len() <= LIMITS.line,
        Message::Call(_, tool, params) => *tool < LIMITS.tools && params.byte_len() <= LIMITS.params,
        Message::End(end) => {
            let texts = [&end.name, &end.stack].into_iter().flatten();
            let [heap, lost] = end.figures;
            end.value.byte_size() <= LIMITS.result
                && texts.map(|text| text.len()).all(|length| length <= LIMITS.text)
                && (0.0..=LIMITS.heap).contains(&heap)
                && (0.0..=f64::from(u32::MAX)).contains(&lost)
        }
    }
}
