//! Reads lists, maps, sets, dates, and objects whose names have come before, such as records that a host sends. Making V8's deserializer takes
//! several times as long as reading a small value, and it takes longer for each object.

use super::known_names::{KnownNames, MAX_NAME_BYTES, MAX_NAMES, Shape, split};
use crate::value::Payload;

/// Bytes of the largest small value.
const MAX_SMALL: usize = 512;

/// Bytes of the largest value.
const MAX_BYTES: usize = 1 << 20;

/// Lists and objects in each other.
const MAX_DEPTH: usize = 24;

/// 64 bits each, of a BigInt.
const MAX_DIGITS: usize = 4;

/// Objects of a value whose names have rarely come.
const MAX_RARE: usize = 64;

/// The largest power of two of objects, and of large values, that are not looked at, because those before had to be read by V8.
const MAX_PAUSE: u32 = 8;

/// Reads a value that refers to no table; `None` if it has anything else, or is malformed.
pub fn plain_to_v8<'s>(
    scope: &v8::PinScope<'s, '_>,
    known: &KnownNames,
    bytes: &[u8],
) -> Option<v8::Local<'s, v8::Value>> {
    let rest = bytes.strip_prefix(&Payload::VERSION).filter(|_| bytes.len() <= MAX_BYTES)?;
    let is_large = bytes.len() > MAX_SMALL;
    if !matches!(rest.first(), Some(b'A' | b'o' | b';' | b'\'')) || (is_large && !known.large.is_over()) {
        // A single primitive is no payload.
        return None;
    }
    let mut reader = Reader {
        scope,
        known,
        rest,
        values: Vec::with_capacity(MAX_NAMES),
        names: Vec::new(),
        objects: Vec::new(),
        last: None,
        is_large,
        rare: 0,
    };
    let value = reader.value(0).filter(|_| reader.rest.is_empty());
    if is_large {
        match value {
            Some(_) => known.large.end(),
            None => known.large.begin(MAX_PAUSE),
        }
    }
    value
}

struct Reader<'a, 's, 'i> {
    scope: &'a v8::PinScope<'s, 'i>,
    known: &'a KnownNames,
    rest: &'a [u8],
    /// Elements and properties of the containers around.
    values: Vec<v8::Local<'s, v8::Value>>,
    /// Their names, before each of which is its length.
    names: Vec<u8>,
    /// All objects so far, by their numbers; `None` until an object is complete.
    objects: Vec<Option<v8::Local<'s, v8::Value>>>,
    /// The shape of the last object.
    last: Option<usize>,
    is_large: bool,
    /// Objects whose names have rarely come.
    rare: usize,
}

impl<'a, 's> Reader<'a, 's, '_> {
    fn byte(&mut self) -> Option<u8> {
        self.rest.split_off_first().copied()
    }

    /// Each byte has seven bits, the lowest first, and says whether there are more.
    fn varint(&mut self) -> Option<u32> {
        let mut bits = 0_u32;
        for shift in (0..u32::BITS).step_by(7) {
            let byte = self.byte()?;
            let part = u32::from(byte & 0x7f);
            if part.leading_zeros() < shift {
                return None;
            }
            bits |= part << shift;
            if byte < 0x80 {
                return Some(bits);
            }
        }
        None
    }

    /// The bytes of a string.
    fn characters(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.rest.split_off(..length)
    }

    fn double(&mut self) -> Option<f64> {
        let (number, others) = self.rest.split_first_chunk::<8>()?;
        self.rest = others;
        Some(f64::from_le_bytes(*number))
    }

    /// The first byte of a value. Zeros align the characters of strings.
    fn tag(&mut self) -> Option<u8> {
        loop {
            match self.byte()? {
                0 => {}
                tag => return Some(tag),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<v8::Local<'s, v8::Value>> {
        let scope = self.scope;
        Some(match self.tag()? {
            b'"' => v8::String::new_from_one_byte(scope, self.characters()?, v8::NewStringType::Normal)?.into(),
            // The sign is the lowest bit.
            b'I' => {
                let bits = self.varint()?;
                v8::Integer::new(scope, (bits >> 1).cast_signed() ^ -(bits & 1).cast_signed()).into()
            }
            b'N' => v8::Number::new(scope, self.double()?).into(),
            b'T' => v8::Boolean::new(scope, true).into(),
            b'F' => v8::Boolean::new(scope, false).into(),
            b'0' => v8::null(scope).into(),
            b'_' => v8::undefined(scope).into(),
            b'^' => {
                let number = usize::try_from(self.varint()?).ok()?;
                return *self.objects.get(number)?;
            }
            b'D' => {
                let date = v8::Date::new(scope, self.double()?)?.into();
                self.objects.push(Some(date));
                date
            }
            tag if depth < MAX_DEPTH => {
                let number = self.objects.len();
                self.objects.push(None);
                let object = match tag {
                    b'A' => self.list(depth),
                    b'o' => self.object(depth),
                    b';' => self.map(depth),
                    b'\'' => self.set(depth),
                    _ => return None,
                }?;
                *self.objects.get_mut(number)? = Some(object);
                object
            }
            b'c' => self.wide_string()?.into(),
            b'Z' => self.bigint()?.into(),
            _ => return None,
        })
    }

    /// A key of a map or an element of a set. V8 looks strings up in its table when it adds them.
    fn key(&mut self, depth: usize) -> Option<v8::Local<'s, v8::Value>> {
        if self.rest.first() != Some(&b'"') {
            return self.value(depth);
        }
        self.byte()?;
        let key = v8::String::new_from_one_byte(self.scope, self.characters()?, v8::NewStringType::Internalized)?;
        Some(key.into())
    }

    /// Only one of few digits.
    fn bigint(&mut self) -> Option<v8::Local<'s, v8::BigInt>> {
        // The sign is the lowest bit. The others are the number of bytes.
        let bits = self.varint()?;
        let size = usize::try_from(bits >> 1).ok().filter(|size| *size <= MAX_DIGITS * size_of::<u64>())?;
        let (digits, rest) = self.rest.split_off(..size)?.as_chunks::<8>();
        if !rest.is_empty() || bits == 1 {
            return None;
        }
        let mut words = [0; MAX_DIGITS];
        for (word, digit) in words.iter_mut().zip(digits) {
            *word = u64::from_le_bytes(*digit);
        }
        v8::BigInt::new_from_words(self.scope, bits & 1 == 1, words.get(..digits.len())?)
    }

    fn wide_string(&mut self) -> Option<v8::Local<'s, v8::String>> {
        let bytes = self.characters()?;
        // SAFETY: any two bytes are a unit.
        let (before, units, after) = unsafe { bytes.align_to::<u16>() };
        if cfg!(target_endian = "little") && before.is_empty() && after.is_empty() {
            return v8::String::new_from_two_byte(self.scope, units, v8::NewStringType::Normal);
        }
        let (units, odd) = bytes.as_chunks::<2>();
        let units = Vec::from_iter(units.iter().map(|unit| u16::from_le_bytes(*unit)));
        v8::String::new_from_two_byte(self.scope, &units, v8::NewStringType::Normal).filter(|_| odd.is_empty())
    }

    fn list(&mut self, depth: usize) -> Option<v8::Local<'s, v8::Value>> {
        let start = self.values.len();
        let count = self.varint()?;
        for _ in 0..count {
            if self.rest.first() == Some(&b'D') {
                // V8 reads these faster.
                return None;
            }
            let element = self.value(depth + 1)?;
            self.values.push(element);
        }
        // No properties.
        if self.byte()? != b'$' || self.byte()? != 0 || self.varint()? != count {
            return None;
        }
        let list = v8::Array::new_with_elements(self.scope, self.values.get(start..)?);
        self.values.truncate(start);
        Some(list.into())
    }

    fn map(&mut self, depth: usize) -> Option<v8::Local<'s, v8::Value>> {
        let map = v8::Map::new(self.scope);
        let mut count = 0;
        while self.rest.first() != Some(&b':') {
            let key = self.key(depth + 1)?;
            let value = self.value(depth + 1)?;
            map.set(self.scope, key, value)?;
            count += 2;
        }
        self.rest = self.rest.get(1..)?;
        (self.varint()? == count).then(|| map.into())
    }

    fn set(&mut self, depth: usize) -> Option<v8::Local<'s, v8::Value>> {
        let set = v8::Set::new(self.scope);
        let mut count = 0;
        while self.rest.first() != Some(&b',') {
            let value = self.key(depth + 1)?;
            set.add(self.scope, value)?;
            count += 1;
        }
        self.rest = self.rest.get(1..)?;
        (self.varint()? == count).then(|| set.into())
    }

    fn object(&mut self, depth: usize) -> Option<v8::Local<'s, v8::Value>> {
        if !self.is_large && !self.known.small.is_over() {
            return None;
        }
        let (start, before) = (self.values.len(), self.last);
        let first_name = self.names.len();
        if let Some((place, shape)) = self.known.likely(before) {
            self.last = Some(place);
            if self.properties(&shape, start, depth)? {
                return self.instance(&shape, start);
            }
        }
        let likely = self.last;
        loop {
            match self.byte()? {
                b'"' => {
                    let name = self.characters()?;
                    // The wire has the length of a longer one in two bytes.
                    self.names.push(u8::try_from(name.len()).ok().filter(|length| *length < 0x80)?);
                    self.names.extend_from_slice(name);
                    let value = self.value(depth + 1)?;
                    self.values.push(value);
                }
                b'{' if usize::try_from(self.varint()?).ok()? == self.values.len() - start => break,
                _ => return None,
            }
            if self.values.len() - start > MAX_NAMES || self.names.len() - first_name > MAX_NAME_BYTES {
                return None;
            }
        }
        let object = match self.known.find(self.names.get(first_name..)?, before) {
            Some((place, shape)) => {
                if self.last == likely {
                    self.last = Some(place);
                }
                self.instance(&shape, start)
            }
            None => self.rare_object(first_name, start),
        };
        self.names.truncate(first_name);
        object
    }

    /// Reads the properties of an object that most likely has this shape. If it has not, the names before the first other one are in `names`, and
    /// the other one comes next.
    fn properties(&mut self, shape: &Shape, start: usize, depth: usize) -> Option<bool> {
        let mut expected = &*shape.names;
        loop {
            let matched = match *expected {
                [] => {
                    if let [b'{', rest @ ..] = self.rest {
                        self.rest = rest;
                        let count = usize::try_from(self.varint()?).ok()?;
                        return (count == self.values.len() - start).then_some(true);
                    }
                    false
                }
                [length, ..] => {
                    let (name, others) = expected.split_at_checked(1 + usize::from(length))?;
                    if let Some(rest) = self.rest.strip_prefix(b"\"").and_then(|rest| rest.strip_prefix(name)) {
                        self.rest = rest;
                        expected = others;
                        true
                    } else {
                        false
                    }
                }
            };
            if !matched {
                let read = shape.names.len() - expected.len();
                self.names.extend_from_slice(shape.names.get(..read)?);
                return Some(false);
            }
            let value = self.value(depth + 1)?;
            self.values.push(value);
        }
    }

    /// The object of a shape, with all values from `start`.
    fn instance(&mut self, shape: &Shape, start: usize) -> Option<v8::Local<'s, v8::Value>> {
        let object = shape.template.instance(self.scope, self.values.get_mut(start..)?);
        self.values.truncate(start);
        self.known.small.end();
        object
    }

    /// An object without a template.
    #[cold]
    fn rare_object(&mut self, first_name: usize, start: usize) -> Option<v8::Local<'s, v8::Value>> {
        let names = self.names.get(first_name..)?;
        if !self.is_large && !names.is_empty() {
            self.known.small.begin(MAX_PAUSE);
            self.known.learn(self.scope, names);
            return None;
        }
        let object = v8::Object::new(self.scope);
        if !names.is_empty() {
            self.known.learn(self.scope, names);
            self.rare += 1;
            if self.rare > MAX_RARE {
                return None;
            }
            for (name, value) in split(names)?.into_iter().zip(self.values.get(start..)?) {
                // It is an index.
                if name.first().is_some_and(u8::is_ascii_digit) {
                    return None;
                }
                let name = v8::String::new_from_one_byte(self.scope, name, v8::NewStringType::Internalized)?;
                object.create_data_property(self.scope, name.into(), *value)?;
            }
        }
        self.values.truncate(start);
        Some(object.into())
    }
}
