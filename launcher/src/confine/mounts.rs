//! An empty mount namespace.

use std::ffi::CStr;

use super::{Refusal, done, namespaces};

/// Folders that exist on every system. One of them becomes the root, in the new namespace only.
const PLACES: [&CStr; 4] = [c"/tmp", c"/dev", c"/proc", c"/sys"];

const OPTIONS: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
const HERE: &CStr = c".";

pub fn leave() -> Result<String, Refusal> {
    namespaces::unshare(libc::CLONE_NEWNS, "")?;
    mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE, None)?;
    let Some(place) = PLACES.into_iter().find(|place| mount_nothing(place).is_ok()) else {
        return Err(Refusal::of("mount"));
    };
    // SAFETY: the paths are C strings. The calls concern this process only.
    let way = unsafe {
        done(libc::chdir(place.as_ptr()), "chdir")?;
        // The old root then lies on top of the new one, until it is unmounted.
        let pivoted = libc::syscall(libc::SYS_pivot_root, HERE.as_ptr(), HERE.as_ptr()) == 0
            && libc::umount2(HERE.as_ptr(), libc::MNT_DETACH) == 0;
        if !pivoted {
            done(libc::chroot(HERE.as_ptr()), "pivot_root, chroot")?;
        }
        done(libc::chdir(c"/".as_ptr()), "chdir")?;
        if pivoted { "an empty file system" } else { "an empty root in the old file system" }
    };
    // This may fail: nothing can be created there anyway.
    let _ = mount(None, c"/", None, libc::MS_REMOUNT | libc::MS_RDONLY | OPTIONS, None);
    Ok(way.to_owned())
}

fn mount_nothing(place: &CStr) -> Result<(), Refusal> {
    mount(Some(c"none"), place, Some(c"tmpfs"), OPTIONS, Some(c"size=4k,nr_inodes=2,mode=555"))
}

fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    data: Option<&CStr>,
) -> Result<(), Refusal> {
    let pointer = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: each is null or a C string. The call concerns the namespace of this process only.
    done(unsafe { libc::mount(pointer(source), target.as_ptr(), pointer(kind), flags, pointer(data).cast()) }, "mount")
}
