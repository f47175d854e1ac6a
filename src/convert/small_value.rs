//! Reads small values: short lists, and objects whose names have come before, such as what a host tells its guests about records. To make
//! V8's deserializer takes several times as long as to read such a value.

use std::cell::{Cell, RefCell};

use super::template::Template;
use crate::value::Payload;

/// Bytes of the largest value.
const MAX_BYTES: usize = 512;

/// Lists and objects in each other.
const MAX_DEPTH: usize = 4;

/// Elements of a list.
const MAX_ELEMENTS: usize = 32;

/// Names of an object, and bytes of all of them, with their lengths.
const MAX_NAMES: usize = 16;
const MAX_NAME_BYTES: usize = 256;

/// Characters of a string: its length takes one byte.
const MAX_CHARACTERS: usize = 127;

/// Templates of an isolate. V8 keeps for each context what it makes of them, so none is ever replaced.
const MAX_TEMPLATES: usize = 64;

/// Names that have come, but too rarely for a template.
const MAX_CANDIDATES: usize = 8;

/// How often they must come.
const MIN_REPEATS: u8 = 4;

/// The largest power of two of objects that are not looked at, because those before had names that rarely come.
const MAX_PAUSE: u32 = 8;

/// The names of objects that an isolate has received.
#[derive(Default)]
pub struct KnownNames {
    templates: RefCell<Vec<(Box<[u8]>, Template)>>,
    candidates: RefCell<Vec<(Box<[u8]>, u8)>>,
    /// Objects in a row without a template, up to `MAX_PAUSE`.
    unknown: Cell<u32>,
    /// Objects that are not looked at.
    pause: Cell<u32>,
}

impl KnownNames {
    pub fn clear(&self) {
        drop(self.templates.take());
    }

    /// Whether the next object is worth being looked at.
    fn is_due(&self) -> bool {
        let pause = self.pause.get();
        self.pause.set(pause.saturating_sub(1));
        pause == 0
    }

    /// Creates an object with these names, if there is a template for them.
    fn create<'s>(
        &self,
        scope: &v8::PinScope<'s, '_>,
        names: &[u8],
        values: &mut [v8::Local<'s, v8::Value>],
    ) -> Option<v8::Local<'s, v8::Value>> {
        let templates = self.templates.borrow();
        if let Some((_, template)) = templates.iter().find(|(known, _)| **known == *names) {
            self.unknown.set(0);
            return template.instance(scope, values);
        }
        drop(templates);
        let unknown = self.unknown.get();
        self.unknown.set((unknown + 1).min(MAX_PAUSE));
        self.pause.set((1 << unknown) - 1);
        self.learn(scope, names);
        None
    }

    /// Makes a template for names that come again and again.
    #[cold]
    fn learn(&self, scope: &v8::PinScope<'_, '_>, names: &[u8]) {
        if self.templates.borrow().len() == MAX_TEMPLATES {
            return;
        }
        let mut candidates = self.candidates.borrow_mut();
        if let Some((_, count)) = candidates.iter_mut().find(|(candidate, _)| **candidate == *names) {
            *count = count.saturating_add(1);
            if *count == MIN_REPEATS
                && let Some(template) = split(names).and_then(|names| Template::new(scope, &names))
            {
                self.templates.borrow_mut().push((names.into(), template));
            }
            return;
        }
        if candidates.len() == MAX_CANDIDATES {
            candidates.remove(0);
        }
        candidates.push((names.into(), 1));
    }
}

/// The names, before each of which is its length; `None` if they are not ASCII.
fn split(mut names: &[u8]) -> Option<Vec<&str>> {
    let mut all = Vec::with_capacity(MAX_NAMES);
    while let Some(length) = names.split_off_first() {
        let name = names.split_off(..usize::from(*length))?;
        all.push(str::from_utf8(name).ok()?);
    }
    Some(all)
}

/// Reads a small value; `None` if the payload has anything else, or is malformed.
pub fn small_to_v8<'s>(
    scope: &v8::PinScope<'s, '_>,
    known: &KnownNames,
    Payload { bytes, table, .. }: &Payload,
) -> Option<v8::Local<'s, v8::Value>> {
    if !table.is_empty() {
        return None;
    }
    let rest = bytes.strip_prefix(&Payload::VERSION).filter(|_| bytes.len() <= MAX_BYTES)?;
    let mut reader = Reader { scope, known, rest };
    let value = match *reader.rest.split_off_first()? {
        b'A' => reader.list(0),
        b'o' => reader.object(0),
        // A single primitive is no payload.
        _ => None,
    }?;
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a, 's, 'i> {
    scope: &'a v8::PinScope<'s, 'i>,
    known: &'a KnownNames,
    rest: &'a [u8],
}

impl<'s> Reader<'_, 's, '_> {
    fn byte(&mut self) -> Option<u8> {
        self.rest.split_off_first().copied()
    }

    /// The characters of a string. A length of more bytes is more than the most.
    fn characters(&mut self) -> Option<&[u8]> {
        let length = usize::from(self.byte()?);
        self.rest.split_off(..length).filter(|_| length <= MAX_CHARACTERS)
    }

    fn value(&mut self, depth: usize) -> Option<v8::Local<'s, v8::Value>> {
        let scope = self.scope;
        Some(match self.byte()? {
            b'"' => v8::String::new_from_one_byte(scope, self.characters()?, v8::NewStringType::Normal)?.into(),
            b'I' => v8::Integer::new(scope, self.integer()?).into(),
            b'N' => {
                let (number, others) = self.rest.split_first_chunk::<8>()?;
                self.rest = others;
                v8::Number::new(scope, f64::from_le_bytes(*number)).into()
            }
            b'T' => v8::Boolean::new(scope, true).into(),
            b'F' => v8::Boolean::new(scope, false).into(),
            b'0' => v8::null(scope).into(),
            b'_' => v8::undefined(scope).into(),
            b'A' if depth < MAX_DEPTH => return self.list(depth),
            b'o' if depth < MAX_DEPTH => return self.object(depth),
            _ => return None,
        })
    }

    /// The sign is the lowest bit. Each byte has seven bits, the lowest first, and says whether there are more.
    fn integer(&mut self) -> Option<i32> {
        let mut bits = 0_u32;
        for shift in (0..u32::BITS).step_by(7) {
            let byte = self.byte()?;
            let part = u32::from(byte & 0x7f);
            if part.leading_zeros() < shift {
                return None;
            }
            bits |= part << shift;
            if byte < 0x80 {
                return Some((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed());
            }
        }
        None
    }

    fn list(&mut self, depth: usize) -> Option<v8::Local<'s, v8::Value>> {
        let mut all: [v8::Local<'s, v8::Value>; MAX_ELEMENTS] = [v8::undefined(self.scope).into(); MAX_ELEMENTS];
        let count = self.byte()?;
        let elements = all.get_mut(..usize::from(count))?;
        for element in &mut *elements {
            *element = self.value(depth + 1)?;
        }
        self.rest = self.rest.strip_prefix(&[b'$', 0, count])?;
        Some(v8::Array::new_with_elements(self.scope, elements).into())
    }

    fn object(&mut self, depth: usize) -> Option<v8::Local<'s, v8::Value>> {
        if !self.known.is_due() {
            return None;
        }
        let mut names = [0; MAX_NAME_BYTES];
        let mut length = 0;
        let mut values: [v8::Local<'s, v8::Value>; MAX_NAMES] = [v8::undefined(self.scope).into(); MAX_NAMES];
        let mut count = 0;
        loop {
            match self.byte()? {
                b'"' => {
                    let name = self.characters()?;
                    let (size, place) = names.get_mut(length..)?.split_first_mut()?;
                    *size = u8::try_from(name.len()).ok()?;
                    place.get_mut(..name.len())?.copy_from_slice(name);
                    length += 1 + name.len();
                    *values.get_mut(count)? = self.value(depth + 1)?;
                    count += 1;
                }
                b'{' if usize::from(self.byte()?) == count => break,
                _ => return None,
            }
        }
        self.known.create(self.scope, names.get(..length)?, values.get_mut(..count)?)
    }
}
