//! What crosses with an error besides its class, name, message and stack: its cause, and its own properties that are primitive values.

use super::{ErrorClass, ErrorFault, Fault, Text, Value};
use crate::protocol::{
    CODE_PREFIX, MAX_CAUSES, MAX_DETAIL, MAX_DETAILS, MAX_PROPERTIES, RESERVED_PROPERTIES, code, detail,
};

#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Own enumerable data properties, with their primitive values.
    pub properties: Vec<(Text, Value)>,
    /// A primitive value or an error.
    pub cause: Option<Fault>,
}

/// What the details of one error may still take, with those of its causes.
pub struct DetailsRoom {
    characters: usize,
    causes: u32,
}

impl Default for DetailsRoom {
    fn default() -> Self {
        Self { characters: MAX_DETAILS as usize, causes: MAX_CAUSES }
    }
}

impl DetailsRoom {
    fn take(&mut self, characters: usize) -> bool {
        match self.characters.checked_sub(characters) {
            Some(left) => self.characters = left,
            None => return false,
        }
        true
    }

    /// Takes room for one more cause.
    pub fn take_cause(&mut self) -> bool {
        match self.causes.checked_sub(1) {
            Some(left) => self.causes = left,
            None => return false,
        }
        true
    }

    /// The beginning of a cause's message or stack.
    pub fn fit(&mut self, text: Text) -> Text {
        let length = text.len().min(MAX_DETAIL as usize).min(self.characters);
        self.characters -= length;
        if length < text.len() { text.beginning(length) } else { text }
    }
}

/// Whether an error may have this cause, apart from the cause's own details. Code of this library makes no others.
pub fn is_cause(cause: &Fault) -> bool {
    const MAX: usize = MAX_DETAIL as usize;
    match cause {
        Fault::Thrown(value) => size_of_primitive(value).is_some_and(|size| size <= MAX),
        Fault::Error(error) => {
            let texts = [error.name.as_ref(), Some(&error.message), Some(&error.stack)];
            texts.into_iter().flatten().all(|text| text.len() <= MAX)
        }
        Fault::Stopped => false,
    }
}

/// Characters of a text, or bytes of a BigInt; 0 for other primitive values, `None` for the rest.
fn size_of_primitive(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.len()),
        Value::BigInt(bigint) => Some(bigint.words.len() * size_of::<u64>()),
        Value::Undefined | Value::Null | Value::Boolean(_) | Value::Number(_) => Some(0),
        _ => None,
    }
}

impl Details {
    /// Adds a property, unless it may not cross or is more than there is room for.
    pub fn add(&mut self, key: Text, value: Value, room: &mut DetailsRoom) -> bool {
        let Some(size) = size_of_primitive(&value) else { return false };
        let fits = !self.is_full() && key.len().max(size) <= MAX_DETAIL as usize;
        let is_added = fits && may_cross(&key, &value) && room.take(key.len() + size);
        if is_added {
            self.properties.push((key, value));
        }
        is_added
    }

    pub fn is_full(&self) -> bool {
        self.properties.len() >= MAX_PROPERTIES as usize
    }

    pub fn unless_empty(self) -> Option<Box<Self>> {
        (self.cause.is_some() || !self.properties.is_empty()).then(|| Box::new(self))
    }

    /// Bytes that they take outside any heap.
    pub fn byte_size(&self) -> usize {
        let properties = self.properties.iter().map(|(key, value)| key.byte_len() + value.byte_size());
        properties.sum::<usize>() + self.cause.as_ref().map_or(0, Fault::byte_size)
    }

    /// As a list for the surface, whose elements are at the indices of `DETAIL`.
    pub fn into_value(self) -> Value {
        let mut list = vec![Value::Undefined; detail::PROPERTIES as usize];
        list[detail::CAUSE as usize] = match self.cause {
            None | Some(Fault::Stopped) => Value::Undefined,
            Some(Fault::Thrown(value)) => value,
            Some(Fault::Error(error)) => {
                let name = error.name.unwrap_or_else(|| Text::from(error.class.name()));
                let details = error.details.map_or(Value::Undefined, |details| details.into_value());
                Value::List(vec![
                    Value::String(name),
                    Value::String(error.message),
                    Value::String(error.stack),
                    details,
                ])
            }
        };
        list.extend(self.properties.into_iter().flat_map(|(key, value)| [Value::String(key), value]));
        Value::List(list)
    }

    /// The details that [`Details::into_value`] made a list of.
    pub fn from_value(value: Value) -> Option<Box<Self>> {
        let Value::List(list) = value else { return None };
        let mut list = list.into_iter();
        let cause = match list.next()? {
            Value::Undefined => None,
            Value::List(parts) => {
                let mut parts = parts.into_iter();
                let mut text = || match parts.next() {
                    Some(Value::String(text)) => Some(text),
                    _ => None,
                };
                let (name, message, stack) = (text()?, text()?, text()?);
                let details = parts.next().and_then(Self::from_value);
                let class = ErrorClass::named(&name.to_string());
                Some(Fault::Error(Box::new(ErrorFault {
                    class,
                    name: Some(name),
                    message,
                    stack,
                    code: None,
                    details,
                })))
            }
            value => Some(Fault::Thrown(value)),
        };
        let mut properties = Vec::new();
        while let (Some(Value::String(key)), Some(value)) = (list.next(), list.next()) {
            properties.push((key, value));
        }
        Some(Box::new(Self { properties, cause }))
    }
}

/// Whether an error may bring along this property: not over what the library or a prototype defines, and no code of this library.
fn may_cross(key: &Text, value: &Value) -> bool {
    let Text::Latin1(key) = key else { return true };
    if RESERVED_PROPERTIES.iter().any(|name| name.as_bytes() == &**key) {
        return false;
    }
    match value {
        Value::String(Text::Latin1(text)) if **key == *b"code" => {
            !text.starts_with(CODE_PREFIX.as_bytes()) && **text != *code::INVALID_ARG.as_bytes()
        }
        _ => true,
    }
}
