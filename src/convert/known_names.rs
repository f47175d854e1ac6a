//! The names of the objects that an isolate has received, and templates for those that come again and again.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::template::Template;

/// Names of an object, and bytes of all of them, with their lengths.
pub const MAX_NAMES: usize = 64;
pub const MAX_NAME_BYTES: usize = 1024;

/// Templates of an isolate. V8 keeps for each context what it makes of them, so none is ever replaced.
const MAX_TEMPLATES: usize = 64;

/// Names that have come, but too rarely for a template.
const MAX_CANDIDATES: usize = 32;

/// How often they must come.
const MIN_REPEATS: u8 = 4;

/// The names of an object, before each of which is its length, and their template.
pub struct Shape {
    pub names: Box<[u8]>,
    pub template: Template,
    /// What followed it last.
    next: Cell<Option<usize>>,
}

/// How many of the next values are not worth an attempt: more of them after each unsuccessful one.
#[derive(Default)]
pub struct Pause {
    /// Unsuccessful attempts in a row, up to the most.
    failures: Cell<u32>,
    left: Cell<u32>,
}

impl Pause {
    /// Whether the next attempt is due.
    pub fn is_over(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left == 0
    }

    pub fn end(&self) {
        self.failures.set(0);
    }

    /// `most` is the power of two of the longest pause.
    pub fn begin(&self, most: u32) {
        let failures = self.failures.get();
        self.failures.set((failures + 1).min(most));
        self.left.set((1 << failures) - 1);
    }
}

/// The names of objects that an isolate has received.
#[derive(Default)]
pub struct KnownNames {
    shapes: RefCell<Vec<Rc<Shape>>>,
    candidates: RefCell<Vec<(Box<[u8]>, u8)>>,
    /// The first shape of the last value.
    first: Cell<Option<usize>>,
    /// After small objects whose names are rare.
    pub small: Pause,
    /// After large values that V8 had to read.
    pub large: Pause,
}

impl KnownNames {
    pub fn clear(&self) {
        drop(self.shapes.take());
    }

    fn link(&self, shapes: &[Rc<Shape>], after: Option<usize>, next: usize) {
        match after.and_then(|after| shapes.get(after)) {
            Some(shape) => shape.next.set(Some(next)),
            None => self.first.set(Some(next)),
        }
    }

    /// The shape that most likely comes after this one, or at the start.
    pub fn likely(&self, after: Option<usize>) -> Option<(usize, Rc<Shape>)> {
        let shapes = self.shapes.borrow();
        let place = match after {
            Some(after) => shapes.get(after)?.next.get(),
            None => self.first.get(),
        }?;
        Some((place, Rc::clone(shapes.get(place)?)))
    }

    /// The shape with these names, which comes after another one.
    pub fn find(&self, names: &[u8], after: Option<usize>) -> Option<(usize, Rc<Shape>)> {
        let shapes = self.shapes.borrow();
        let place = shapes.iter().position(|shape| *shape.names == *names)?;
        self.link(&shapes, after, place);
        Some((place, Rc::clone(shapes.get(place)?)))
    }

    /// Makes a template for names that come again and again.
    #[cold]
    pub fn learn(&self, scope: &v8::PinScope<'_, '_>, names: &[u8]) {
        if self.shapes.borrow().len() == MAX_TEMPLATES {
            return;
        }
        let mut candidates = self.candidates.borrow_mut();
        if let Some((_, count)) = candidates.iter_mut().find(|(candidate, _)| **candidate == *names) {
            *count = count.saturating_add(1);
            if *count == MIN_REPEATS
                && let Some(template) = split(names).and_then(|names| Template::new(scope, &names))
            {
                self.shapes.borrow_mut().push(Rc::new(Shape { names: names.into(), template, next: Cell::new(None) }));
            }
            return;
        }
        if candidates.len() == MAX_CANDIDATES {
            candidates.remove(0);
        }
        candidates.push((names.into(), 1));
    }
}

/// The names, before each of which is its length. They have one byte for each character.
pub fn split(mut names: &[u8]) -> Option<Vec<&[u8]>> {
    let mut all = Vec::with_capacity(MAX_NAMES);
    while let Some(length) = names.split_off_first() {
        all.push(names.split_off(..usize::from(*length))?);
    }
    Some(all)
}
