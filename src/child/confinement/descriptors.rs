//! Prevents new descriptors: existing ones stay open, and the limit (`RLIMIT_NOFILE`) is the lowest number that is free.

use super::refusal::Refusal;

/// More than a child has open.
const MAX_INHERITED: libc::c_int = 64;

pub fn close() -> Result<String, Refusal> {
    // SAFETY: only queries flags; fails for descriptors that are not open.
    let is_open = |descriptor: &libc::c_int| unsafe { libc::fcntl(*descriptor, libc::F_GETFD) } >= 0;
    let first_free = (0..MAX_INHERITED).find(|descriptor| !is_open(descriptor));
    let Some(first_free) = first_free.and_then(|first| libc::rlim_t::try_from(first).ok()) else {
        return Err(Refusal(format!("more than {MAX_INHERITED} are open")));
    };
    let open = (0..MAX_INHERITED).filter(is_open).count();
    let limit = libc::rlimit { rlim_cur: first_free, rlim_max: first_free };
    // SAFETY: `limit` is valid for reads.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
        return Err(Refusal::by("RLIMIT_NOFILE", &std::io::Error::last_os_error()));
    }
    Ok(format!("{open} open, and no others can be opened"))
}
