//! For the tests of the confinement: the launcher as the parent of one child that tries what an attacker would. Usage:
//! `isolated-v8-launcher probe ADDON LAYERS OPERATIONS`. `LAYERS` are those to switch off; `src/child/probe/` defines the operations.
//! Adds two lines to the child's output: its process id, and how it has ended.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use isolated_v8_launcher::{Settings, handover};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs the operations. Returns `None` for invalid arguments, and an error if some could not be tried.
pub fn run(mut args: impl Iterator<Item = OsString>) -> Option<std::io::Result<()>> {
    let (addon, off, operations) = (args.next()?, args.next()?, args.next()?);
    let off = off.to_str()?.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let probe = Some(operations.to_str()?.to_owned());
    let settings = Settings {
        parent: std::process::id(),
        timeout: TIMEOUT,
        memory: 64 << 20,
        data: 768 << 20,
        off,
        probe,
        ..Settings::default()
    };
    Some(watch(addon, &settings))
}

fn watch(addon: OsString, settings: &Settings) -> std::io::Result<()> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(addon).arg(settings.encode()).stdin(OwnedFd::from(theirs)).process_group(0);
    let mut launcher = command.spawn()?;
    drop(command);
    tell(&format!("launcher\t{}\n", launcher.id()))?;
    let mut frame = [0; handover::LENGTH];
    // This is the only message on this connection: the child continues as another process, or ends.
    let moved = ours.read_exact(&mut frame).ok().and_then(|()| handover::process(&frame));
    if let Some(process) = moved {
        tell(&format!("moved\t{process}\n"))?;
    }
    let mut status = launcher.wait()?;
    if let Some(process) = moved.and_then(|process| libc::pid_t::try_from(process).ok()) {
        let mut raw = 0;
        // SAFETY: writes the status.
        if unsafe { libc::waitpid(process, &raw mut raw, 0) } != process {
            return Err(std::io::Error::last_os_error());
        }
        status = ExitStatus::from_raw(raw);
    }
    let end = status.signal().map(|signal| format!("signal\t{signal}\n"));
    tell(&end.unwrap_or_else(|| format!("exit\t{}\n", status.code().unwrap_or(-1))))
}

fn tell(text: &str) -> std::io::Result<()> {
    std::io::stdout().write_all(text.as_bytes())?;
    std::io::stdout().flush()
}
