//! Waits for several things at once: a waker that other threads wake, connections and pipes of children, and their ends.
//!
//! Each system has its own [`Waker`], [`Ended`] (the end of a child that was not reaped) and [`Sources`].

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
pub use linux::{Ended, Sources, Waker};
#[cfg(target_os = "macos")]
pub use macos::{Ended, Sources, Waker};

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use super::{Ended, Sources, Waker};

    const LONG: Option<Duration> = Some(Duration::from_secs(20));
    const SHORT: Option<Duration> = Some(Duration::from_millis(10));

    #[test]
    fn a_waker_wakes_once_for_all_calls_before() {
        let waker = Arc::new(Waker::new().unwrap());
        assert!(Sources::new(&waker).wait(&waker, SHORT).unwrap().is_empty());
        waker.wake();
        waker.wake();
        assert_eq!(Sources::new(&waker).wait(&waker, LONG).unwrap(), [0]);
        waker.drain();
        assert!(Sources::new(&waker).wait(&waker, SHORT).unwrap().is_empty());
        let other = Arc::clone(&waker);
        let other_thread = thread::spawn(move || other.wake());
        assert_eq!(Sources::new(&waker).wait(&waker, LONG).unwrap(), [0]);
        other_thread.join().unwrap();
    }

    #[test]
    fn each_source_tells_for_itself() {
        let waker = Waker::new().unwrap();
        let [(mut ours, mut theirs), (others, _quiet)] = [(); 2].map(|()| UnixStream::pair().unwrap());
        let wait = |time| {
            let mut sources = Sources::new(&waker);
            sources.readable(&others);
            sources.readable(&ours);
            sources.wait(&waker, time).unwrap()
        };
        assert!(wait(SHORT).is_empty());
        theirs.write_all(b"x").unwrap();
        assert_eq!(wait(LONG), [2]);
        let mut sources = Sources::new(&waker);
        sources.writable(&others);
        assert_eq!(sources.wait(&waker, LONG).unwrap(), [1]);
        // Sources of an earlier wait are not reported.
        assert!(Sources::new(&waker).wait(&waker, SHORT).unwrap().is_empty());
        (&ours).read_exact(&mut [0]).unwrap();
        drop(theirs);
        let mut sources = Sources::new(&waker);
        sources.readable(&ours);
        assert_eq!(sources.wait(&waker, LONG).unwrap(), [1]);
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn the_end_of_a_process_is_told_until_it_is_reaped() {
        let waker = Waker::new().unwrap();
        let mut process = Command::new("sleep").arg("0.1").spawn().unwrap();
        let ended = Ended::of(libc::pid_t::try_from(process.id()).unwrap()).unwrap();
        for _ in 0..2 {
            let mut sources = Sources::new(&waker);
            sources.ended(&ended);
            assert_eq!(sources.wait(&waker, LONG).unwrap(), [1]);
        }
        assert!(process.wait().unwrap().success());
    }
}
