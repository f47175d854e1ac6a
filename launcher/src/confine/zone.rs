//! The system's time zone. It is stored in files that cannot be opened later.

use std::fs;

const FOLDER: &str = "zoneinfo/";
const MAX_LENGTH: usize = 64;

/// Stores the name in this process's environment, where ICU looks first.
pub fn keep() {
    if std::env::var_os("TZ").is_some() {
        return;
    }
    if let Some(name) = name() {
        // SAFETY: there is no other thread yet.
        unsafe { std::env::set_var("TZ", name) };
    }
}

fn name() -> Option<String> {
    // Usually a link into the folder of all time zones.
    let link = fs::canonicalize("/etc/localtime").ok().and_then(|path| path.to_str().and_then(in_folder));
    link.or_else(|| fs::read_to_string("/etc/timezone").ok().and_then(|text| valid(text.trim())))
}

fn in_folder(path: &str) -> Option<String> {
    let (_, name) = path.rsplit_once(FOLDER)?;
    // That folder has two variants of all time zones in folders of their own.
    valid(name.strip_prefix("posix/").or_else(|| name.strip_prefix("right/")).unwrap_or(name))
}

fn valid(name: &str) -> Option<String> {
    let known = |character: char| character.is_ascii_alphanumeric() || "/_+-".contains(character);
    (!name.is_empty() && name.len() <= MAX_LENGTH && name.chars().all(known)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{in_folder, valid};

    #[test]
    fn keeps_the_end_of_the_path() {
        assert_eq!(in_folder("/usr/share/zoneinfo/Europe/Berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(in_folder("/usr/share/zoneinfo/posix/Etc/GMT+1").as_deref(), Some("Etc/GMT+1"));
        assert_eq!(in_folder("/etc/localtime"), None);
        assert_eq!(in_folder("/usr/share/zoneinfo/"), None);
        assert_eq!(valid("Europe/Berlin; rm"), None);
        assert_eq!(valid(&"a".repeat(65)), None);
    }
}
