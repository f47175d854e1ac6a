//! Numbers that the surface and the native side exchange. The surface has the same numbers (`surface/protocol.js`); a test compares them.

use crate::value::CallbackMode;

/// Names under `surface only` exist for the test; no Rust code uses them.
macro_rules! numbers {
    (
        $(#[$about:meta])* $module:ident is $group:literal { $($(#[$note:meta])* $name:ident = $number:literal,)* }
        $(surface only { $($other:ident = $other_number:literal,)* })?
    ) => {
        $(#[$about])*
        pub mod $module {
            $($(#[$note])* pub const $name: u32 = $number;)*

            #[cfg(test)]
            pub const ALL: (&str, &[(&str, u32)]) = (
                $group,
                &[$((stringify!($name), $name),)* $($((stringify!($other), $other_number),)*)?],
            );
        }
    };
}

numbers! {
    /// How a call waits. With any other number, the result is discarded.
    mode is "MODE" {
        SYNC = 0,
        ASYNC = 1,
    }
    surface only {
        IGNORED = 2,
    }
}

numbers! {
    /// Kinds of handles.
    kind is "KIND" {
        ISOLATE = 0,
        CONTEXT = 1,
        SCRIPT = 2,
        MODULE = 3,
        REFERENCE = 4,
        EXTERNAL_COPY = 5,
        IVM = 7,
        LIB = 8,
        LINKER = 11,
        SESSION = 12,
    }
    surface only {
        CALLBACK = 6,
        DEREFERENCE = 9,
        COPY_INTO = 10,
    }
}

numbers! {
    /// First elements of carriers.
    tag is "TAG" {
        HANDLE = 1,
        WIRE = 2,
        FUNCTION = 3,
        REFERENCE = 4,
        COPY = 5,
        PROMISE = 6,
        FAULT = 7,
        THROWN = 8,
        DEREF = 9,
        COPY_INTO = 10,
        BUFFER = 11,
        MOVE = 12,
        SHARED = 13,
        LIST = 14,
        VALUE = 15,
    }
}

numbers! {
    /// How a function of another isolate or a host is called.
    callback is "CALLBACK" {
        ASYNC = 1,
        IGNORED = 2,
        AWAITED = 3,
    }
    surface only {
        SYNC = 0,
    }
}

/// `Sync` for a number that the surface does not use.
pub fn callback_mode(number: u32) -> CallbackMode {
    match number {
        callback::ASYNC => CallbackMode::Async,
        callback::IGNORED => CallbackMode::Ignored,
        callback::AWAITED => CallbackMode::Awaited,
        _ => CallbackMode::Sync,
    }
}

/// The surface's number for a call mode.
pub fn callback_number(mode: CallbackMode) -> u32 {
    match mode {
        CallbackMode::Sync => 0,
        CallbackMode::Async => callback::ASYNC,
        CallbackMode::Ignored => callback::IGNORED,
        CallbackMode::Awaited => callback::AWAITED,
    }
}

numbers! {
    /// Operations.
    op is "OP" {
        CREATE_ISOLATE = 1,
        CREATE_CONTEXT = 2,
        COMPILE_SCRIPT = 3,
        COMPILE_MODULE = 4,
        DISPOSE = 5,
        HEAP_STATISTICS = 6,
        CPU_TIME = 7,
        WALL_TIME = 8,
        IS_DISPOSED = 9,
        REFERENCE_COUNT = 10,
        HEAP_FIGURES = 11,
        SCRIPT_CACHED_DATA = 12,
        EVAL = 13,
        EVAL_CLOSURE = 14,
        GLOBAL = 15,
        RUN = 17,
        CREATE_SNAPSHOT = 19,
        REF_COPY = 20,
        REF_GET = 22,
        REF_SET = 23,
        REF_DELETE = 24,
        REF_APPLY = 25,
        REF_APPLY_SYNC_PROMISE = 26,
        REF_RELEASE = 27,
        COPY_NEW = 30,
        COPY_COPY = 31,
        COPY_TOTAL_SIZE = 33,
        CALL = 35,
        /// Only for hosts that serve it: like CALL, but the promise that it returns is awaited.
        CALL_AWAITED = 36,
        MODULE_REQUESTS = 40,
        MODULE_EVALUATE = 41,
        MODULE_NAMESPACE = 42,
        LINK_BEGIN = 43,
        LINK_WATCH = 44,
        LINK = 45,
        INSTANTIATE = 46,
        OPEN_SESSION = 50,
        SESSION_SEND = 51,
        SESSION_RUN = 52,
        START_PROFILER = 53,
        STOP_PROFILER = 54,
        /// A bit that is added to a guest's request to a host: the guest may see locations in the host's code.
        SHOWS_STACKS = 256,
        /// A bit that is added to an operation that a host serves: what it returns or throws is discarded.
        DISCARDED = 512,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{callback, kind, mode, op, tag};
    use crate::ops::Transfer;

    const SOURCE: &str = include_str!("../../surface/protocol.js");

    /// Numbers by group and name.
    type Numbers = BTreeMap<(&'static str, &'static str), u32>;

    /// All numbers of `source`, which has one per line.
    fn numbers(source: &'static str) -> Numbers {
        let mut numbers = Numbers::new();
        let mut group = None;
        for line in source.lines().map(str::trim) {
            let Some(inside) = group else {
                group = line.strip_prefix("const ").and_then(|line| line.strip_suffix(" = freeze({"));
                continue;
            };
            if line == "});" {
                group = None;
            } else if !["//", "/*", "* "].iter().any(|comment| line.starts_with(comment)) {
                let number = line.split_once(": ").and_then(|(name, rest)| {
                    let (number, rest) = rest.split_once(',')?;
                    let alone = rest.is_empty() || rest.starts_with(" //");
                    Some((name, number.parse().ok().filter(|_| alone)?))
                });
                let (name, number) = number.unwrap_or_else(|| panic!("{inside}: {line}"));
                assert_eq!(numbers.insert((inside, name), number), None, "{inside}.{name} twice");
            }
        }
        numbers
    }

    #[test]
    fn both_sides_have_the_same_numbers() {
        macro_rules! transfer {
            ($($name:ident),*) => { &[$((stringify!($name), Transfer::$name),)* ("DEFAULT", 0), ("ASKED_MASK", Transfer::TYPE_MASK | Transfer::PROMISE), ("OR_THROW", 0)] };
        }
        let transfer: &[_] = transfer![
            COPY,
            EXTERNAL_COPY,
            REFERENCE,
            TYPE_MASK,
            PROMISE,
            OR_UNDEFINED,
            OR_REFERENCE,
            OR_COPY,
            FALLBACK_MASK,
            ACCESSORS,
            UNSAFE_INHERIT
        ];
        let mut here = Numbers::new();
        for (group, names) in [mode::ALL, kind::ALL, tag::ALL, callback::ALL, op::ALL, ("TRANSFER", transfer)] {
            for (name, number) in names {
                assert_eq!(here.insert((group, name), *number), None, "{group}.{name} twice");
            }
        }
        let there = numbers(SOURCE);
        for (name, number) in &there {
            assert_eq!(here.get(name), Some(number), "{name:?} of the surface");
        }
        for (name, number) in &here {
            assert_eq!(there.get(name), Some(number), "{name:?} of the native side");
        }
    }
}
