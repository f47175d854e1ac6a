//! The startup snapshot: a context in which the bootstrap code has already run. Every realm has that code at no cost, before any guest code
//! runs.
//!
//! Making it takes longer than everything else in V8's start, so it is made when the addon is built, and lies at the end of the addon's file,
//! where no loader looks (`scripts/setup/snapshot.mjs`). If it is missing or does not fit, it is made at the start.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::seal::{self, Digest};

/// The sources of the snapshot: plain CommonJS modules by file name, without circles. They import each other by paths, of which only the file
/// name counts. The engine knows nothing else about them.
pub struct SnapshotSource {
    pub modules: &'static [(&'static str, &'static str)],
    /// The module whose exports a realm can read with [`crate::engine::BOOTSTRAP`].
    pub entry: &'static str,
}

impl SnapshotSource {
    /// Realms start without bootstrap code, and no snapshot is made.
    #[cfg_attr(windows, allow(dead_code, reason = "children start so, and there are none"))]
    pub const NONE: Self = Self { modules: &[], entry: "" };

    /// Identifies the sources, which are this library's own. Reads all of them each time.
    pub fn digest(&self) -> u64 {
        let texts = self.modules.iter().flat_map(|(name, source)| [*name, *source]).chain([self.entry]);
        seal::checksum_of(texts.map(str::as_bytes))
    }

    /// One script that evaluates to the exports of the entry module.
    pub fn script(&self) -> String {
        let function = self.function();
        format!("({function})()")
    }

    /// A function that returns the exports of the entry module. Its argument is a function that loads the modules that the source lacks, by file
    /// name.
    pub fn function(&self) -> String {
        let mut script = String::from("(outer) => { 'use strict'; const factories = { __proto__: null,\n");
        for (name, source) in self.modules {
            let source = by_name(&without_comments(source));
            // Writing to a String cannot fail.
            let _ = writeln!(script, "{name:?}: (module, exports, require) => {{ {source}\n}},");
        }
        // A module counts as loaded once it has run: guest code may have used up the stack, or be stopped meanwhile.
        let _ = write!(
            script,
            "}};\nconst loaded = {{ __proto__: null }};\n\
             const load = (name) => {{\n\
               const found = loaded[name];\n\
               if (found !== undefined) return found;\n\
               const factory = factories[name];\n\
               if (factory === undefined) return outer(name);\n\
               const module = {{ exports: {{}} }};\n\
               factory(module, module.exports, load);\n\
               return loaded[name] = module.exports;\n\
             }};\n\
             return load({:?}); }}",
            self.entry
        );
        script
    }
}

/// Makes imports name files instead of paths.
fn by_name(source: &str) -> String {
    const IMPORT: &str = "require('";
    let mut parts = source.split(IMPORT);
    let mut plain = String::from(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(IMPORT);
        let end = part.find('\'').unwrap_or(part.len());
        let folder = part[..end].rfind('/').map_or(0, |slash| slash + 1);
        plain.push_str(&part[folder..]);
    }
    plain
}

/// A source without indentation and without comments that begin a line, because every isolate has a copy of it in its heap. Nothing but
/// comments spans lines in the sources; a test checks this.
fn without_comments(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut inside = false;
    for line in source.lines() {
        let mut rest = line.trim();
        loop {
            if inside {
                let Some((_, after)) = rest.split_once("*/") else { break };
                rest = after.trim_start();
            }
            inside = rest.starts_with("/*");
            if !inside {
                break;
            }
        }
        if !inside && !rest.is_empty() && !rest.starts_with("//") {
            plain.push_str(rest);
            plain.push('\n');
        }
    }
    plain
}

/// Index of the entry module's exports among the data of the snapshot's context.
pub const BOOTSTRAP: usize = 0;

const MAGIC: [u8; 4] = *b"iv8b";

/// The bytes after each sealed snapshot at the end of the addon's file: its length, and this.
const END: [u8; 8] = *b"iv8-snap";
const TRAILER: usize = 16;

/// Snapshots are far smaller.
const MAX_LENGTH: usize = 64 << 20;

/// Identifies V8 and its flags. Unlike data with compiled code, a snapshot does not depend on the processor's features.
fn version(flags: &str) -> u32 {
    let [version, ..] = Digest::new(1).bytes(super::version().as_bytes()).bytes(&[0]).bytes(flags.as_bytes()).finish();
    // The lower half.
    version as u32
}

/// What belongs at the end of the addon's file: a snapshot with a tag, and the trailer.
pub fn embeddable(source: &SnapshotSource, flags: &str) -> Vec<u8> {
    let mut embedded = seal::seal_for(version(flags), MAGIC, [source.digest()], build(source));
    embedded.extend_from_slice(&(embedded.len() as u64).to_le_bytes());
    embedded.extend_from_slice(&END);
    embedded
}

/// The snapshots at the end of the addon's file, from the last one on.
const MAX_SNAPSHOTS: usize = 4;

/// Magic, V8's version and the digest of the source.
const FACTS: usize = 16;

/// Where the addon's file has a sealed snapshot of the source with this digest for this V8, and its length.
pub fn find(digest: u64, flags: &str, addon: &mut File) -> Option<(u64, usize)> {
    let mut end = addon.seek(SeekFrom::End(0)).ok()?;
    for _ in 0..MAX_SNAPSHOTS {
        let trailer_at = end.checked_sub(TRAILER as u64)?;
        addon.seek(SeekFrom::Start(trailer_at)).ok()?;
        let mut trailer = [0; TRAILER];
        addon.read_exact(&mut trailer).ok()?;
        let (length, mark) = trailer.split_first_chunk()?;
        let length = u64::from_le_bytes(*length);
        let size = usize::try_from(length).ok().filter(|size| mark == END && *size <= MAX_LENGTH)?;
        let start = trailer_at.checked_sub(length)?;
        addon.seek(SeekFrom::Start(start)).ok()?;
        let mut facts = [0; FACTS];
        addon.read_exact(&mut facts).ok()?;
        if facts[..8] == seal::head(version(flags), MAGIC) && facts[8..] == digest.to_le_bytes() {
            return Some((start, size));
        }
        end = start;
    }
    None
}

/// The snapshot of the source with this digest at the end of the addon's file, if it was made for this build.
pub fn embedded(digest: u64, flags: &str, addon: &mut File) -> Option<&'static [u8]> {
    let (start, size) = find(digest, flags, addon)?;
    // What is refused stays in memory as well: the file is damaged.
    let sealed = mapped(addon, start, size).or_else(|| copied(addon, start, size))?;
    let ([found], contents) = seal::open_for(version(flags), MAGIC, sealed)?;
    // V8 reads words. The tag consists of words, and no allocator is known that does not align them.
    (found == digest && !contents.is_empty() && contents.as_ptr().cast::<u64>().is_aligned()).then_some(contents)
}

fn copied(addon: &mut File, start: u64, size: usize) -> Option<&'static [u8]> {
    addon.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = vec![0; size];
    addon.read_exact(&mut bytes).ok()?;
    Some(Vec::leak(bytes))
}

/// A part of the file that begins with a word, in the pages that the system has for the file. Copying it would take longer than checking it, since
/// each page of the copy is new.
#[cfg(unix)]
fn mapped(addon: &File, start: u64, size: usize) -> Option<&'static [u8]> {
    use std::os::fd::AsRawFd;

    // SAFETY: reads a constant of the system.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    let (before, offset) = (start % page, libc::off_t::try_from(start - start % page).ok()?);
    if size == 0 || !start.is_multiple_of(size_of::<u64>() as u64) {
        return None;
    }
    let before = usize::try_from(before).ok()?;
    // SAFETY: asks for pages at an address that the system chooses.
    let pages = unsafe {
        libc::mmap(std::ptr::null_mut(), before + size, libc::PROT_READ, libc::MAP_PRIVATE, addon.as_raw_fd(), offset)
    };
    if pages == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the pages are never unmapped, and the file has all of these bytes: its last ones, which follow, were read. Nothing writes to the file
    // of a loaded library, whose code the system also takes from it.
    Some(unsafe { std::slice::from_raw_parts(pages.cast::<u8>().add(before), size) })
}

#[cfg(not(unix))]
fn mapped(_addon: &File, _start: u64, _size: usize) -> Option<&'static [u8]> {
    None
}

/// Makes the snapshot of a source. Empty, so that V8's own snapshot is used, if the source is empty. It is also empty if making it fails,
/// which a test rules out.
pub fn build(source: &SnapshotSource) -> &'static [u8] {
    if source.modules.is_empty() {
        return &[];
    }
    let script = source.script();
    let mut creator = v8::Isolate::snapshot_creator(None, None);
    let mut complete = false;
    {
        v8::scope!(let scope, &mut creator);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        let exports = v8::String::new(scope, &script)
            .and_then(|source| v8::Script::compile(scope, source, None))
            .and_then(|script| script.run(scope));
        if let Some(exports) = exports {
            complete = scope.add_context_data(context, exports) == BOOTSTRAP;
        }
        scope.set_default_context(context);
    }
    let blob = creator.create_blob(v8::FunctionCodeHandling::Keep);
    match blob {
        Some(blob) if complete => Box::leak(blob.to_vec().into_boxed_slice()),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::{env, fs, process};

    use super::{embedded, without_comments};
    use crate::engine::FLAGS;
    use crate::guest::SNAPSHOT_SOURCE;

    /// A file that is removed at the end of the test.
    struct File(PathBuf);

    impl File {
        fn with(bytes: &[u8]) -> Self {
            let path = env::temp_dir().join(format!("isolated-v8-snapshot-{}", process::id()));
            fs::write(&path, bytes).unwrap();
            Self(path)
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            fs::remove_file(&self.0).unwrap();
        }
    }

    #[test]
    fn an_embedded_snapshot_is_used_only_if_it_fits() {
        let engine = (crate::guest::settings().engine)().unwrap();
        let embeddable = engine.embeddable_snapshot(&SNAPSHOT_SOURCE);
        let open = |file: &File| fs::File::open(&file.0).unwrap();
        let fits = |bytes: &[u8]| embedded(SNAPSHOT_SOURCE.digest(), FLAGS, &mut open(&File::with(bytes))).is_some();
        let file = [b"a program\0".as_slice(), &embeddable].concat();
        assert!(fits(&file));
        assert!(fits(&embeddable));
        let with = File::with(&file);
        assert!(embedded(crate::web::SNAPSHOT_SOURCE.digest(), FLAGS, &mut open(&with)).is_none());
        assert!(embedded(SNAPSHOT_SOURCE.digest(), "--other-flags", &mut open(&with)).is_none());
        drop(with);
        assert!(!fits(b""));
        assert!(!fits(b"a program without a snapshot"));
        assert!(!fits(&[file.as_slice(), b"\0"].concat()));
        for index in [
            0,
            4,
            8,
            20,
            24,
            25,
            embeddable.len() / 2,
            embeddable.len() - 17,
            embeddable.len() - 16,
            embeddable.len() - 9,
            embeddable.len() - 1,
        ] {
            let mut damaged = embeddable.clone();
            damaged[index] ^= 0x80;
            assert!(!fits(&damaged), "byte {index}");
            assert!(!fits(&embeddable[index + 1..]), "{index} bytes less");
        }
        // One of several, the last of which is damaged.
        let other = engine.embeddable_snapshot(&crate::sandbox::BUILTINS);
        assert!(fits(&[file.as_slice(), &other].concat()));
        assert!(fits(&[other.as_slice(), &embeddable].concat()));
        let mut damaged = other.clone();
        damaged[other.len() - 1] ^= 1;
        assert!(!fits(&[file.as_slice(), &damaged].concat()));
    }

    #[test]
    fn comments_are_removed() {
        let source =
            "'use strict';\n// one\n\n/** two */\n  /**\n   * three\n   */\n  /** four */ f('//', /\\/*/); // five\n";
        assert_eq!(without_comments(source), "'use strict';\nf('//', /\\/*/); // five\n");
    }

    #[test]
    fn only_comments_span_lines() {
        let sources = [SNAPSHOT_SOURCE, crate::guest::SURFACE, crate::web::SNAPSHOT_SOURCE, crate::sandbox::BUILTINS];
        for (name, source) in sources.iter().flat_map(|source| source.modules) {
            for line in source.lines() {
                assert!(line.matches('`').count().is_multiple_of(2), "{name}: {line}");
                // A comment after code ends on its line.
                let begins = line.rfind("/*").filter(|at| !line[..*at].trim().is_empty());
                assert!(begins.is_none_or(|at| line[at..].contains("*/")), "{name}: {line}");
            }
        }
    }

    #[test]
    fn file_names_are_unique() {
        for source in [SNAPSHOT_SOURCE, crate::guest::SURFACE, crate::web::SNAPSHOT_SOURCE] {
            let names: std::collections::HashSet<_> = source.modules.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), source.modules.len());
        }
    }

    #[test]
    fn bootstrap_scripts_have_one_byte_characters() {
        for source in [crate::guest::SURFACE, crate::web::SNAPSHOT_SOURCE, crate::sandbox::BUILTINS] {
            assert!(source.script().is_ascii(), "{}", source.entry);
        }
    }
}
