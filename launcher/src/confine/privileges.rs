//! The capabilities of this process: root's, if root has started it, and those over its own namespaces.

use super::{Refusal, done};

/// `struct __user_cap_header_struct`, and twice `struct __user_cap_data_struct`.
#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION_3: u32 = 0x2008_0522;
/// More than exist; the kernel reports the end.
const MAX_CAPABILITIES: libc::c_ulong = 64;

/// `CAP_KILL`, by its number.
pub const KILL: u32 = 5;

/// Whether this process may have a capability, one of the first 32.
pub fn is_permitted(capability: u32) -> bool {
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut data = [Data::default(); 2];
    // SAFETY: both structures are those of this version; `capget` writes the second.
    let result = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()) };
    result == 0 && data[0].permitted & (1 << capability) != 0
}

/// Puts all capabilities that this process may have into effect.
pub fn use_all() -> Result<(), Refusal> {
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut data = [Data::default(); 2];
    let (head, body) = (&raw mut header, data.as_mut_ptr());
    let failed = |result: libc::c_long| if result == 0 { 0 } else { -1 };
    // SAFETY: both structures are those of this version; `capget` writes the second.
    done(failed(unsafe { libc::syscall(libc::SYS_capget, head, body) }), "capget")?;
    for half in &mut data {
        half.effective = half.permitted;
    }
    // SAFETY: as above; `capset` reads both.
    done(failed(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, data.as_mut_ptr()) }), "capset")
}

/// Drops all capabilities permanently.
pub fn drop_capabilities() -> Result<String, Refusal> {
    // With `no_new_privs`, a process without capabilities cannot gain those that are left in this set.
    for capability in 0..MAX_CAPABILITIES {
        // SAFETY: the call concerns this process only.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            break;
        }
    }
    // SAFETY: the call concerns this process only. Kernels without the ambient set have nothing to clear.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut data = [Data::default(); 2];
    let (head, body) = (&raw mut header, data.as_mut_ptr());
    let failed = |result: libc::c_long| if result == 0 { 0 } else { -1 };
    // SAFETY: both structures are those of this version; `capset` reads them, `capget` writes the second.
    unsafe {
        done(failed(libc::syscall(libc::SYS_capset, head, body)), "capset")?;
        done(failed(libc::syscall(libc::SYS_capget, head, body)), "capget")?;
    }
    if data == [Data::default(); 2] { Ok("none".to_owned()) } else { Err(Refusal("some are left".to_owned())) }
}
