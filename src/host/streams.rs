//! Events that wait for other events of their isolate. Events of one isolate are handled in the order in which they were sent. While the
//! surface reads a large value of an isolate, or takes long with something, later events of that isolate wait here. Events of other
//! isolates overtake them.

use std::any::Any;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::event::{Event, Origin};
use crate::isolate::Undelivered;
use crate::value::{Charge, Code, Fault, Outcome, Slot};

/// An object that is kept alive.
pub type Retained = Arc<dyn Any + Send + Sync>;

/// A value that the surface reads in several turns.
pub struct Reading {
    pub origin: Origin,
    pub subject: Subject,
    /// The call on behalf of which it was sent, or whose outcome it is; 0 for none.
    pub call: i64,
    pub bytes: usize,
    /// It is read although its isolate has ended, or its call has been stopped.
    pub admitted: bool,
    /// Nothing waits for it any more.
    pub abandoned: bool,
    /// The host has disposed of the isolate meanwhile.
    pub disposed: bool,
    /// The objects that it refers to by number.
    pub _retained: Vec<Retained>,
}

impl Reading {
    pub fn new(origin: Origin, subject: Subject, call: i64, bytes: usize, retained: Vec<Retained>) -> Self {
        Self { origin, subject, call, bytes, admitted: false, abandoned: false, disposed: false, _retained: retained }
    }
}

pub enum Subject {
    /// The outcome that settles this request.
    Outcome(i64),
    /// The request of a guest, under this number. The guest is charged for it until it is served.
    Request { number: i64, _slot: Arc<Slot>, _charge: Charge },
}

#[derive(Default)]
struct Stream {
    events: VecDeque<Event>,
    reading: Option<Reading>,
    /// Calls that were stopped. Their outcomes are errors, which are among the events.
    stopped: Vec<(i64, Undelivered)>,
}

impl Stream {
    /// Whether a message of this many bytes on behalf of `call` is still wanted.
    fn admits(&self, call: i64, bytes: impl FnOnce() -> usize) -> bool {
        self.stopped
            .iter()
            .find(|(stopped, _)| *stopped == call)
            .is_none_or(|(_, undelivered)| undelivered.admits(bytes))
    }
}

/// Events of isolates whose turn has not come, by isolate.
#[derive(Default)]
pub struct Streams {
    all: HashMap<u64, Stream>,
    /// Isolates of which nothing is being read, the next one first.
    ready: VecDeque<u64>,
}

/// The next event of a stream.
pub enum Next {
    Event(Event),
    /// It was sent on behalf of a call that was stopped.
    Unwanted(Event),
}

impl Streams {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn into_events(self) -> impl Iterator<Item = Event> {
        self.all.into_values().flat_map(|stream| stream.events)
    }

    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The number of messages of an isolate that are here, including the one that is being read.
    pub fn count(&self, origin: u64) -> usize {
        self.all.get(&origin).map_or(0, |stream| stream.events.len() + usize::from(stream.reading.is_some()))
    }

    /// Keeps an event whose isolate has to wait; returns any other.
    pub fn hold_back(&mut self, event: Event) -> Option<Event> {
        let Some(stream) = event.origin().and_then(|origin| self.all.get_mut(&origin.id)) else { return Some(event) };
        if let Event::Settle { outcome, call, .. } = &event
            && *call != 0
            && was_stopped(outcome)
        {
            stream.stopped.push((*call, Undelivered::of_stopped()));
        }
        stream.events.push_back(event);
        None
    }

    /// Makes the isolate wait for its turn.
    pub fn set_aside(&mut self, origin: u64) {
        if let Entry::Vacant(place) = self.all.entry(origin) {
            place.insert(Stream::default());
            self.ready.push_back(origin);
        }
    }

    /// Makes the isolate wait until `reading` is done.
    pub fn begin(&mut self, origin: u64, reading: Reading) {
        self.ready.retain(|ready| *ready != origin);
        let stream = self.all.entry(origin).or_default();
        // If its isolate has ended or its call was stopped, it has begun only because it is admitted.
        let admitted = reading.origin.is_over() || stream.stopped.iter().any(|(stopped, _)| *stopped == reading.call);
        stream.reading = Some(Reading { admitted, ..reading });
    }

    /// Ends the reading. Drop what this returns, then call [`Streams::release`].
    pub fn end(&mut self, origin: u64) -> Option<Reading> {
        self.all.get_mut(&origin)?.reading.take()
    }

    /// The isolate's events may continue.
    pub fn release(&mut self, origin: u64) {
        if self.all.contains_key(&origin) && !self.ready.contains(&origin) {
            self.ready.push_back(origin);
        }
    }

    /// The next event; isolates take turns.
    pub fn next(&mut self) -> Option<Next> {
        while let Some(origin) = self.ready.pop_front() {
            let Some(stream) = self.all.get_mut(&origin) else { continue };
            let Some(event) = stream.events.pop_front() else {
                self.all.remove(&origin);
                continue;
            };
            self.ready.push_back(origin);
            let wanted = match &event {
                Event::Request { request, .. } => stream.admits(request.chain.request(), || request.byte_size()),
                Event::Settle { call, outcome, .. } if was_stopped(outcome) => {
                    stream.stopped.retain(|(stopped, _)| stopped != call);
                    true
                }
                _ => true,
            };
            return Some(if wanted { Next::Event(event) } else { Next::Unwanted(event) });
        }
        None
    }

    /// Whether the value that is being read is still wanted. The caller must check the request behind it, if there is one.
    pub fn is_wanted(&mut self, origin: u64) -> bool {
        let Some(stream) = self.all.get_mut(&origin) else { return false };
        let Some(reading) = &mut stream.reading else { return false };
        if reading.abandoned {
            return false;
        }
        if matches!(reading.subject, Subject::Outcome(_)) || reading.admitted {
            return true;
        }
        let over = reading.origin.is_over();
        let stopped = stream.stopped.iter().find(|(stopped, _)| *stopped == reading.call);
        if !over && stopped.is_none() {
            return true;
        }
        // In the order of sending: this value is counted before the events that wait here.
        let bytes = || reading.bytes;
        reading.admitted =
            reading.origin.admits(bytes) && stopped.is_none_or(|(_, undelivered)| undelivered.admits(bytes));
        reading.admitted
    }

    /// The request that is being read, by its number, and the call on behalf of which it was sent.
    pub fn request(&self, origin: u64) -> Option<(i64, i64)> {
        let reading = self.all.get(&origin)?.reading.as_ref()?;
        match reading.subject {
            Subject::Request { number, .. } => Some((number, reading.call)),
            Subject::Outcome(_) => None,
        }
    }

    /// The host disposes of an isolate: an outcome of it that is being read becomes an error.
    pub fn dispose(&mut self, origin: u64) {
        if let Some(reading) = self.all.get_mut(&origin).and_then(|stream| stream.reading.as_mut()) {
            reading.disposed |= matches!(reading.subject, Subject::Outcome(_));
        }
    }

    pub fn is_disposed(&self, origin: u64) -> bool {
        self.all.get(&origin).and_then(|stream| stream.reading.as_ref()).is_some_and(|reading| reading.disposed)
    }

    /// Nothing waits for the outcome of `request` any more. It may be in the middle of being read.
    pub fn abandon(&mut self, request: i64) {
        for reading in self.all.values_mut().filter_map(|stream| stream.reading.as_mut()) {
            reading.abandoned |= matches!(reading.subject, Subject::Outcome(of) if of == request);
        }
    }
}

/// Whether a limit of the call has expired, or its caller has aborted it. Unlike after other faults, the isolate continues.
fn was_stopped(outcome: &Outcome) -> bool {
    matches!(outcome, Err(Fault::Error(error)) if matches!(error.code, Some(Code::Timeout | Code::Deadline | Code::Aborted)))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};

    use super::{Event, Next, Origin, Reading, Streams, Subject};
    use crate::isolate::Undelivered;
    use crate::value::{Charge, Fault, Outcome, Value};

    fn origin(id: u64) -> Origin {
        Origin { id, undelivered: Some(Arc::new(Undelivered::default())) }
    }

    fn settle(origin: &Origin, request: i64, outcome: Outcome) -> Event {
        Event::Settle {
            request,
            outcome,
            charge: Charge::default(),
            held: false,
            follow_ups: Weak::new(),
            origin: origin.clone(),
            call: request,
            limits: None,
        }
    }

    fn ok(origin: &Origin, request: i64) -> Event {
        settle(origin, request, Ok(Value::Undefined))
    }

    fn reading(origin: &Origin, subject: Subject, call: i64) -> Reading {
        Reading::new(origin.clone(), subject, call, usize::MAX, Vec::new())
    }

    fn next(streams: &mut Streams) -> Option<i64> {
        match streams.next() {
            Some(Next::Event(Event::Settle { request, .. })) => Some(request),
            _ => None,
        }
    }

    #[test]
    fn waits_for_the_own_isolate_only() {
        let (a, b) = (origin(1), origin(2));
        let mut streams = Streams::default();
        streams.begin(1, reading(&a, Subject::Outcome(1), 1));
        assert!(streams.hold_back(ok(&a, 2)).is_none());
        assert!(streams.hold_back(ok(&b, 3)).is_some());
        assert!(streams.hold_back(ok(&a, 4)).is_none());
        assert!(streams.hold_back(Event::Quiet).is_some());
        assert_eq!((streams.count(1), streams.count(2)), (3, 0));
        assert!(next(&mut streams).is_none());
        drop(streams.end(1));
        assert!(!streams.is_ready());
        streams.release(1);
        streams.release(1);
        assert_eq!((next(&mut streams), next(&mut streams)), (Some(2), Some(4)));
        assert!(next(&mut streams).is_none() && streams.is_empty());
    }

    #[test]
    fn gives_each_isolate_its_turn() {
        let isolates = [origin(1), origin(2)];
        let mut streams = Streams::default();
        for isolate in &isolates {
            streams.set_aside(isolate.id);
            for request in 1..=2 {
                assert!(streams.hold_back(ok(isolate, request * 10 + isolate.id as i64)).is_none());
            }
        }
        let order: Vec<_> = std::iter::from_fn(|| next(&mut streams)).collect();
        assert_eq!(order, [11, 12, 21, 22]);
    }

    #[test]
    fn does_not_want_what_was_stopped() {
        let a = origin(1);
        let mut streams = Streams::default();
        streams.begin(1, reading(&a, Subject::Outcome(7), 7));
        streams.abandon(8);
        assert!(streams.is_wanted(1));
        streams.abandon(7);
        assert!(!streams.is_wanted(1));
        streams.begin(1, reading(&a, Subject::Outcome(9), 9));
        streams.dispose(2);
        assert!(!streams.is_disposed(1) && !streams.is_disposed(2));
        streams.dispose(1);
        assert!(streams.is_wanted(1) && streams.is_disposed(1));
        for call in [5, 6] {
            let subject = Subject::Request {
                number: 1,
                _slot: crate::value::Slot::new(Arc::new(Nowhere), 0),
                _charge: Default::default(),
            };
            streams.begin(1, reading(&a, subject, call));
            assert!(streams.is_wanted(1));
            assert!(streams.hold_back(settle(&a, 5, Err(Fault::timeout("".into())))).is_none());
            assert_eq!(streams.is_wanted(1), call != 5);
        }
        a.undelivered.as_ref().unwrap().end();
        assert!(!streams.is_wanted(1));
    }

    struct Nowhere;

    impl crate::value::Owner for Nowhere {
        fn id(&self) -> u64 {
            0
        }

        fn release(&self, _slot: u32) {}

        fn as_any(self: Arc<Self>) -> Arc<dyn std::any::Any + Send + Sync> {
            self
        }
    }
}
