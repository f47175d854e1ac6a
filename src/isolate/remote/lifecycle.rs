//! The state of an isolate, as the diagram in docs/architecture.md shows it. Only [`Lifecycle::transition`] changes it. It returns what the
//! caller must do after the lock is released.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use super::reason::Stop;
use crate::native::lock;

/// `B`: the V8 side of the isolate.
#[derive(Debug, PartialEq)]
enum State<B> {
    /// The V8 side does not exist, and no thread creates it.
    New,
    /// No thread works for the isolate.
    Idle(B),
    /// A thread works for the isolate, or is on the way.
    Running,
    /// The same, and a limit of a running call has expired: execution is terminated down to that call.
    Unwinding,
    /// The isolate ends: execution is terminated completely.
    Stopping(Stop),
    /// The thread has not returned in time, and is not expected to.
    Abandoned(Stop),
    /// The abandoned thread never runs again, or at least cannot use memory of a host. Or there is none, and the V8 side is disposed of later.
    Retired(Stop),
    /// The V8 side is gone.
    Ended(Stop),
}

#[derive(Debug)]
pub enum Event<B> {
    /// There is work for a thread.
    Work,
    /// A thread of a host takes the V8 side for one call, if the isolate is idle.
    Enter,
    /// The thread returns the V8 side, because it has no work.
    Rest(B),
    /// A limit of a running call has expired.
    Expire,
    /// The last call whose limit has expired is over.
    Unwound,
    /// The isolate must end.
    Stop(Stop),
    /// The thread has not returned within the grace period, or never can.
    Abandon,
    /// The abandoned thread can do no more harm, or a stopped isolate waits for V8's own threads.
    Retire,
    /// The V8 side was disposed of.
    End,
}

/// What to do after a transition.
#[derive(Debug, PartialEq)]
pub enum Action<B> {
    None,
    /// Borrow a thread. Without a V8 side, that thread creates it.
    Start(Option<B>),
    /// Wake the thread, if it sleeps.
    Wake,
    /// Dispose of the V8 side.
    Dispose(B),
    /// This thread works for the isolate now.
    Enter(B),
    /// Continue with the V8 side: the isolate cannot be idle.
    Continue(B),
}

/// The result of a transition.
#[derive(Debug, PartialEq)]
#[must_use]
pub struct Effects<B> {
    /// The state is another one than before.
    pub changed: bool,
    pub action: Action<B>,
}

impl<B> State<B> {
    /// The whole state machine. Events that mean nothing in a state leave it as it is.
    fn on(self, event: Event<B>) -> (Self, Effects<B>) {
        use {Action as Do, Event as On, State as Is};
        let (next, changed, action) = match (self, event) {
            (Is::New, On::Work) => (Is::Running, true, Do::Start(None)),
            (Is::Idle(body), On::Work) => (Is::Running, true, Do::Start(Some(body))),
            (state @ (Is::Running | Is::Unwinding | Is::Stopping(_) | Is::Abandoned(_)), On::Work) => {
                (state, false, Do::Wake)
            }
            (Is::Idle(body), On::Enter) => (Is::Running, true, Do::Enter(body)),
            (Is::Running | Is::Unwinding, On::Rest(body)) => (Is::Idle(body), true, Do::None),
            (state, On::Rest(body)) => (state, false, Do::Continue(body)),
            (Is::Running, On::Expire) => (Is::Unwinding, true, Do::Wake),
            // Another call.
            (Is::Unwinding, On::Expire) => (Is::Unwinding, false, Do::Wake),
            (Is::Unwinding, On::Unwound) => (Is::Running, true, Do::None),
            // A thread answers what is queued.
            (Is::New, On::Stop(reason)) => (Is::Stopping(reason), true, Do::Start(None)),
            (Is::Idle(body), On::Stop(reason)) => (Is::Stopping(reason), true, Do::Dispose(body)),
            (Is::Running | Is::Unwinding, On::Stop(reason)) => (Is::Stopping(reason), true, Do::Wake),
            (Is::Running | Is::Unwinding, On::Abandon) => (Is::Abandoned(Stop::Lost), true, Do::None),
            (Is::Stopping(reason), On::Abandon) => (Is::Abandoned(reason), true, Do::None),
            // Only `Remote::postpone_end` retires an isolate that is stopping: no thread works for that.
            (Is::Stopping(reason) | Is::Abandoned(reason), On::Retire) => (Is::Retired(reason), true, Do::None),
            (Is::Stopping(reason) | Is::Abandoned(reason) | Is::Retired(reason), On::End) => {
                (Is::Ended(reason), true, Do::None)
            }
            (state, _) => (state, false, Do::None),
        };
        (next, Effects { changed, action })
    }

    /// What other threads read without the lock.
    fn summary(&self) -> u8 {
        match self {
            State::New => THREADLESS,
            State::Idle(_) => THREADLESS | IDLE,
            State::Running => 0,
            State::Unwinding => UNWINDING,
            State::Stopping(reason) | State::Abandoned(reason) => *reason as u8,
            State::Retired(reason) | State::Ended(reason) => *reason as u8 | GONE,
        }
    }
}

/// Bits of a summary.
const REASON: u8 = 7;
const UNWINDING: u8 = 8;
const GONE: u8 = 16;
const IDLE: u8 = 32;
const THREADLESS: u8 = 64;

pub struct Lifecycle<B> {
    state: Mutex<State<B>>,
    /// [`State::summary`] of `state`, written under its lock.
    summary: AtomicU8,
}

impl<B> From<State<B>> for Lifecycle<B> {
    fn from(state: State<B>) -> Self {
        Self { summary: AtomicU8::new(state.summary()), state: Mutex::new(state) }
    }
}

impl<B> Default for Lifecycle<B> {
    fn default() -> Self {
        Self::from(State::New)
    }
}

impl<B> Lifecycle<B> {
    pub fn transition(&self, event: Event<B>) -> Effects<B> {
        let mut state = lock(&self.state);
        let (next, effects) = std::mem::replace(&mut *state, State::New).on(event);
        self.summary.store(next.summary(), Ordering::SeqCst);
        *state = next;
        effects
    }

    fn read(&self) -> u8 {
        self.summary.load(Ordering::SeqCst)
    }

    /// Why the isolate ends or has ended; `None` if it continues to run.
    pub fn stop_reason(&self) -> Option<Stop> {
        let reason = self.read() & REASON;
        Stop::ALL.into_iter().find(|stop| *stop as u8 == reason)
    }

    /// Whether the isolate was stopped.
    pub fn is_stopped(&self) -> bool {
        self.read() & REASON != 0
    }

    /// Whether running code must stop: the isolate was stopped, or a limit of a call has expired.
    pub fn is_stopping(&self) -> bool {
        self.read() & (REASON | UNWINDING) != 0
    }

    /// Whether the V8 side is gone, or was abandoned and can do no more harm.
    pub fn is_gone(&self) -> bool {
        self.read() & GONE != 0
    }

    pub fn is_idle(&self) -> bool {
        self.read() & IDLE != 0
    }

    /// Whether work has to borrow a thread first.
    pub fn needs_thread(&self) -> bool {
        self.read() & THREADLESS != 0
    }

    /// Takes the V8 side of an idle isolate that is unreachable.
    pub fn take_idle(&mut self) -> Option<B> {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(state, State::New) {
            State::Idle(body) => Some(body),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Effects, Event, Lifecycle, State, Stop};

    type Row = (fn() -> State<u8>, [(State<u8>, Action<u8>); 9]);

    const HELD: u8 = 1;
    const RETURNED: u8 = 2;

    fn events() -> [Event<u8>; 9] {
        [
            Event::Work,
            Event::Enter,
            Event::Rest(RETURNED),
            Event::Expire,
            Event::Unwound,
            Event::Stop(Stop::Memory),
            Event::Abandon,
            Event::Retire,
            Event::End,
        ]
    }

    /// For each state, the next state and the action for each of [`events`].
    fn table() -> [Row; 8] {
        use Action::{Continue, Dispose, Enter, None, Start, Wake};
        use State::{Abandoned, Ended, Idle, New, Retired, Running, Stopping, Unwinding};
        use Stop::{Disposed, Lost, Memory};
        let refused = || Continue(RETURNED);
        #[rustfmt::skip]
        let table: [Row; 8] = [
            (|| New, [(Running, Start(Option::None)), (New, None), (New, refused()), (New, None), (New, None),
                (Stopping(Memory), Start(Option::None)), (New, None), (New, None), (New, None)]),
            (|| Idle(HELD), [(Running, Start(Some(HELD))), (Running, Enter(HELD)), (Idle(HELD), refused()), (Idle(HELD), None), (Idle(HELD), None),
                (Stopping(Memory), Dispose(HELD)), (Idle(HELD), None), (Idle(HELD), None), (Idle(HELD), None)]),
            (|| Running, [(Running, Wake), (Running, None), (Idle(RETURNED), None), (Unwinding, Wake), (Running, None),
                (Stopping(Memory), Wake), (Abandoned(Lost), None), (Running, None), (Running, None)]),
            (|| Unwinding, [(Unwinding, Wake), (Unwinding, None), (Idle(RETURNED), None), (Unwinding, Wake), (Running, None),
                (Stopping(Memory), Wake), (Abandoned(Lost), None), (Unwinding, None), (Unwinding, None)]),
            (|| Stopping(Disposed), [(Stopping(Disposed), Wake), (Stopping(Disposed), None), (Stopping(Disposed), refused()), (Stopping(Disposed), None),
                (Stopping(Disposed), None), (Stopping(Disposed), None), (Abandoned(Disposed), None), (Retired(Disposed), None),
                (Ended(Disposed), None)]),
            (|| Abandoned(Disposed), [(Abandoned(Disposed), Wake), (Abandoned(Disposed), None), (Abandoned(Disposed), refused()), (Abandoned(Disposed), None),
                (Abandoned(Disposed), None), (Abandoned(Disposed), None), (Abandoned(Disposed), None), (Retired(Disposed), None),
                (Ended(Disposed), None)]),
            (|| Retired(Disposed), [(Retired(Disposed), None), (Retired(Disposed), None), (Retired(Disposed), refused()), (Retired(Disposed), None),
                (Retired(Disposed), None), (Retired(Disposed), None), (Retired(Disposed), None), (Retired(Disposed), None),
                (Ended(Disposed), None)]),
            (|| Ended(Disposed), [(Ended(Disposed), None), (Ended(Disposed), None), (Ended(Disposed), refused()), (Ended(Disposed), None),
                (Ended(Disposed), None), (Ended(Disposed), None), (Ended(Disposed), None), (Ended(Disposed), None),
                (Ended(Disposed), None)]),
        ];
        table
    }

    #[test]
    fn follows_the_diagram_for_every_state_and_event() {
        for (state, row) in table() {
            for (event, (next, action)) in events().into_iter().zip(row) {
                let case = format!("{:?}, {event:?}", state());
                let changed = state() != next;
                assert_eq!(state().on(event), (next, Effects { changed, action }), "{case}");
            }
        }
    }

    /// The name of a variant, without what it holds.
    fn name(value: &impl std::fmt::Debug) -> String {
        format!("{value:?}").chars().take_while(|letter| letter.is_alphanumeric()).collect()
    }

    #[test]
    fn has_the_arrows_of_the_diagram() {
        const PAGE: &str = include_str!("../../../docs/architecture.md");
        let diagram = PAGE.split("```").find(|block| block.starts_with("mermaid\nstateDiagram")).unwrap();
        let arrows = diagram
            .lines()
            .filter_map(|line| line.trim().split_once(": "))
            .flat_map(|(arrow, events)| events.split(", ").map(move |event| format!("{arrow}: {event}")));
        let changes = table().into_iter().flat_map(|(state, row)| {
            let each = events().into_iter().zip(row).filter(move |(_, (next, _))| state() != *next);
            each.map(move |(event, (next, _))| format!("{} --> {}: {}", name(&state()), name(&next), name(&event)))
        });
        let [mut drawn, mut made] = [arrows.collect::<Vec<_>>(), changes.collect()];
        drawn.sort();
        made.sort();
        assert_eq!(drawn, made);
    }

    #[test]
    fn never_leaves_an_end_and_keeps_the_first_reason() {
        let mut ends = 0;
        for (state, row) in table() {
            for (next, _) in row {
                let (before, after) = (Lifecycle::from(state()), Lifecycle::from(next));
                assert!(!before.is_stopped() || before.stop_reason() == after.stop_reason());
                assert!(!before.is_gone() || after.is_gone());
                ends += usize::from(after.is_gone());
            }
        }
        // 9 from each of the two states that are an end, and 4 more into them.
        assert_eq!(ends, 22);
    }

    #[test]
    fn can_be_read_without_the_lock() {
        let read = |state: State<u8>| {
            let lifecycle = Lifecycle::from(state);
            [
                lifecycle.is_stopped(),
                lifecycle.is_stopping(),
                lifecycle.is_gone(),
                lifecycle.is_idle(),
                lifecycle.needs_thread(),
            ]
            .map(u8::from)
        };
        assert_eq!(read(State::New), [0, 0, 0, 0, 1]);
        assert_eq!(read(State::Idle(HELD)), [0, 0, 0, 1, 1]);
        assert_eq!(read(State::Running), [0, 0, 0, 0, 0]);
        assert_eq!(read(State::Unwinding), [0, 1, 0, 0, 0]);
        for reason in Stop::ALL {
            assert_eq!(Lifecycle::from(State::<u8>::Stopping(reason)).stop_reason(), Some(reason));
            assert_eq!(read(State::Stopping(reason)), [1, 1, 0, 0, 0]);
            assert_eq!(read(State::Abandoned(reason)), [1, 1, 0, 0, 0]);
            assert_eq!(read(State::Retired(reason)), [1, 1, 1, 0, 0]);
            assert_eq!(read(State::Ended(reason)), [1, 1, 1, 0, 0]);
        }
    }

    #[test]
    fn moves_the_v8_side_between_threads() {
        let mut lifecycle = Lifecycle::default();
        assert_eq!(lifecycle.transition(Event::Work).action, Action::Start(None));
        assert_eq!(lifecycle.transition(Event::Rest(RETURNED)), Effects { changed: true, action: Action::None });
        assert!(lifecycle.is_idle());
        assert_eq!(lifecycle.take_idle(), Some(RETURNED));
    }
}
