// @ts-check
'use strict';

// Finds and loads the native part: a file in the package's folder (a source checkout), else the package of this platform.
// The paths are literals so that bundlers and single-file builds see them, each inside of a `try` so that they leave out those that are not
// there.

const { existsSync, fstatSync, openSync, readSync, closeSync } = require('node:fs');

/**
 * What was loaded, or why it was not.
 * @typedef {{ native: any, error?: undefined } | { error: unknown, native?: undefined }} Loaded
 */

/** @type {Record<string, { file: string, beside: () => Loaded, installed: () => Loaded }>} */
const binaries = {
  'darwin-arm64': {
    file: 'isolated-v8.darwin-arm64.node',
    beside() {
      try {
        // @ts-ignore -- there after a build
        return { native: require('../isolated-v8.darwin-arm64.node') };
      } catch (error) {
        return { error };
      }
    },
    installed() {
      try {
        // @ts-ignore -- installed only on its own platform
        return { native: require('isolated-v8-darwin-arm64') };
      } catch (error) {
        return { error };
      }
    },
  },
  'darwin-x64': {
    file: 'isolated-v8.darwin-x64.node',
    beside() {
      try {
        // @ts-ignore
        return { native: require('../isolated-v8.darwin-x64.node') };
      } catch (error) {
        return { error };
      }
    },
    installed() {
      try {
        // @ts-ignore
        return { native: require('isolated-v8-darwin-x64') };
      } catch (error) {
        return { error };
      }
    },
  },
  'linux-arm64-gnu': {
    file: 'isolated-v8.linux-arm64-gnu.node',
    beside() {
      try {
        // @ts-ignore
        return { native: require('../isolated-v8.linux-arm64-gnu.node') };
      } catch (error) {
        return { error };
      }
    },
    installed() {
      try {
        // @ts-ignore
        return { native: require('isolated-v8-linux-arm64-gnu') };
      } catch (error) {
        return { error };
      }
    },
  },
  'linux-arm64-musl': {
    file: 'isolated-v8.linux-arm64-musl.node',
    beside() {
      try {
        // @ts-ignore
        return { native: require('../isolated-v8.linux-arm64-musl.node') };
      } catch (error) {
        return { error };
      }
    },
    installed() {
      try {
        // @ts-ignore
        return { native: require('isolated-v8-linux-arm64-musl') };
      } catch (error) {
        return { error };
      }
    },
  },
  'linux-x64-gnu': {
    file: 'isolated-v8.linux-x64-gnu.node',
    beside() {
      try {
        // @ts-ignore
        return { native: require('../isolated-v8.linux-x64-gnu.node') };
      } catch (error) {
        return { error };
      }
    },
    installed() {
      try {
        // @ts-ignore
        return { native: require('isolated-v8-linux-x64-gnu') };
      } catch (error) {
        return { error };
      }
    },
  },
  'linux-x64-musl': {
    file: 'isolated-v8.linux-x64-musl.node',
    beside() {
      try {
        // @ts-ignore
        return { native: require('../isolated-v8.linux-x64-musl.node') };
      } catch (error) {
        return { error };
      }
    },
    installed() {
      try {
        // @ts-ignore
        return { native: require('isolated-v8-linux-x64-musl') };
      } catch (error) {
        return { error };
      }
    },
  },
  'win32-x64-msvc': {
    file: 'isolated-v8.win32-x64-msvc.node',
    beside() {
      try {
        // @ts-ignore
        return { native: require('../isolated-v8.win32-x64-msvc.node') };
      } catch (error) {
        return { error };
      }
    },
    installed() {
      try {
        // @ts-ignore
        return { native: require('isolated-v8-win32-x64-msvc') };
      } catch (error) {
        return { error };
      }
    },
  },
};

const PREFIX = 'isolated-v8-';
/** The oldest glibc that the binaries for Linux run on. */
const GLIBC = '2.28';
const MUSL_LOADER = 'ld-musl-';
const ELF_HEAD_BYTES = 4096;
/** The beginning of an ELF file (`\x7fELF`) of 64 bits, little-endian, and where its header says where its last part is. */
const ELF = 0x7f45_4c46;
const BITS_64_LITTLE = 0x0201;
const ELF_HEADER = Object.freeze({ bytes: 64, sections: 40, sectionSize: 58, sectionCount: 60 });

/**
 * Whether a file has fewer bytes than its header says. The system loads such a file and then ends the process (SIGBUS).
 * @param {string} path
 */
function isTruncated(path) {
  try {
    const descriptor = openSync(path, 'r');
    try {
      // The engine has the methods of views; a host compiles those of its own `Buffer` first.
      const head = new DataView(new ArrayBuffer(ELF_HEADER.bytes));
      const length = readSync(descriptor, head, 0, head.byteLength, 0);
      if (length < head.byteLength || head.getUint32(0) !== ELF || head.getUint16(4) !== BITS_64_LITTLE) return false;
      const sections = head.getUint16(ELF_HEADER.sectionSize, true) * head.getUint16(ELF_HEADER.sectionCount, true);
      return fstatSync(descriptor).size < Number(head.getBigUint64(ELF_HEADER.sections, true)) + sections;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return false; // not there, or not allowed to read it
  }
}

/** Whether this process runs on musl: its executable then names musl's loader. */
function isMusl() {
  try {
    const descriptor = openSync(process.execPath, 'r');
    try {
      const head = Buffer.alloc(ELF_HEAD_BYTES);
      const length = readSync(descriptor, head, 0, ELF_HEAD_BYTES, 0);
      return head.toString('latin1', 0, length).includes(MUSL_LOADER);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return false; // not allowed to read it
  }
}

function currentTriple() {
  const { platform, arch } = process;
  if (platform === 'linux') return `linux-${arch}-${isMusl() ? 'musl' : 'gnu'}`;
  if (platform === 'win32') return `win32-${arch}-msvc`;
  return `${platform}-${arch}`;
}

/**
 * @param {string} message
 * @param {unknown} [cause]
 */
function unsupported(message, cause) {
  const error = new Error(`isolated-v8: ${message}`, cause === undefined ? undefined : { cause });
  return Object.assign(error, { code: 'ERR_ISOLATE_UNSUPPORTED' });
}

/** The version of this system's glibc, for the message; undefined where the host does not tell. Deno's report is made up. */
function ownGlibc() {
  try {
    if ('Deno' in globalThis) return undefined;
    /** @type {any} */
    const { header } = process.report.getReport();
    return header.glibcVersionRuntime;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} a
 * @param {string} b
 */
const newer = (a, b) => (a.localeCompare(b, 'en', { numeric: true }) > 0 ? a : b);

/**
 * Tells in the user's terms why a file that exists did not load.
 * @param {string} what
 * @param {any} cause
 */
function notLoadable(what, cause) {
  const detail = String(cause?.message ?? cause);
  if (cause?.name === 'NotCapable' || /Requires \w+ access/.test(detail)) {
    return unsupported('Deno needs the permissions --allow-ffi and --allow-read to load it (or -A).', cause);
  }
  const glibc = /version [`']GLIBC_([\d.]+)' not found/.exec(detail);
  if (glibc) {
    const own = ownGlibc();
    const has = own === undefined ? 'an older one' : own;
    // One that was built elsewhere may need more.
    const needed = newer(GLIBC, /** @type {string} */ (glibc[1]));
    return unsupported(`${what} needs glibc ${needed} or newer, and this system has ${has}. Use a newer system or image, such as node:24-slim.`, cause);
  }
  if (/file too short|cannot read file data|invalid ELF header|wrong ELF class/.test(detail)) {
    return unsupported(`${what} is damaged, or was made for another platform (${detail}): delete node_modules and install again, here.`, cause);
  }
  if (/failed to map segment/.test(detail)) {
    return unsupported(`${what} lies where nothing may be executed (${detail}): is its file system mounted with noexec?`, cause);
  }
  if (/addons? (are |is )?disabled|ERR_DLOPEN_DISABLED/i.test(`${cause?.code} ${detail}`)) {
    return unsupported('native addons are disabled here (--no-addons, or --permission without --allow-addons).', cause);
  }
  return unsupported(`${what} cannot be loaded: ${detail}`, cause);
}

/** As the system's loader reports a file that is shorter than its header. */
const truncated = () => new Error('file too short');

/** The path of a file of the package. Bundlers would take `path.join` for a pattern of files to include. @param {string} file */
const pathOf = (file) => [__dirname, '..', file].join('/');

/**
 * @param {string} file
 * @returns {boolean} false where the host does not let us look, as Deno without --allow-read
 */
function isBeside(file) {
  try {
    return existsSync(pathOf(file));
  } catch {
    return false;
  }
}

/** The platforms whose packages this version was published with. A checkout names none. */
function published() {
  try {
    /** @type {any} */
    const { optionalDependencies = {} } = require('../package.json');
    return Object.keys(optionalDependencies).filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
  } catch {
    return [];
  }
}

/** @param {string} triple */
function notThere(triple) {
  const known = published();
  const builds = known.length > 0 ? known.join(', ') : 'linux-x64-gnu';
  const hint = triple.endsWith('-musl') ? 'On Alpine, use an image with glibc (such as node:24-slim).'
    : 'Run it on one of those, in a container for example, or build it from its repository.';
  return unsupported(`there is no build for ${triple} yet (there is one for: ${builds}). ${hint}`);
}

function load() {
  const triple = currentTriple();
  const binary = Object.hasOwn(binaries, triple) ? binaries[triple] : undefined;
  if (binary === undefined) throw notThere(triple);
  if (isBeside(binary.file)) {
    if (isTruncated(pathOf(binary.file))) throw notLoadable(binary.file, truncated());
    const { native, error } = binary.beside();
    if (native === undefined) throw notLoadable(binary.file, error);
    return native;
  }
  const name = PREFIX + triple;
  // Where package managers put it, also those that link.
  if (isTruncated(pathOf(`../${name}/${binary.file}`))) throw notLoadable(name, truncated());
  /** @type {any} */
  const { native, error: cause } = binary.installed();
  if (native !== undefined) return native;
  const missing = cause?.code === 'MODULE_NOT_FOUND' && String(cause.message).includes(name);
  if (!missing) throw notLoadable(name, cause);
  if (isBeside('Cargo.toml')) throw unsupported(`${binary.file} is not built yet: run 'npm run build'.`, cause);
  if (!published().includes(triple)) throw notThere(triple);
  throw unsupported(
    `the package ${name} is missing. It is an optional dependency, which package managers leave out on request (--omit=optional, ` +
      "--no-optional), and npm also where node_modules or package-lock.json come from another platform (npm's issue 4828): " +
      'delete both and install again, here.',
    cause,
  );
}

module.exports = load();
