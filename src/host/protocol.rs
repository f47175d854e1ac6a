//! The numbers shared with the surface are written down twice, here and in `surface/protocol.js`; this compares them.

use super::carrier::{kind, tag};
use crate::ops::{Transfer, op};

const SOURCE: &str = include_str!("../../surface/protocol.js");

/// The number of `name` in the frozen object called `group`.
fn number(group: &str, name: &str) -> Option<u32> {
    let start = SOURCE.find(&format!("const {group} = freeze({{"))?;
    let body = &SOURCE[start..start + SOURCE[start..].find("});")?];
    let line = body.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().split(',').next()?.trim().parse().ok()
}

macro_rules! same {
    ($group:literal, $module:path, [$($name:ident),* $(,)?]) => {{
        use $module as constants;
        $(assert_eq!(number($group, stringify!($name)), Some(constants::$name), "{}.{}", $group, stringify!($name));)*
    }};
}

#[test]
fn both_sides_have_the_same_numbers() {
    same!(
        "TAG",
        tag,
        [HANDLE, WIRE, FUNCTION, REFERENCE, COPY, PROMISE, FAULT, THROWN, DEREF, COPY_INTO, BUFFER, MOVE, SHARED, LIST,]
    );
    same!("KIND", kind, [ISOLATE, CONTEXT, SCRIPT, MODULE, REFERENCE, EXTERNAL_COPY, IVM, LINKER, SESSION]);
    same!(
        "OP",
        op,
        [
            CREATE_ISOLATE,
            CREATE_CONTEXT,
            COMPILE_SCRIPT,
            DISPOSE,
            HEAP_STATISTICS,
            CPU_TIME,
            WALL_TIME,
            IS_DISPOSED,
            REFERENCE_COUNT,
            HEAP_FIGURES,
            SCRIPT_CACHED_DATA,
            EVAL,
            EVAL_CLOSURE,
            GLOBAL,
            RUN,
            CREATE_SNAPSHOT,
            REF_COPY,
            REF_GET,
            REF_SET,
            REF_DELETE,
            REF_APPLY,
            REF_APPLY_SYNC_PROMISE,
            REF_RELEASE,
            COPY_NEW,
            COPY_COPY,
            COPY_TOTAL_SIZE,
            CALL,
            COMPILE_MODULE,
            MODULE_REQUESTS,
            MODULE_EVALUATE,
            MODULE_NAMESPACE,
            LINK_BEGIN,
            LINK_WATCH,
            LINK,
            INSTANTIATE,
            CALL_AWAITED,
            OPEN_SESSION,
            SESSION_SEND,
            SESSION_RUN,
            START_PROFILER,
            STOP_PROFILER,
        ]
    );
    same!(
        "TRANSFER",
        Transfer,
        [COPY, EXTERNAL_COPY, REFERENCE, PROMISE, OR_UNDEFINED, OR_REFERENCE, OR_COPY, ACCESSORS, UNSAFE_INHERIT,]
    );
}
