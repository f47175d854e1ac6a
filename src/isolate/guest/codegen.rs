//! `eval` and `Function` inside a guest. V8 cannot be interrupted while it parses, so the length of such sources is limited.

use crate::isolate::guest::Guest;

/// Bytes of the isolate's memory limit for each character that a source may have, as in isolated-vm.
const SHARE: usize = 8;

/// Refuses sources that are too long; the guest gets V8's `EvalError`.
pub(in crate::isolate) fn on_code_generation<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    source: v8::Local<'s, v8::Value>,
    _is_code_like: bool,
) -> v8::ModifyCodeGenerationFromStringsResult<'s> {
    let length = v8::Local::<v8::String>::try_from(source).map_or(0, |source| source.length());
    let limit =
        Guest::of(scope).and_then(|guest| guest.remote()).map_or(0, |remote| remote.settings.memory_limit / SHARE);
    v8::ModifyCodeGenerationFromStringsResult { codegen_allowed: length <= limit, modified_source: None }
}
