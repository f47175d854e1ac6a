//! Each field is made wrong in an object that V8 has made, and found.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;
use std::{mem, ptr};

use super::Unusable;
use super::fields::{CODE_START, Kind, Kinds, WRAPPED, buffer, text, view};
use super::verifier::{
    ACCESSORS, BUFFER, CODE, PROPERTIES_OF_RESIZABLE, REFERENCE, TEXT, TYPED_ARRAY, VIEWS, WRAPPER, prepare, verify,
};
use crate::engine::heap::objects::{self, Object};
use crate::engine::{self, TaskSink};
use crate::value::Budget;

struct NoTasks;

impl TaskSink for NoTasks {
    fn post(&self, _task: v8::Task, _delay: Duration) {}
}

/// Runs `test` in the context of an isolate that has just been made.
fn with_realm(test: impl FnOnce(&mut v8::PinScope<'_, '_>, *const c_void)) {
    let engine = (crate::guest::settings().engine)().expect("an engine");
    let mut isolate = engine::make_isolate(engine.create_params(64 << 20, &Budget::new(64 << 20), None));
    // SAFETY: only the address is taken.
    let address: *const c_void = unsafe { mem::transmute(isolate.as_raw_isolate_ptr()) };
    let sink: Arc<dyn TaskSink> = Arc::new(NoTasks);
    engine::register_isolate(address, &sink);
    {
        v8::scope!(let scope, &mut isolate);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        test(scope, address);
    }
    engine::forget_isolate(address);
}

/// The object that a handle refers to.
fn object_of<T>(handle: v8::Local<'_, T>) -> Object {
    // SAFETY: a local handle is the address of a place with a tagged pointer.
    unsafe { Object::from_tagged(*mem::transmute::<v8::Local<'_, T>, *const usize>(handle)) }.expect("it is one")
}

fn eval<'s>(scope: &mut v8::PinScope<'s, '_>, code: &str) -> v8::Local<'s, v8::Value> {
    let source = v8::String::new(scope, code).expect("it is short");
    v8::Script::compile(scope, source, None).and_then(|script| script.run(scope)).expect(code)
}

fn check(isolate: *const c_void) -> Result<(), Unusable> {
    verify(isolate, || true)
}

/// What is found while a field has another value.
fn with_wrong(
    isolate: *const c_void,
    object: Object,
    field: usize,
    wrong: impl Fn(usize) -> usize,
) -> Result<(), Unusable> {
    // SAFETY: the object exists, and V8 does nothing meanwhile.
    unsafe {
        let right = object.word(field);
        object.set_word(field, wrong(right));
        let found = check(isolate);
        object.set_word(field, right);
        found
    }
}

#[test]
fn all_kinds_are_known() {
    with_realm(|_, _| {
        let all: Vec<Kind> = Kinds::get().all().collect();
        let count = |kind: &dyn Fn(&Kind) -> bool| all.iter().filter(|each| kind(each)).count();
        for (kind, expected) in [
            (Kind::Buffer, 1),
            (Kind::TypedArray, 2),
            (Kind::DataView, 2),
            (Kind::Attachments, 1),
            (Kind::Code, 1),
            (Kind::Bytes, 1),
            (Kind::Unknown, 2),
            (Kind::Text { is_cached: true }, 6),
            (Kind::Text { is_cached: false }, 6),
            (Kind::Wrapper { field: 1 }, 1),
            (Kind::Wrapper { field: WRAPPED }, 4),
        ] {
            assert_eq!(count(&|each| *each == kind), expected, "{kind:?}");
        }
        assert_eq!(count(&|each| matches!(each, Kind::References { .. })), 6);
        assert!(count(&|each| *each == Kind::Plain) > 15);
    });
}

#[test]
fn what_v8_makes_is_right() {
    with_realm(|scope, isolate| {
        assert_eq!(check(isolate), Ok(()));
        eval(
            scope,
            "var kept = [];
            for (const options of [undefined, { maxByteLength: 64 }]) {
                for (const size of [0, 8, 16]) {
                    const b = new ArrayBuffer(size, options);
                    kept.push(b, new Uint8Array(b), new DataView(b), new Float64Array(b), new Uint8Array(b, size));
                }
            }
            for (let i = 0; i < 100; i++) kept.push(new Uint16Array(i), new DataView(kept.at(-1).buffer));
            kept[0].name = 5;
            class Sub extends Uint8Array { a = 1 }
            kept.push(new Sub(5), new (class extends DataView { b = {} })(new ArrayBuffer(3)));",
        );
        assert_eq!(check(isolate), Ok(()));
        scope.low_memory_notification();
        assert_eq!(check(isolate), Ok(()));
    });
}

#[test]
fn wrong_addresses_of_buffers_and_views_are_found() {
    use view::{data_view, typed_array};
    type Case = (&'static str, usize, fn(usize) -> usize, &'static str);
    let cases: &[Case] = &[
        ("new ArrayBuffer(16)", buffer::MEMORY, |right| right + 16, BUFFER),
        ("new ArrayBuffer(16)", buffer::MEMORY, |_| 0, BUFFER),
        ("new ArrayBuffer(16)", buffer::LENGTH, |_| 17, BUFFER),
        ("new ArrayBuffer(16)", buffer::MAX_LENGTH, |_| 1, BUFFER),
        ("new ArrayBuffer(16)", buffer::EXTENSION, |_| 0, BUFFER),
        ("new ArrayBuffer(16)", buffer::EXTENSION, |right| right + 1, BUFFER),
        ("new ArrayBuffer(16)", buffer::FLAGS, |right| right | buffer::IS_RESIZABLE, BUFFER),
        ("new ArrayBuffer(16)", buffer::FLAGS, |right| right | buffer::IS_SHARED, BUFFER),
        ("new ArrayBuffer(16)", buffer::FLAGS, |right| right | buffer::WAS_DETACHED, BUFFER),
        ("new ArrayBuffer(16)", WRAPPED, |_| 4096, WRAPPER),
        ("new ArrayBuffer(16)", buffer::END, |_| 4096, WRAPPER),
        ("new ArrayBuffer(8, { maxByteLength: 64 })", buffer::FLAGS, |_| 0, BUFFER),
        ("new ArrayBuffer(0, { maxByteLength: 64 })", buffer::EXTENSION, |_| 0, BUFFER),
        ("new Uint8Array(16)", typed_array::ADDRESS, |_| 0, TYPED_ARRAY),
        ("new Uint8Array(16)", typed_array::ADDRESS, |right| right + 1, TYPED_ARRAY),
        ("new Uint8Array(16)", view::SIZE, |_| 17, TYPED_ARRAY),
        ("new Uint8Array(16)", view::BUFFER, |_| 0, BUFFER),
        ("new Uint8Array(16)", typed_array::END, |_| 4096, WRAPPER),
        ("new Uint8Array(new ArrayBuffer(16), 4, 4)", typed_array::ADDRESS, |_| 4, TYPED_ARRAY),
        ("new Uint8Array(new ArrayBuffer(16), 4, 4)", view::OFFSET, |_| 13, TYPED_ARRAY),
        ("new Uint8Array(new ArrayBuffer(8, { maxByteLength: 64 }))", typed_array::ADDRESS, |_| 0, TYPED_ARRAY),
        ("new Uint8Array(new ArrayBuffer(8, { maxByteLength: 64 }), 4, 2)", view::OFFSET, |_| 7, TYPED_ARRAY),
        ("new Uint8Array(0)", typed_array::ADDRESS, |right| right + 1, TYPED_ARRAY),
        ("new Uint8Array(0)", view::SIZE, |_| 1, TYPED_ARRAY),
        ("new DataView(new ArrayBuffer(16))", data_view::ADDRESS, |_| 0, VIEWS),
        ("new DataView(new ArrayBuffer(16), 4)", data_view::ADDRESS, |_| 4, VIEWS),
        ("new DataView(new ArrayBuffer(16), 4, 4)", view::SIZE, |_| 13, VIEWS),
        ("new DataView(new ArrayBuffer(16), 4, 4)", view::SIZE, |_| usize::MAX, VIEWS),
        ("new DataView(new ArrayBuffer(16), 4)", data_view::END, |_| 4096, WRAPPER),
        ("new DataView(new ArrayBuffer(8, { maxByteLength: 64 }), 4)", data_view::ADDRESS, |_| 0, VIEWS),
        ("new DataView(new ArrayBuffer(8, { maxByteLength: 64 }), 4, 4)", view::OFFSET, |right| right + 1, VIEWS),
    ];
    with_realm(|scope, isolate| {
        for (code, field, wrong, expected) in cases {
            let object = object_of(eval(scope, code));
            let found = with_wrong(isolate, object, *field, wrong);
            assert_eq!(found, Err(Unusable::Content(expected)), "{code}, field {field}");
            assert_eq!(check(isolate), Ok(()), "{code}");
        }
    });
}

extern "C" fn callback(_info: *const v8::FunctionCallbackInfo) {}

#[test]
#[allow(clippy::disallowed_methods, reason = "the isolate stays on this thread")]
fn native_objects_are_found() {
    with_realm(|scope, _| {
        let own = v8::String::new_external_onebyte_static(scope, b"a string outside of the heap").unwrap();
        let object = object_of(own);
        // SAFETY: the object exists.
        assert_eq!(unsafe { Kinds::get().of(object) }, Some(Kind::Text { is_cached: true }));
        // SAFETY: as above.
        assert_eq!(unsafe { object.word(text::LENGTH) } >> 32, 28);
    });
    let refused = |make: &dyn Fn(&mut v8::PinScope<'_, '_>), expected: &'static str| {
        with_realm(|scope, isolate| {
            make(scope);
            assert_eq!(check(isolate), Err(Unusable::Content(expected)));
        });
    };
    refused(&|scope| assert!(v8::String::new_external_onebyte_static(scope, b"outside of the heap").is_some()), TEXT);
    refused(&|scope| assert!(v8::External::new(scope, ptr::without_provenance_mut(4096)).is_external()), REFERENCE);
    refused(
        &|scope| {
            let template = v8::ObjectTemplate::new(scope);
            template.set_internal_field_count(1);
            let object = template.new_instance(scope).unwrap();
            object.set_aligned_pointer_in_internal_field(0, ptr::without_provenance(4096), 0);
        },
        WRAPPER,
    );
    refused(
        &|scope| {
            scope.get_current_context().set_slot(std::rc::Rc::new(5_u8));
        },
        WRAPPER,
    );
}

#[test]
fn wrong_addresses_of_functions_are_found() {
    with_realm(|scope, isolate| {
        let template = object_of(v8::FunctionTemplate::new_raw(scope, callback));
        // SAFETY: the object exists.
        let kind = unsafe { Kinds::get().of(template) };
        let Some(Kind::References { first, last }) = kind else { panic!("a template: {kind:?}") };
        assert_eq!(first, last);
        // SAFETY: as above.
        assert_eq!(unsafe { template.word(first) }, callback as *const () as usize);
        assert_eq!(check(isolate), Ok(()));
        assert_eq!(with_wrong(isolate, template, first, |_| 0), Ok(()));
        for wrong in [1, 4096, template.tagged(), usize::MAX] {
            let found = with_wrong(isolate, template, first, |_| wrong);
            assert_eq!(found, Err(Unusable::Content(REFERENCE)), "{wrong:x}");
        }
    });
}

#[test]
fn wrong_code_is_found() {
    with_realm(|scope, isolate| {
        eval(
            scope,
            "var f = (n) => { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum }; for (let i = 0; i < 100; i++) f(1e5);",
        );
        let kinds = Kinds::get();
        // SAFETY: nothing is allocated in V8's heap.
        let code = unsafe { objects::find(|object| (kinds.of(object) == Some(Kind::Code)).then_some(object)) };
        let code = code.expect("compiled code");
        assert_eq!(check(isolate), Ok(()));
        assert_eq!(with_wrong(isolate, code, CODE_START, |_| 4096), Err(Unusable::Content(CODE)));
    });
}

#[test]
fn the_walk_ends_when_no_caller_waits() {
    with_realm(|_, isolate| {
        assert_eq!(verify(isolate, || false), Err(Unusable::Abandoned));
        assert_eq!(prepare(|| false), Err(Unusable::Abandoned));
    });
}

#[test]
fn resizable_buffers_do_not_lead_to_their_arrays() {
    with_realm(|scope, _| {
        let object =
            object_of(eval(scope, "var b = new ArrayBuffer(8, { maxByteLength: 64 }), c = new Uint8Array(b); b"));
        // SAFETY: the object exists.
        let views = || unsafe { object.word(buffer::VIEWS) };
        assert_ne!(views(), buffer::MANY_VIEWS);
        assert_eq!(prepare(|| true), Ok(()));
        assert_eq!(views(), buffer::MANY_VIEWS);
        eval(scope, "b.name = 'a name'; b.size = 0.5; b[3] = 7; b.big = 2n ** 70n; b[Symbol.iterator] = undefined");
        assert_eq!(prepare(|| true), Ok(()));
        let accessor = "Object.defineProperty(b, 'c', { get() { return c } })";
        for (code, expected) in [
            ("b.c = {}", PROPERTIES_OF_RESIZABLE),
            ("b[0] = c", PROPERTIES_OF_RESIZABLE),
            ("for (let i = 0; i < 2000; i++) b['k' + i] = i; b.c = c", PROPERTIES_OF_RESIZABLE),
            (accessor, ACCESSORS),
        ] {
            let made = format!("var b = new ArrayBuffer(8, {{ maxByteLength: 64 }}), c = new Uint8Array(b); {code}; 0");
            eval(scope, &made);
            assert_eq!(prepare(|| true), Err(Unusable::Content(expected)), "{code}");
            eval(scope, "b = c = undefined");
            scope.low_memory_notification();
            assert_eq!(prepare(|| true), Ok(()), "{code}");
        }
        eval(scope, "var b = new ArrayBuffer(8), c = new DataView(b); b.c = c; b.d = {}; b[0] = []");
        assert_eq!(prepare(|| true), Ok(()));
        eval(scope, &accessor.replace("'c'", "'e'"));
        assert_eq!(prepare(|| true), Err(Unusable::Content(ACCESSORS)));
    });
}
