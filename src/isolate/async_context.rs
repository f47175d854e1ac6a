//! The async context of guest code: on behalf of which asynchronous call of its host it runs and, if several actors share a realm, for
//! which actor. V8 keeps it with every continuation: what runs after an `await` has the same context as what ran before. Guests cannot see
//! it. An evaluation of a module that belongs to no such call has a number of its own, so that it can be distinguished from others.

/// Runs `work` on behalf of the call `request`; 0 for none.
pub fn within<'s, 'i, T>(
    scope: &mut v8::PinScope<'s, 'i>,
    request: i64,
    work: impl FnOnce(&mut v8::PinScope<'s, 'i>) -> T,
) -> T {
    let before = scope.get_continuation_preserved_embedder_data();
    begin(scope, request);
    let result = work(scope);
    scope.set_continuation_preserved_embedder_data(before);
    result
}

/// From now on, until this is changed, the guest acts on behalf of the call `request`; 0 for none.
pub fn begin(scope: &v8::PinScope<'_, '_>, request: i64) {
    let now: v8::Local<v8::Value> =
        if request == 0 { v8::undefined(scope).into() } else { v8::Number::new(scope, request as f64).into() };
    scope.set_continuation_preserved_embedder_data(now);
}

/// The host's number for the call; 0 for none.
pub fn current(scope: &v8::PinScope<'_, '_>) -> i64 {
    let owner = owner(scope);
    if owner < FIRST_EVALUATION { owner } else { 0 }
}

/// Numbers from here on are those of evaluations. Hosts number their calls upwards from zero, and promises downwards
/// (`surface/host/requests`).
const FIRST_EVALUATION: i64 = 1 << 52;

/// Runs `work` as part of a new evaluation of the isolate, unless it belongs to a call or to another evaluation already.
pub fn within_evaluation<'s, 'i, T>(
    scope: &mut v8::PinScope<'s, 'i>,
    number: impl FnOnce() -> i64,
    work: impl FnOnce(&mut v8::PinScope<'s, 'i>) -> T,
) -> T {
    if owner(scope) != 0 {
        return work(scope);
    }
    let before = scope.get_continuation_preserved_embedder_data();
    let owner = v8::Number::new(scope, (FIRST_EVALUATION + number()) as f64).into();
    let now = match actor(scope) {
        Some(actor) => v8::Array::new_with_elements(scope, &[owner, actor]).into(),
        None => owner,
    };
    scope.set_continuation_preserved_embedder_data(now);
    let result = work(scope);
    scope.set_continuation_preserved_embedder_data(before);
    result
}

/// The host's number for the call, or that of the evaluation; 0 for neither.
pub fn owner(scope: &v8::PinScope<'_, '_>) -> i64 {
    let data = scope.get_continuation_preserved_embedder_data();
    // Nearly always.
    if data.is_undefined() {
        return 0;
    }
    let owner = match v8::Local::<v8::Array>::try_from(data) {
        Ok(both) => both.get_index(scope, OWNER),
        Err(_) => Some(data),
    };
    owner.and_then(|owner| v8::Local::<v8::Number>::try_from(owner).ok()).map_or(0, |owner| owner.value() as i64)
}

/// With an actor, the context is an array of both.
const OWNER: u32 = 0;
const ACTOR: u32 = 1;

/// The current actor, if one was set.
pub fn actor<'s>(scope: &v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Value>> {
    let both = v8::Local::<v8::Array>::try_from(scope.get_continuation_preserved_embedder_data()).ok()?;
    both.get_index(scope, ACTOR)
}

/// From now on, until this is changed, the guest acts for `actor`, on behalf of the same call.
pub fn act_for(scope: &v8::PinScope<'_, '_>, actor: v8::Local<'_, v8::Value>) {
    let owner = v8::Number::new(scope, owner(scope) as f64).into();
    let both = v8::Array::new_with_elements(scope, &[owner, actor]);
    scope.set_continuation_preserved_embedder_data(both.into());
}

/// Runs `work` for `actor`, on behalf of the same call.
pub fn within_actor<'s, 'i, T>(
    scope: &mut v8::PinScope<'s, 'i>,
    actor: v8::Local<'_, v8::Value>,
    work: impl FnOnce(&mut v8::PinScope<'s, 'i>) -> T,
) -> T {
    let before = scope.get_continuation_preserved_embedder_data();
    act_for(scope, actor);
    let result = work(scope);
    scope.set_continuation_preserved_embedder_data(before);
    result
}

/// The current context, for [`within_kept`].
pub fn keep(scope: &v8::PinScope<'_, '_>) -> v8::Global<v8::Value> {
    v8::Global::new(scope, scope.get_continuation_preserved_embedder_data())
}

/// Runs `work` in a context that [`keep`] has returned.
pub fn within_kept<'s, 'i, T>(
    scope: &mut v8::PinScope<'s, 'i>,
    kept: v8::Local<'_, v8::Value>,
    work: impl FnOnce(&mut v8::PinScope<'s, 'i>) -> T,
) -> T {
    let before = scope.get_continuation_preserved_embedder_data();
    scope.set_continuation_preserved_embedder_data(kept);
    let result = work(scope);
    scope.set_continuation_preserved_embedder_data(before);
    result
}
