//! Operations that use more of the machine than a child may, or that ask for the machine's name.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use super::done;

const PIECE: usize = 16 << 20;

pub fn attempt(name: &str, argument: &str) -> io::Result<()> {
    let number = || argument.parse::<libc::c_int>().map_err(io::Error::other);
    match name {
        "oob" => {
            // SAFETY: one byte is valid for reads. The first descriptor is the connection.
            done(unsafe { libc::send(0, c"x".as_ptr().cast(), 1, libc::MSG_OOB) } == 1)
        }
        "uname" => host_name(argument),
        // Maps one page with these flags.
        "map" => map(4096, libc::PROT_READ | libc::PROT_WRITE, number()?).map(drop),
        // Maps this many megabytes of writable memory.
        "reserve" => {
            let mut left = usize::try_from(number()?).map_err(io::Error::other)? << 20;
            while left > 0 {
                let piece = left.min(PIECE);
                map(piece, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS)?;
                left -= piece;
            }
            Ok(())
        }
        // The same amount, first reserved and then made writable.
        "grow" => {
            let size = usize::try_from(number()?).map_err(io::Error::other)? << 20;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let start = map(size, libc::PROT_NONE, flags)?;
            // SAFETY: the mapping was made above, and nothing else uses it.
            done(unsafe { libc::mprotect(start, size, libc::PROT_READ | libc::PROT_WRITE) } == 0)
        }
        // The stack of the first thread, moved and made so large: megabytes.
        "stack" => {
            const PAGE: usize = 4096;
            let size = usize::try_from(number()?).map_err(io::Error::other)? << 20;
            // SAFETY: has no preconditions.
            let name = usize::try_from(unsafe { libc::getauxval(libc::AT_EXECFN) }).map_err(io::Error::other)?;
            // A page that has been used for nothing since the process was started: there are only names in it.
            let page = ptr::with_exposed_provenance_mut(name & !(PAGE - 1));
            // SAFETY: the page is mapped, and nothing reads it any more.
            done(unsafe { libc::mremap(page, PAGE, size, libc::MREMAP_MAYMOVE) } != libc::MAP_FAILED)
        }
        // The same stack, moved together with a page that is far below it, and back.
        "stacks" => {
            const PAGE: usize = 4096;
            const BELOW: usize = 96 << 20;
            // SAFETY: has no preconditions.
            let name = usize::try_from(unsafe { libc::getauxval(libc::AT_EXECFN) }).map_err(io::Error::other)?;
            let (first, end) = ((name - BELOW) / PAGE * PAGE, (name / PAGE + 1) * PAGE);
            let (first, length) = (ptr::with_exposed_provenance_mut(first), end - first);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let place = map(length, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS)?;
            // SAFETY: nothing is mapped there, and where the stack goes, only what was mapped for it. The first thread waits in the kernel until
            // its stack is back.
            done(unsafe {
                let flag = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                libc::mmap(first, PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) == first
                    && libc::mremap(first, length, length, flag, place) == place
                    && libc::mremap(place, length, length, flag, first) == first
            })
        }
        // An operation on a futex that no thread owns.
        "futex" => {
            let mut futex = 0_u32;
            // SAFETY: the futex outlives the call, and its lock is released with this process.
            done(unsafe { libc::syscall(libc::SYS_futex, &raw mut futex, number()?, 0, 0, 0, 0) } >= 0)
        }
        "threads" => {
            const STACK: usize = 64 << 10;
            (0..number()?).try_for_each(|_| {
                let builder = std::thread::Builder::new().stack_size(STACK);
                builder.spawn(|| std::thread::sleep(Duration::from_secs(20))).map(drop)
            })
        }
        // SAFETY: the name is a C string.
        "memfd" => done(unsafe { libc::syscall(libc::SYS_memfd_create, c"x".as_ptr(), 0) } >= 0),
        "shmget" => {
            // SAFETY: takes numbers.
            done(unsafe { libc::syscall(libc::SYS_shmget, libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600) } >= 0)
        }
        "children" => {
            let mut usage = MaybeUninit::<libc::rusage>::zeroed();
            // SAFETY: there is room for the structure.
            done(unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) } == 0)
        }
        // Raises the limit of writable memory.
        "raise" => {
            let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
            // SAFETY: the limit is valid for reads.
            done(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) } == 0)
        }
        // Reads a limit of a process; 0 means this process.
        "limits" => {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: no new limit is given, and `limit` is valid for writes of the old one.
            done(unsafe { libc::prlimit(number()?, libc::RLIMIT_NOFILE, ptr::null(), &raw mut limit) } == 0)
        }
        _ => Err(io::Error::other("no such operation")),
    }
}

fn map(size: usize, protection: libc::c_int, flags: libc::c_int) -> io::Result<*mut libc::c_void> {
    // SAFETY: a new mapping, at an address that the kernel chooses.
    let start = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
    done(start != libc::MAP_FAILED).map(|()| start)
}

/// Succeeds if the machine has this name.
fn host_name(expected: &str) -> io::Result<()> {
    let mut system = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: writes C strings into the structure, which is also valid if zeroed.
    let name = unsafe {
        done(libc::uname(system.as_mut_ptr()) == 0)?;
        CStr::from_ptr((*system.as_ptr()).nodename.as_ptr())
    };
    if name.to_str() == Ok(expected) { Ok(()) } else { Err(io::Error::other("another name")) }
}
