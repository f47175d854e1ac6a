//! What a child process sends to its parent, and the other way round.

use super::input::Input;
use crate::child::frame::{Caps, Message, Order, Splitter};

const CAPS: Caps = Caps { ready: 1 << 10, log: 256, call: 512, end: 1 << 11 };

/// Frames arrive in pieces of any size; each is understood or refused, and what is understood is what is sent for it.
pub fn frames(data: &[u8]) {
    let mut input = Input::new(data);
    let mut splitter = Splitter::default();
    while !input.is_empty() {
        splitter.push(input.some_bytes());
        loop {
            match splitter.next(&CAPS) {
                Ok(Some(contents)) => {
                    assert!(contents.len() <= CAPS.end);
                    understand(contents);
                }
                Ok(None) => break,
                // Nothing more is read of such a child.
                Err(_) => return,
            }
        }
    }
}

fn understand(contents: &[u8]) {
    const HEADER: usize = 4;
    if let Some(message) = Message::decode(contents) {
        let sent = message.encode();
        let again = Message::decode(&sent[HEADER..]).map(|message| message.encode());
        assert_eq!(again, Some(sent), "{message:?}");
    }
    if let Some(order) = Order::decode(contents) {
        let sent = order.encode();
        let again = Order::decode(&sent[HEADER..]).map(|order| order.encode());
        assert_eq!(again, Some(sent), "{order:?}");
    }
}
