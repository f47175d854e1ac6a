//! What a child has sent and its parent has not handled yet.

use super::decoder::{self, Frame, Sink};
use super::frame::{Limits, Message, is_end};
use super::intake::Partial;
use super::splitter::{Oversized, Splitter};

#[derive(Default)]
pub struct Arrivals {
    frames: Splitter,
    /// The large message that is being decoded. Nothing more is read until that is done.
    decoding: Option<Partial>,
}

impl Drop for Arrivals {
    /// The process has ended. Otherwise its message would take memory, and the time of messages of other processes.
    fn drop(&mut self) {
        if let Some(Partial { process, .. }) = self.decoding {
            decoder::forget(process);
        }
    }
}

/// The next message.
pub enum Next {
    /// It has not arrived completely.
    Nothing,
    Message(Message),
    /// It is being decoded on another thread. [`Arrivals::decoded`] must be called with what the sink gets.
    Later,
    Malformed,
    Oversized,
}

impl Arrivals {
    pub fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    pub fn is_decoding(&self) -> bool {
        self.decoding.is_some()
    }

    /// The message that is being received or decoded, if part of it has arrived.
    pub fn partial(&self, process: u64) -> Option<Partial> {
        if let Some(decoding) = self.decoding {
            return Some(decoding);
        }
        let (arrived, length) = self.frames.partial()?;
        Some(Partial { process, arrived, length })
    }

    /// Takes the next message. If it is large, `sink` gets it, with the process's number.
    pub fn next(&mut self, limits: &Limits, number: u64, sink: Sink) -> Next {
        if self.decoding.is_some() {
            return Next::Later;
        }
        let contents = match self.frames.next(|kind| limits.frame(kind)) {
            Ok(None) => return Next::Nothing,
            Err(Oversized) => return Next::Oversized,
            Ok(Some(contents)) => contents,
        };
        let length = contents.len();
        let partial = Partial { process: number, arrived: length, length };
        if !(partial.is_large() && is_end(contents)) {
            return Message::decode(contents, limits).map_or(Next::Malformed, Next::Message);
        }
        self.decoding = Some(partial);
        // Nothing that comes after an end counts.
        let (bytes, contents) = self.frames.take_last(length);
        decoder::decode(number, Frame { bytes, contents, limits: *limits }, sink);
        Next::Later
    }

    /// The large message was decoded. False if there is none, because the process has ended since.
    pub fn decoded(&mut self) -> bool {
        self.decoding.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};
    use std::sync::{LazyLock, Mutex};
    use std::time::Duration;

    use super::{Arrivals, Next};
    use crate::child::frame::{End, Limits, Message};
    use crate::native::lock;
    use crate::value::{Text, Value};

    type Decoded = (u64, Option<Message>);
    static DECODED: LazyLock<(Sender<Decoded>, Mutex<Receiver<Decoded>>)> = LazyLock::new(|| {
        let (sender, receiver) = mpsc::channel();
        (sender, Mutex::new(receiver))
    });

    fn sink(number: u64, message: Option<Message>) {
        let _ = DECODED.0.send((number, message));
    }

    fn result(length: usize) -> Vec<u8> {
        let value = Value::String(Text::from("x".repeat(length)));
        let figures = [0.0; 2];
        let end = End { ok: true, value, code: None, name: None, stack: None, details: None, figures };
        Message::End(Box::new(end)).encode()
    }

    #[test]
    fn large_messages_are_decoded_elsewhere() {
        let limits = Limits::new(64 << 20, f64::from(16 << 20), 100, 0);
        let mut arrivals = Arrivals::default();
        arrivals.push(&[Message::Log(0, Text::from("a")).encode(), result(1_000)].concat());
        assert!(matches!(arrivals.next(&limits, 7, sink), Next::Message(Message::Log(..))));
        assert!(matches!(arrivals.next(&limits, 7, sink), Next::Message(Message::End(_))));
        assert!(matches!(arrivals.next(&limits, 7, sink), Next::Nothing));

        let large = 3 << 20;
        let mut frame = result(large);
        arrivals.push(&[frame.as_slice(), &frame].concat());
        assert!(arrivals.partial(8).is_some_and(|partial| partial.process == 8 && partial.arrived > large));
        assert!(matches!(arrivals.next(&limits, 8, sink), Next::Later));
        // It still counts as one that was begun.
        assert!(arrivals.partial(8).is_some_and(|partial| partial.process == 8 && partial.arrived > large));
        assert!(arrivals.is_decoding() && matches!(arrivals.next(&limits, 8, sink), Next::Later));
        let received = DECODED.1.lock().unwrap().recv_timeout(Duration::from_secs(20));
        let Ok((8, Some(Message::End(end)))) = received else { panic!("no message: {received:?}") };
        assert!(matches!(end.value, Value::String(text) if text.len() == large));
        assert!(arrivals.decoded() && !arrivals.decoded() && !arrivals.is_decoding());

        // A kind that is not permitted there.
        let value = frame.len() - 3 * 8 - large;
        frame[value..].fill(255);
        let mut arrivals = Arrivals::default();
        arrivals.push(&frame);
        assert!(matches!(arrivals.next(&limits, 9, sink), Next::Later));
        let received = DECODED.1.lock().unwrap().recv_timeout(Duration::from_secs(20));
        assert!(matches!(received, Ok((9, None))), "{received:?}");
    }

    #[test]
    fn a_large_message_of_a_process_that_has_ended_is_not_decoded() {
        static GATE: Mutex<()> = Mutex::new(());
        static NUMBERS: Mutex<Vec<u64>> = Mutex::new(Vec::new());
        static LAST: LazyLock<(Sender<()>, Mutex<Receiver<()>>)> = LazyLock::new(|| {
            let (sender, receiver) = mpsc::channel();
            (sender, Mutex::new(receiver))
        });
        const FIRST: u64 = 101;
        const ENDED: u64 = 102;
        const LATEST: u64 = 103;
        /// The one thread that decodes waits here, until the process has ended.
        fn gated(number: u64, _message: Option<Message>) {
            lock(&NUMBERS).push(number);
            drop(lock(&GATE));
            if number == LATEST {
                let _ = LAST.0.send(());
            }
        }
        let limits = Limits::new(64 << 20, f64::from(16 << 20), 100, 0);
        let frame = result(2 << 20);
        let gate = lock(&GATE);
        let mut all = [FIRST, ENDED, LATEST].map(|number| {
            let mut arrivals = Arrivals::default();
            arrivals.push(&frame);
            assert!(matches!(arrivals.next(&limits, number, gated), Next::Later));
            arrivals
        });
        all[1] = Arrivals::default();
        drop(gate);
        assert!(lock(&LAST.1).recv_timeout(Duration::from_secs(20)).is_ok());
        assert_eq!(*lock(&NUMBERS), [FIRST, LATEST]);
        assert!(all[0].decoded() && !all[1].decoded() && all[2].decoded());
    }
}
