//! Values that are not objects, and the kinds of values.

use super::text::{text_from_v8, text_to_v8};
use crate::value::{BigInt, Fault, TypeOf, Value};

/// Any value that is not an object; otherwise `None`. A symbol has no neutral form.
pub fn primitive_from_v8(
    scope: &mut v8::PinScope<'_, '_>,
    value: v8::Local<'_, v8::Value>,
    limit: usize,
) -> Result<Option<Value>, Fault> {
    // The most frequent ones first.
    Ok(if let Ok(number) = v8::Local::<v8::Number>::try_from(value) {
        Some(Value::Number(number.value()))
    } else if value.is_undefined() {
        Some(Value::Undefined)
    } else if let Ok(string) = v8::Local::<v8::String>::try_from(value) {
        Some(Value::String(text_from_v8(scope, string, limit)?))
    } else if value.is_null() {
        Some(Value::Null)
    } else if value.is_boolean() {
        Some(Value::Boolean(value.is_true()))
    } else if let Ok(bigint) = v8::Local::<v8::BigInt>::try_from(value) {
        let mut words = vec![0; bigint.word_count()];
        let (negative, _) = bigint.to_words_array(&mut words);
        Some(Value::BigInt(Box::new(BigInt { negative, words: words.into_boxed_slice() })))
    } else {
        None
    })
}

/// A value that is not an object, in the current isolate; `None` for others.
pub fn primitive_to_v8<'s>(
    scope: &v8::PinScope<'s, '_>,
    value: &Value,
) -> Option<Result<v8::Local<'s, v8::Value>, Fault>> {
    Some(Ok(match value {
        Value::Undefined => v8::undefined(scope).into(),
        Value::Null => v8::null(scope).into(),
        Value::Boolean(boolean) => v8::Boolean::new(scope, *boolean).into(),
        Value::Number(number) => v8::Number::new(scope, *number).into(),
        Value::BigInt(bigint) => match v8::BigInt::new_from_words(scope, bigint.negative, &bigint.words) {
            Some(bigint) => bigint.into(),
            None => return Some(Err(Fault::beyond("Maximum BigInt size exceeded"))),
        },
        Value::String(text) => return Some(text_to_v8(scope, text).map(Into::into)),
        _ => return None,
    }))
}

/// The value that `Reference.typeof` reports.
pub fn type_of(value: v8::Local<'_, v8::Value>) -> TypeOf {
    if value.is_null() {
        TypeOf::Null
    } else if value.is_undefined() {
        TypeOf::Undefined
    } else if value.is_number() {
        TypeOf::Number
    } else if value.is_string() {
        TypeOf::String
    } else if value.is_boolean() {
        TypeOf::Boolean
    } else if value.is_function() {
        TypeOf::Function
    } else {
        TypeOf::Object
    }
}
