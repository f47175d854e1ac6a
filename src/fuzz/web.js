// Reads calls from the bytes `$0` and makes them. Throws `found: …` if one breaks its contract.
const bytes = new Uint8Array($0);
let at = 0;
const byte = () => bytes[at++] ?? 0;
const below = (limit) => byte() % limit;
const some = () => {
  const count = byte();
  return bytes.slice(at, at += count);
};
const units = (list) => list.reduce((all, unit) => all + String.fromCharCode(unit), '');
const wide = () => {
  const list = some();
  let all = '';
  for (let i = 0; i + 1 < list.length; i += 2) all += String.fromCharCode(list[i] | list[i + 1] << 8);
  return all;
};
const string = () => (byte() & 1 ? wide() : units(some()));
const LABELS = [
  'utf-8', 'utf-16le', 'utf-16be', 'latin1', 'windows-1252', 'iso-8859-2', 'koi8-r', 'macintosh', 'gbk', 'gb18030', 'big5', 'euc-jp',
  'iso-2022-jp', 'shift_jis', 'euc-kr', 'x-user-defined', 'windows-874', 'ibm866', 'iso-8859-8-i', 'replacement',
];
const NAMES = ['TypeError', 'RangeError', 'DOMException'];
const found = (what) => { throw new Error(`found: ${what}`); };
/** Returns the result of a call, or the error that a specification allows it to throw. */
const attempt = (call) => {
  try {
    return { value: call() };
  } catch (error) {
    if (NAMES.includes(error?.constructor?.name)) return { error };
    throw error;
  }
};
const same = (what, left, right) => {
  if ('error' in left !== 'error' in right || left.value !== right.value) {
    found(`${what}: ${JSON.stringify(left)} is not ${JSON.stringify(right)} (${String(left.error)}, ${String(right.error)})`);
  }
};

const CALLS = [
  function decode() {
    const label = LABELS[below(LABELS.length)];
    const options = { fatal: below(2) === 1, ignoreBOM: below(2) === 1 };
    const first = attempt(() => new TextDecoder(label, options));
    if (first.error) return;
    const source = some();
    const whole = attempt(() => first.value.decode(source));
    const parts = new TextDecoder(label, options);
    const pieces = attempt(() => {
      let all = '';
      for (let start = 0; start < source.length;) {
        const end = start + 1 + below(4);
        all += parts.decode(source.subarray(start, end), { stream: true });
        start = end;
      }
      return all + parts.decode();
    });
    same(`decoding ${label}`, whole, pieces);
  },
  function encode() {
    const source = string();
    const encoder = new TextEncoder();
    const encoded = encoder.encode(source);
    if (new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoded) !== source.toWellFormed()) found('encoding and decoding');
    const target = new Uint8Array(below(32));
    const { read, written } = encoder.encodeInto(source, target);
    if (written > target.length || read > source.length) found('the counts of encodeInto');
    for (let i = 0; i < written; i += 1) if (target[i] !== encoded[i]) found('the bytes of encodeInto');
    if (encoder.encode(source.slice(0, read)).length !== written) found('how much encodeInto has read');
  },
  function base64() {
    const source = units(some());
    if (atob(btoa(source)) !== source) found('base64 and back');
    const any = string();
    const decoded = attempt(() => atob(any));
    if (!decoded.error && atob(btoa(decoded.value)) !== decoded.value) found('what atob gives');
    attempt(() => btoa(any));
  },
  function url() {
    const base = below(2) === 1 ? string() : undefined;
    const made = attempt(() => new URL(string(), base));
    if (made.error) return;
    const address = made.value;
    const again = (what) => {
      const other = attempt(() => new URL(address.href));
      same(`the address ${what}`, { value: address.href }, other.error ? other : { value: other.value.href });
    };
    again('that was made');
    const fields = ['protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash', 'href'];
    for (let count = below(4); count > 0; count -= 1) {
      const field = fields[below(fields.length)];
      attempt(() => { address[field] = string(); });
      again(`after a new ${field}`);
    }
    address.searchParams.append(string(), string());
    again('with one more parameter');
    void [address.origin, ...fields.map((field) => address[field])];
  },
  function form() {
    const params = new URLSearchParams(string());
    for (let count = below(4); count > 0; count -= 1) params.append(string(), string());
    if (below(2) === 1) params.sort();
    if (below(2) === 1) params.delete(string());
    const once = String(params);
    if (String(new URLSearchParams(once)) !== once) found(`parameters and back: ${once}`);
  },
  function clone() {
    let depth = 0;
    const build = () => {
      depth += 1;
      switch (below(depth > 8 ? 6 : 12)) {
        case 0: return byte();
        case 1: return string();
        case 2: return BigInt(byte()) << BigInt(byte());
        case 3: return some();
        case 4: return new Date(byte());
        case 5: return [null, undefined, true, NaN, -0][below(5)];
        case 6: return Array.from({ length: below(4) }, build);
        case 7: return Object.fromEntries(Array.from({ length: below(4) }, () => [string(), build()]));
        case 8: return new Map(Array.from({ length: below(4) }, () => [build(), build()]));
        case 9: return new Set(Array.from({ length: below(4) }, build));
        case 10: return new Error(string());
        default: return some().buffer;
      }
    };
    const show = (value) => JSON.stringify(value, (_, part) => {
      if (typeof part === 'bigint') return `${part}n`;
      if (part instanceof Map || part instanceof Set) return [...part];
      if (part instanceof ArrayBuffer) return [...new Uint8Array(part)];
      return part instanceof Error ? [part.name, part.message] : part;
    });
    const value = build();
    const copy = attempt(() => structuredClone(value));
    if (copy.error) found(`a clone: ${copy.error}`);
    if (show(copy.value) !== show(value)) found(`a clone: ${show(copy.value)} is not ${show(value)}`);
    const buffer = some().buffer;
    const length = buffer.byteLength;
    const moved = structuredClone(buffer, { transfer: [buffer] });
    if (!buffer.detached || moved.byteLength !== length) found('a buffer that moves');
  },
  function random() {
    crypto.getRandomValues(new Uint8Array(byte()));
    if (!/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())) found('an identifier');
    if (!(performance.now() >= 0)) found('the time');
  },
];

for (let count = 0; count < 8 && at < bytes.length; count += 1) CALLS[below(CALLS.length)]();
