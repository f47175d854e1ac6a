//! On behalf of which asynchronous call of its host a guest acts. V8 keeps the number with every continuation: what runs
//! after an `await` acts on behalf of the same call as what ran before. Guests cannot see it.

use super::Guest;

/// Runs `work` on behalf of the call that the job which runs now belongs to.
pub fn within<'s, 'i, T>(
    scope: &mut v8::PinScope<'s, 'i>,
    guest: &Guest,
    work: impl FnOnce(&mut v8::PinScope<'s, 'i>) -> T,
) -> T {
    let before = scope.get_continuation_preserved_embedder_data();
    begin(scope, guest);
    let result = work(scope);
    scope.set_continuation_preserved_embedder_data(before);
    result
}

/// Acts from now on, until told otherwise, on behalf of the call that the job which runs now belongs to.
pub fn begin(scope: &v8::PinScope<'_, '_>, guest: &Guest) {
    let request = guest.chain().request();
    let now: v8::Local<v8::Value> =
        if request == 0 { v8::undefined(scope).into() } else { v8::Number::new(scope, request as f64).into() };
    scope.set_continuation_preserved_embedder_data(now);
}

/// The host's number for the call; 0 for none.
pub fn current(scope: &v8::PinScope<'_, '_>) -> i64 {
    let data = scope.get_continuation_preserved_embedder_data();
    v8::Local::<v8::Number>::try_from(data).map_or(0, |request| request.value() as i64)
}
