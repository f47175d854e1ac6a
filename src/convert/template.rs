//! Templates of objects that have certain properties and nothing else: `v8::DictionaryTemplate`, which the crate does not bind.

#[cfg(target_os = "linux")]
pub use bound::Template;
#[cfg(not(target_os = "linux"))]
pub use unbound::Template;

#[cfg(target_os = "linux")]
mod bound {
    use std::marker::PhantomData;
    use std::ptr::NonNull;

    pub struct Template {
        template: v8::Global<v8::Data>,
        /// The number of names.
        count: usize,
    }

    /// `std::string_view`.
    #[repr(C)]
    struct View<'a> {
        data: *const u8,
        size: usize,
        name: PhantomData<&'a [u8]>,
    }

    // A `v8::Local` is a pointer, here and in C++, a `v8::MaybeLocal` is one that may be null, and a `std::span` is passed like its two parts.
    unsafe extern "C" {
        /// `v8::DictionaryTemplate::New`.
        #[link_name = "_ZN2v818DictionaryTemplate3NewEPNS_7IsolateENSt4__Cr4spanIKNS3_17basic_string_viewIcNS3_11char_traitsIcEEEELm18446744073709551615EEE"]
        fn new(isolate: v8::UnsafeRawIsolatePtr, names: *const View<'_>, count: usize) -> Option<NonNull<v8::Data>>;
        /// `v8::DictionaryTemplate::NewInstance`.
        #[link_name = "_ZN2v818DictionaryTemplate11NewInstanceENS_5LocalINS_7ContextEEENSt4__Cr4spanINS_10MaybeLocalINS_5ValueEEELm18446744073709551615EEE"]
        fn new_instance(
            template: *const v8::Data,
            context: *const v8::Context,
            values: *mut v8::Local<'_, v8::Value>,
            count: usize,
        ) -> Option<NonNull<v8::Value>>;
    }

    impl Template {
        /// Names have one byte for each character, as V8 reads them. `None` for names that V8 does not expect: it ends the process for an index.
        pub fn new(scope: &v8::PinScope<'_, '_>, names: &[&[u8]]) -> Option<Self> {
            let is_name = |name: &[u8]| !name.first().is_some_and(u8::is_ascii_digit);
            let is_first = |(place, name): (usize, &&[u8])| !names.iter().take(place).any(|before| before == name);
            if !names.iter().all(|name| is_name(name)) || !names.iter().enumerate().all(is_first) {
                return None;
            }
            let views: Vec<_> =
                names.iter().map(|name| View { data: name.as_ptr(), size: name.len(), name: PhantomData }).collect();
            // SAFETY: the isolate is that of the scope, in which V8 creates the handle. It copies the names.
            let template = unsafe { new(scope.as_raw_isolate_ptr(), views.as_ptr(), views.len()) }?;
            // SAFETY: returned by V8 just now.
            let template = unsafe { std::mem::transmute::<NonNull<v8::Data>, v8::Local<'_, v8::Data>>(template) };
            Some(Self { template: v8::Global::new(scope, template), count: names.len() })
        }

        /// An object of the current context with these values, one for each name. V8 may change the elements of `values`.
        pub fn instance<'s>(
            &self,
            scope: &v8::PinScope<'s, '_>,
            values: &mut [v8::Local<'s, v8::Value>],
        ) -> Option<v8::Local<'s, v8::Value>> {
            // V8 ends the process for another number.
            if values.len() != self.count {
                return None;
            }
            let template = v8::Local::new(scope, &self.template);
            let context = scope.get_current_context();
            // SAFETY: the template, the context and the values are alive, and there are as many values as names.
            let object =
                unsafe { new_instance(&raw const *template, &raw const *context, values.as_mut_ptr(), values.len()) };
            // SAFETY: returned by V8 just now, in this scope.
            object.map(|object| unsafe { std::mem::transmute::<NonNull<v8::Value>, v8::Local<'s, v8::Value>>(object) })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod unbound {
    /// There are none.
    pub enum Template {}

    impl Template {
        pub fn new(_scope: &v8::PinScope<'_, '_>, _names: &[&[u8]]) -> Option<Self> {
            None
        }

        pub fn instance<'s>(
            &self,
            _scope: &v8::PinScope<'s, '_>,
            _values: &mut [v8::Local<'s, v8::Value>],
        ) -> Option<v8::Local<'s, v8::Value>> {
            match *self {}
        }
    }
}
