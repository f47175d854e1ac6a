//! This library and the host's executable, as the system's loader sees them.

#[cfg(target_os = "linux")]
pub use system::contains;
pub use system::{of_host, own_file};

#[cfg(unix)]
mod system {
    use std::ffi::{CStr, OsString, c_void};
    use std::os::unix::ffi::OsStringExt;
    use std::path::PathBuf;

    /// The address of something that the host exports, or null.
    pub fn of_host(name: &CStr) -> *mut c_void {
        // SAFETY: the name is a C string; looking up has no preconditions.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
    }

    /// What the loader knows about the library or executable that has this address.
    fn description(address: *const c_void) -> Option<libc::Dl_info> {
        let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the call looks up an address, which need not exist, and writes the description if it returns another number than zero.
        unsafe { (libc::dladdr(address, found.as_mut_ptr()) != 0).then(|| found.assume_init()) }
    }

    /// An address of this library.
    fn here() -> *const c_void {
        own_file as fn() -> Option<PathBuf> as *const c_void
    }

    /// Whether an address lies in this library.
    #[cfg(target_os = "linux")]
    pub fn contains(address: usize) -> bool {
        let base = |address| description(address).map(|found| found.dli_fbase);
        base(std::ptr::without_provenance(address)).is_some_and(|found| base(here()) == Some(found))
    }

    /// The path of this library's file.
    pub fn own_file() -> Option<PathBuf> {
        let name = description(here())?.dli_fname;
        if name.is_null() {
            return None;
        }
        // SAFETY: the name is a C string that belongs to the loader and stays valid, since this library stays loaded.
        let name = unsafe { CStr::from_ptr(name) };
        PathBuf::from(OsString::from_vec(name.to_bytes().to_vec())).canonicalize().ok()
    }
}

#[cfg(windows)]
mod system {
    use std::ffi::{CStr, OsString, c_void};
    use std::os::windows::ffi::OsStringExt;
    use std::path::PathBuf;
    use std::ptr;

    use windows_sys::Win32::Foundation::MAX_PATH;
    use windows_sys::Win32::System::LibraryLoader::{
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, GetModuleFileNameW,
        GetModuleHandleExW, GetModuleHandleW, GetProcAddress,
    };

    /// The address of something that the host exports, or null.
    pub fn of_host(name: &CStr) -> *mut c_void {
        // SAFETY: a null name means the executable; the other name is a C string.
        let found = unsafe { GetProcAddress(GetModuleHandleW(ptr::null()), name.as_ptr().cast()) };
        found.map_or(ptr::null_mut(), |function| function as *mut c_void)
    }

    /// The path of this library's file.
    pub fn own_file() -> Option<PathBuf> {
        /// The longest path that the system supports.
        const MAX_PATH_LENGTH: usize = 1 << 15;
        let here = own_file as fn() -> Option<PathBuf> as *const u16;
        let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
        let mut module = ptr::null_mut();
        // SAFETY: with these flags the name is an address in a library. That is this library, which stays loaded.
        if unsafe { GetModuleHandleExW(flags, here, &raw mut module) } == 0 {
            return None;
        }
        let mut path = vec![0; MAX_PATH as usize];
        loop {
            // SAFETY: there is room for the number of characters that is passed.
            let length = unsafe { GetModuleFileNameW(module, path.as_mut_ptr(), path.len() as u32) } as usize;
            match length {
                0 => return None,
                // The buffer is full: the path may be longer.
                _ if length >= path.len() && path.len() < MAX_PATH_LENGTH => path.resize(path.len() * 2, 0),
                _ => return Some(PathBuf::from(OsString::from_wide(path.get(..length)?))),
            }
        }
    }
}
