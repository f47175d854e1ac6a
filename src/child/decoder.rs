//! Decodes large messages. Copying the texts and buffers of one may take half a second, so the thread that serves all children leaves that to
//! another thread, which exists only while there is work.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::{mem, thread};

use super::frame::{Limits, Message};
use crate::native::lock;

const STACK_SIZE: usize = 256 << 10;

/// A frame, and where in `bytes` its contents are.
pub struct Frame {
    pub bytes: Vec<u8>,
    pub contents: Range<usize>,
    pub limits: Limits,
}

impl Frame {
    fn decode(self) -> Option<Message> {
        let contents = self.bytes.get(self.contents.clone())?;
        catch_unwind(AssertUnwindSafe(|| Message::decode(contents, &self.limits))).ok().flatten()
    }
}

/// Gets each message with the number of its process; `None` if it is malformed.
pub type Sink = fn(u64, Option<Message>);

struct Work {
    frames: VecDeque<(u64, Frame, Sink)>,
    has_thread: bool,
}

static WORK: Mutex<Work> = Mutex::new(Work { frames: VecDeque::new(), has_thread: false });

/// Decodes a frame of the process with this number. One frame is decoded at a time.
pub fn decode(number: u64, frame: Frame, sink: Sink) {
    let mut work = lock(&WORK);
    work.frames.push_back((number, frame, sink));
    if mem::replace(&mut work.has_thread, true) {
        return;
    }
    drop(work);
    let builder = thread::Builder::new().name("isolated-v8 decoder".to_owned()).stack_size(STACK_SIZE);
    if builder.spawn(decode_all).is_err() {
        // The system has no thread left, so all children wait.
        decode_all();
    }
}

/// Nothing waits for the message of the process with this number any more. It is not decoded, unless that has begun.
pub fn forget(number: u64) {
    let mut work = lock(&WORK);
    let index = work.frames.iter().position(|(other, ..)| *other == number);
    let frame = index.and_then(|index| work.frames.remove(index));
    drop(work);
    // Without the lock: it may have hundreds of megabytes.
    drop(frame);
}

fn decode_all() {
    loop {
        let mut work = lock(&WORK);
        let Some((number, frame, sink)) = work.frames.pop_front() else {
            work.has_thread = false;
            return;
        };
        drop(work);
        sink(number, frame.decode());
    }
}
