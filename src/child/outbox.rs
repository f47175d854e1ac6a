//! What waits to be sent to a child: frames, and the snapshot, of which all children share one copy.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::frame::snapshot_head;

#[derive(Default)]
pub struct Outbox {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that were sent.
    taken: usize,
    /// Bytes that frames take that were not sent. Snapshots do not count.
    own: usize,
}

/// What a frame takes in addition to its bytes: its place in the queue, and what the allocator needs.
const AROUND: usize = 128;

enum Piece {
    Own(Vec<u8>),
    Shared(Arc<Vec<u8>>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Own(bytes) => bytes,
            Piece::Shared(bytes) => bytes,
        }
    }
}

impl Outbox {
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that wait for this child alone.
    pub fn own(&self) -> usize {
        self.own
    }

    pub fn push(&mut self, frame: Vec<u8>) {
        self.own += frame.len() + AROUND;
        self.pieces.push_back(Piece::Own(frame));
    }

    /// Queues a frame with a sealed snapshot.
    pub fn push_snapshot(&mut self, sealed: &Arc<Vec<u8>>) {
        self.push(snapshot_head(sealed.len()));
        self.pieces.push_back(Piece::Shared(Arc::clone(sealed)));
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Passes the pieces to `send`, which returns how many bytes it has taken.
    pub fn flush(&mut self, mut send: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
        while let Some(piece) = self.pieces.front() {
            let left = &piece.bytes()[self.taken..];
            let count = if left.is_empty() { 0 } else { send(left)? };
            self.taken += count;
            if let Piece::Own(_) = piece {
                self.own -= count;
            }
            if count == left.len() {
                if let Some(Piece::Own(_)) = self.pieces.pop_front() {
                    self.own -= AROUND;
                }
                self.taken = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::super::frame::Order;
    use super::super::splitter::Splitter;
    use super::Outbox;
    use crate::value::Value;

    #[test]
    fn all_goes_in_its_order_however_little_is_taken() {
        let mut outbox = Outbox::default();
        let sealed = Arc::new((0..1_000).map(|index| (index % 251) as u8).collect::<Vec<u8>>());
        outbox.push_snapshot(&sealed);
        outbox.push(Order::Reply(1, Ok(Value::Undefined)).encode());
        outbox.push(Vec::new());
        let mut splitter = Splitter::default();
        let mut turns = 0;
        while !outbox.is_empty() {
            turns += 1;
            let mut room = 7;
            let flushed = outbox.flush(|bytes| {
                let count = bytes.len().min(room);
                room -= count;
                splitter.push(&bytes[..count]);
                if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
            });
            assert!(flushed.is_ok() || room == 0);
        }
        assert!(turns > 100, "{turns}");
        assert_eq!(outbox.own(), 0);
        let mut next = || splitter.next(|_| usize::MAX).unwrap().and_then(Order::decode);
        assert!(matches!(next(), Some(Order::Snapshot(bytes)) if bytes == *sealed));
        assert!(matches!(next(), Some(Order::Reply(1, Ok(Value::Undefined)))));
        assert!(next().is_none());
    }

    #[test]
    fn a_snapshot_is_not_copied() {
        let sealed = Arc::new(vec![7; 1_000]);
        let mut outbox = Outbox::default();
        outbox.push_snapshot(&sealed);
        assert!(outbox.own() < 300);
        assert_eq!(Arc::strong_count(&sealed), 2);
        let mut places = Vec::new();
        outbox
            .flush(|bytes| {
                Ok({
                    places.push(bytes.as_ptr());
                    bytes.len()
                })
            })
            .unwrap();
        assert_eq!(places.get(1), Some(&sealed.as_ptr()));
        assert_eq!(Arc::strong_count(&sealed), 1);
    }
}
