//! What an attacker would try first after escaping V8, done without harm, for the tests of the confinement. Only the launcher
//! asks for it, as a parent (`launcher/src/probe.rs`).
//!
//! It prints one line for each layer, with whether it holds, and one for each operation, with its error number or 0. A layer may also end
//! the process.

use std::ffi::CString;
use std::io;
use std::ptr;

use isolated_v8_launcher::Report;

#[cfg(target_os = "linux")]
mod resources;

/// Runs operations: names with arguments, separated by `|`.
pub fn run(report: &Report, operations: &str) -> i32 {
    write_all(&report.encode());
    for operation in operations.split('|') {
        let (name, argument) = operation.split_once(' ').unwrap_or((operation, ""));
        let result = attempt(name, argument);
        write_all(&format!("{name}\t{}\n", result.err().map_or(0, |error| error.raw_os_error().unwrap_or(-1))));
    }
    0
}

fn write_all(text: &str) {
    // SAFETY: the text is valid for reads.
    unsafe { libc::write(libc::STDOUT_FILENO, text.as_ptr().cast(), text.len()) };
}

fn attempt(name: &str, argument: &str) -> io::Result<()> {
    let number = || argument.parse::<libc::c_int>().map_err(io::Error::other);
    let path = || CString::new(argument).map_err(io::Error::other);
    match name {
        "open" => open(&path()?, libc::O_RDONLY).map(close),
        "write" => {
            let file = open(&path()?, libc::O_WRONLY | libc::O_CREAT)?;
            // SAFETY: one byte is valid for reads.
            let written = done(unsafe { libc::write(file, c"x".as_ptr().cast(), 1) } >= 0);
            close(file);
            written
        }
        "connect" => connect(u16::try_from(number()?).map_err(io::Error::other)?),
        "fork" => fork(),
        "execve" => {
            let path = path()?;
            let (arguments, nothing) = ([path.as_ptr(), ptr::null()], [ptr::null()]);
            // SAFETY: the path is a C string, and the lists end with null pointers.
            done(unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), nothing.as_ptr()) } == 0)
        }
        "ptrace" => trace(number()?),
        // SAFETY: only checks whether a signal could be sent, and sends none.
        "kill" => done(unsafe { libc::kill(number()?, 0) } == 0),
        // These must still work.
        "thread" => std::thread::Builder::new().spawn(|| {}).map(|thread| drop(thread.join())),
        #[cfg(target_os = "linux")]
        "privileges" => {
            // SAFETY: queries a flag of this process.
            match unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } {
                1 => Err(io::Error::from_raw_os_error(libc::EPERM)),
                result => done(result == 0),
            }
        }
        #[cfg(target_os = "linux")]
        "oob" | "uname" | "map" | "reserve" | "grow" | "stack" | "stacks" | "futex" | "threads" | "memfd"
        | "shmget" | "children" | "raise" | "limits" => resources::attempt(name, argument),
        "wait" => loop {
            std::thread::park();
        },
        _ => Err(io::Error::other("no such operation")),
    }
}

fn done(well: bool) -> io::Result<()> {
    if well { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(target_os = "linux")]
fn trace(process: libc::pid_t) -> io::Result<()> {
    // SAFETY: the other process does not notice, and is detached when this one ends.
    done(unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, 0, 0) } == 0)
}

#[cfg(target_os = "macos")]
fn trace(process: libc::pid_t) -> io::Result<()> {
    // SAFETY: the other process is stopped for a moment.
    unsafe {
        done(libc::ptrace(libc::PT_ATTACHEXC, process, ptr::null_mut(), 0) == 0)?;
        done(libc::ptrace(libc::PT_DETACH, process, ptr::null_mut(), 0) == 0)
    }
}

fn open(path: &CString, flags: libc::c_int) -> io::Result<libc::c_int> {
    // SAFETY: the path is a C string, and a mode is given if the flags need one.
    let file = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) };
    done(file >= 0).map(|()| file)
}

fn close(descriptor: libc::c_int) {
    // SAFETY: opened here, and not used any more.
    unsafe { libc::close(descriptor) };
}

/// Connects to a port of this machine.
fn connect(port: u16) -> io::Result<()> {
    // SAFETY: has no preconditions.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) };
    done(socket >= 0)?;
    // SAFETY: zero is a valid value of every field.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from(std::net::Ipv4Addr::LOCALHOST).to_be();
    // SAFETY: the address is valid for reads of the given length.
    let connected = done(
        unsafe { libc::connect(socket, (&raw const address).cast(), size_of_val(&address) as libc::socklen_t) } == 0,
    );
    close(socket);
    connected
}

fn fork() -> io::Result<()> {
    // SAFETY: the new process ends at once.
    match unsafe { libc::fork() } {
        // SAFETY: as above.
        0 => unsafe { libc::_exit(0) },
        // SAFETY: a null pointer means that the status is not written.
        process @ 1.. => done(unsafe { libc::waitpid(process, ptr::null_mut(), 0) } == process),
        _ => done(false),
    }
}
