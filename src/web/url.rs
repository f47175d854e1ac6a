//! `URL`: parses URLs, and changes their parts. The result is the whole text with the offsets of its parts.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use url::{Position, Url, quirks};

use super::arguments::{ascii, number, string, utf8};
use crate::isolate::Place;
use crate::protocol::{url_part, url_record};
use crate::value::Fault;

type Args<'s> = v8::FunctionCallbackArguments<'s>;
type Returned<'s> = Result<v8::Local<'s, v8::Value>, Fault>;

/// The maximum length of a URL. Longer texts are not URLs.
const MAX_LENGTH: usize = 2 << 20;

/// `parseUrl(text, base)`: a record; `undefined` if the text is not a URL.
pub fn parse<'s>(scope: &mut v8::PinScope<'s, '_>, at: &Place, args: &Args<'s>) -> Returned<'s> {
    let has_base = !args.get(1).is_undefined();
    let base = if has_base { utf8(scope, args.get(1), MAX_LENGTH)? } else { None };
    let (Some(text), true) = (utf8(scope, args.get(0), MAX_LENGTH)?, base.is_some() == has_base) else {
        return Ok(v8::undefined(scope).into());
    };
    let parsed = contained(|| {
        let base = match base {
            Some(base) => Some(parse_strictly(&base, None)?),
            None => None,
        };
        parse_strictly(&text, base.as_ref()).map(layout)
    });
    record(scope, at, parsed)
}

/// `setUrl(href, part, value)`: a record; `undefined` if nothing has changed.
pub fn set<'s>(scope: &mut v8::PinScope<'s, '_>, at: &Place, args: &Args<'s>) -> Returned<'s> {
    let part = number(scope, args, 1);
    let (Some(href), Some(value)) = (utf8(scope, args.get(0), usize::MAX)?, utf8(scope, args.get(2), MAX_LENGTH)?)
    else {
        return Ok(v8::undefined(scope).into());
    };
    let changed = contained(|| {
        let mut url = Url::parse(&href).ok()?;
        change(&mut url, part, &value).then(|| layout(url))
    });
    record(scope, at, changed)
}

/// False if the part cannot have this value.
fn change(url: &mut Url, part: u32, value: &str) -> bool {
    let is_blank = || !value.is_empty() && value.chars().all(|c| matches!(c, '\t' | '\n' | '\r'));
    match part {
        url_part::PROTOCOL => set_file(url, value) || quirks::set_protocol(url, value).is_ok(),
        url_part::USERNAME => quirks::set_username(url, value).is_ok(),
        url_part::PASSWORD => quirks::set_password(url, value).is_ok(),
        url_part::HOST => quirks::set_host(url, value).is_ok(),
        url_part::HOSTNAME => quirks::set_hostname(url, value).is_ok(),
        url_part::PORT => !is_blank() && quirks::set_port(url, value).is_ok(),
        url_part::PATHNAME => {
            // Before the crate checks whether the value is empty.
            quirks::set_pathname(url, &value.replace(['\t', '\n', '\r'], ""));
            true
        }
        url_part::SEARCH => {
            quirks::set_search(url, value);
            true
        }
        url_part::HASH => {
            quirks::set_hash(url, value);
            true
        }
        _ => false,
    }
}

/// `originOf(href)`
pub fn origin<'s>(scope: &mut v8::PinScope<'s, '_>, at: &Place, args: &Args<'s>) -> Returned<'s> {
    let href = utf8(scope, args.get(0), usize::MAX)?.unwrap_or_default();
    let origin = contained(|| Url::parse(&href).ok().and_then(|url| origin_of(&url)));
    string(scope, at, ascii(origin.unwrap_or_else(|| "null".to_owned())))
}

/// The origin of a `blob:` URL is that of the URL in it, as the URL standard says: only of the web's, and not of a `blob:` URL. The crate
/// would parse each `blob:` in it, one inside the other.
fn origin_of(url: &Url) -> Option<String> {
    if url.scheme() != "blob" {
        return Some(quirks::origin(url));
    }
    let inner = Url::parse(url.path()).ok()?;
    matches!(inner.scheme(), "http" | "https").then(|| quirks::origin(&inner))
}

thread_local! {
    /// Whether panics are contained, and so need no report.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// The crate has panicked for texts of guests. A text that makes it panic is not a URL; the isolate can continue.
fn contained<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CONTAINED.get() {
                before(info);
            }
        }));
    });
    let outer = CONTAINED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    result.ok().flatten()
}

/// The whole text, and the offsets of its parts.
type Layout = (String, Offsets);

/// The elements of a record after the text, each at [`at`] its index in the record.
type Offsets = [usize; url_record::ALL.len() - 1];

const fn at(index: u32) -> usize {
    index as usize - 1
}

const BEFORE_PATH: usize = at(url_record::BEFORE_PATH);
const AFTER_PATH: usize = at(url_record::AFTER_PATH);

fn record<'s>(scope: &mut v8::PinScope<'s, '_>, at: &Place, layout: Option<Layout>) -> Returned<'s> {
    let Some((href, offsets)) = layout else {
        return Ok(v8::undefined(scope).into());
    };
    let mut elements: Vec<v8::Local<'s, v8::Value>> = Vec::with_capacity(1 + offsets.len());
    elements.push(string(scope, at, ascii(href))?);
    for offset in offsets {
        elements.push(v8::Number::new(scope, offset as f64).into());
    }
    Ok(v8::Array::new_with_elements(scope, &elements).into())
}

fn layout(url: Url) -> Layout {
    let place = |position| url[..position].len();
    // Not computed by the crate, which fails for a URL that ends there.
    let before_username = place(Position::AfterScheme) + if url.has_authority() { 3 } else { 1 };
    let after_username = before_username + url.username().len();
    let before_host = place(Position::BeforeHost);
    let password = match url.password() {
        Some(password) => [before_host - 1 - password.len(), before_host - 1],
        None => [after_username; 2],
    };
    let mut offsets: Offsets = Default::default();
    for (index, offset) in [
        (url_record::AFTER_SCHEME, place(Position::AfterScheme)),
        (url_record::BEFORE_USERNAME, before_username),
        (url_record::AFTER_USERNAME, after_username),
        (url_record::BEFORE_PASSWORD, password[0]),
        (url_record::AFTER_PASSWORD, password[1]),
        (url_record::BEFORE_HOST, before_host),
        (url_record::AFTER_HOST, place(Position::AfterHost)),
        (url_record::BEFORE_PORT, place(Position::BeforePort)),
        (url_record::AFTER_PORT, place(Position::AfterPort)),
        (url_record::BEFORE_PATH, place(Position::BeforePath)),
        (url_record::AFTER_PATH, place(Position::AfterPath)),
        (url_record::AFTER_QUERY, place(Position::AfterQuery)),
    ] {
        offsets[at(index)] = offset;
    }
    let opaque = url.cannot_be_a_base();
    let href = String::from(url);
    let (start, end) = (offsets[BEFORE_PATH], offsets[AFTER_PATH]);
    let path = &href[start..end];
    // The crate does not yet know that paths are written without these.
    let changed = match path.strip_suffix(' ') {
        Some(rest) if opaque && end < href.len() => format!("{rest}%20"),
        _ if !opaque && path.contains('^') => path.replace('^', "%5E"),
        _ => return (href, offsets),
    };
    for offset in &mut offsets[AFTER_PATH..] {
        *offset += changed.len() - path.len();
    }
    ([&href[..start], &changed, &href[end..]].concat(), offsets)
}

fn is_special(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https" | "ws" | "wss" | "ftp" | "file")
}

/// Makes it a `file:` URL, which the crate refuses to do. False if it cannot become one, or if `value` is another scheme.
fn set_file(url: &mut Url, value: &str) -> bool {
    let scheme = value.split(':').next().unwrap_or_default();
    let bare = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    if !scheme.eq_ignore_ascii_case("file") || !is_special(url) || url.scheme() == "file" || !bare {
        return false;
    }
    let href = format!("file{}", &url[Position::AfterScheme..]);
    Url::parse(&href).is_ok_and(|changed| {
        *url = changed;
        true
    })
}

fn parse_strictly(text: &str, base: Option<&Url>) -> Option<Url> {
    let url = Url::options().base_url(base).parse(text).ok()?;
    is_strict(text, &url).then_some(url)
}

/// The crate accepts some texts with a scheme that is not one of the web's, although they are not URLs: those with a user and no host, and
/// those with a backslash where the port ends.
fn is_strict(text: &str, url: &Url) -> bool {
    if is_special(url) || !url.has_authority() {
        return true;
    }
    let plain = text.trim_start_matches(|c| c <= ' ').replace(['\t', '\n', '\r'], "");
    let rest = match plain.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(url.scheme()) => rest,
        _ => &plain,
    };
    let Some(authority) = rest.strip_prefix("//") else { return true };
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((_, host)) => !host.is_empty() && !host.contains('\\'),
        None => !authority.contains('\\'),
    }
}

#[cfg(test)]
mod tests {
    use super::{AFTER_PATH, BEFORE_PATH, Url, contained, layout, origin_of, parse_strictly};

    const BEFORE_PASSWORD: usize = 3;
    const AFTER_PASSWORD: usize = 4;

    fn parsed(text: &str) -> Option<Url> {
        parse_strictly(text, None)
    }

    #[test]
    fn parts_have_the_right_offsets() {
        let parts = |text: &str| {
            parsed(text).map(layout).map(|(href, offsets)| {
                let part = |from: usize, to: usize| href[offsets[from]..offsets[to]].to_owned();
                (part(BEFORE_PASSWORD, AFTER_PASSWORD), part(BEFORE_PATH, AFTER_PATH), href.clone())
            })
        };
        let expected = |password: &str, path: &str, href: &str| Some((password.into(), path.into(), href.into()));
        assert_eq!(parts("http://u@h/^a^?^#^"), expected("", "/%5Ea%5E", "http://u@h/%5Ea%5E?^#^"));
        assert_eq!(parts("http://u:p@h/"), expected("p", "/", "http://u:p@h/"));
        assert_eq!(parts("foo:a^b"), expected("", "a^b", "foo:a^b"));
        assert_eq!(parts("a://"), expected("", "", "a://"));
        assert_eq!(parts("foo:a  ?b"), expected("", "a %20", "foo:a %20?b"));
    }

    #[test]
    fn origins_are_those_of_the_standard() {
        let origin = |text: &str| parsed(text).as_ref().and_then(origin_of);
        for (text, expected) in [
            ("https://h:81/a", Some("https://h:81")),
            ("blob:https://h/a", Some("https://h")),
            ("blob:http://h:80/", Some("http://h")),
            ("blob:ftp://h/", None),
            ("blob:blob:https://h/", None),
            ("blob:a", None),
            ("blob:", None),
        ] {
            assert_eq!(origin(text).as_deref(), expected, "{text}");
        }
        assert_eq!(origin(&format!("{}https://h", "blob:".repeat(100_000))), None);
    }

    #[test]
    fn panics_are_contained() {
        let beyond = std::hint::black_box(1);
        assert_eq!(contained(|| Some([0_u8][beyond])), None);
        assert_eq!(contained(|| Some(String::from("é")[..1].len())), None);
        assert_eq!(contained(|| Some(1)), Some(1));
    }

    #[test]
    fn rejects_where_the_crate_is_lenient() {
        for wrong in ["foo://u@", "foo://@/a", "foo://h:80\\a", " FOO:/\t/u@#a"] {
            assert!(parsed(wrong).is_none(), "{wrong}");
        }
        for right in ["foo://h:80/\\", "foo://u\\@h", "foo:///a", "foo:/@", "foo:a\\@"] {
            assert!(parsed(right).is_some(), "{right}");
        }
    }
}
