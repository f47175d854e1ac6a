//! The filter of system calls, for all threads of the process.
//!
//! Three filters are needed because a filter has only two actions. If they disagree about a call, the kernel takes the strictest action. If
//! two return error numbers, it takes that of the filter that was installed last.

use seccompiler::{BpfProgram, Error, SeccompAction, SeccompFilter, TargetArch};

use super::calls::{self, Rules};
use super::refusal::Refusal;

pub fn install() -> Result<String, Refusal> {
    match programs()
        .and_then(|programs| programs.iter().try_for_each(|program| seccompiler::apply_filter_all_threads(program)))
    {
        Ok(()) => Ok("all threads".to_owned()),
        Err(Error::Seccomp(error)) if error.raw_os_error() == Some(libc::EINVAL) => {
            Err(Refusal("this kernel has no filters of system calls".to_owned()))
        }
        Err(Error::Prctl(error) | Error::Seccomp(error)) => Err(Refusal::by("seccomp", &error)),
        Err(error) => Err(Refusal(error.to_string())),
    }
}

fn programs() -> Result<[BpfProgram; 3], Error> {
    let error = |number: i32| SeccompAction::Errno(number.cast_unsigned());
    Ok([
        program(calls::allowed()?, error(libc::ENOSYS), SeccompAction::Allow)?,
        program(calls::attacks()?, SeccompAction::Allow, SeccompAction::KillProcess)?,
        program(calls::probes()?, SeccompAction::Allow, error(libc::EPERM))?,
    ])
}

fn program(rules: Rules, otherwise: SeccompAction, listed: SeccompAction) -> Result<BpfProgram, Error> {
    let target = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(rules.into_iter().collect(), otherwise, listed, target)?.try_into()?)
}

#[cfg(test)]
mod tests {
    use super::programs;

    /// `BPF_MAXINSNS`.
    const MAX_INSTRUCTIONS: usize = 4096;

    #[test]
    fn the_kernel_takes_programs_of_such_length() {
        for program in programs().expect("the lists make programs") {
            assert!((1..MAX_INSTRUCTIONS).contains(&program.len()), "{}", program.len());
        }
    }
}
