// Memory beside the heap: buffers of all kinds, and memory of WebAssembly.

export const group = 'buffers';
const REFUSED = 'RangeError: Array buffer allocation failed';
export const defaults = { ends: REFUSED, timeout: 5_000, peak: 96 };

export const programs = [
  { name: 'one huge typed array', code: 'new Uint8Array(1e9)' },
  { name: 'one beyond the longest', code: 'new Uint8Array(2 ** 53 - 1)' },
  { name: 'many that are kept', code: 'const kept = []; for (;;) kept.push(new Uint8Array(2 ** 20).fill(1));' },
  { name: 'many small ones', code: 'const kept = []; for (;;) kept.push(new Uint8Array(100));', ends: 'memory', memory: 16 },
  { name: 'many that are dropped', code: 'for (;;) new Uint8Array(2 ** 20).fill(1);', timeout: 200, ends: 'timeout' },
  { name: 'slices', code: 'const kept = [], b = new ArrayBuffer(2 ** 20); for (;;) kept.push(b.slice());' },
  { name: 'transfers that grow', code: 'let b = new ArrayBuffer(1); for (;;) b = b.transfer(b.byteLength * 2);' },
  { name: 'shared ones', code: 'const kept = []; for (;;) kept.push(new SharedArrayBuffer(2 ** 20));' },
  { name: 'one huge shared one', code: 'new SharedArrayBuffer(2 ** 32)' },
  { name: 'a resizable one that grows', code: 'const b = new ArrayBuffer(0, { maxByteLength: 2 ** 30 }); for (let n = 0; n <= 2 ** 30; n += 2 ** 22) { b.resize(n); new Uint8Array(b).fill(1); } return b.byteLength', ends: ['memory', 'RangeError: …'] },
  { name: 'resizable ones', code: 'const kept = []; for (let i = 0; i < 200; i++) { const b = new ArrayBuffer(2 ** 22, { maxByteLength: 2 ** 23 }); new Uint8Array(b).fill(1); kept.push(b); } return kept.length', ends: ['memory', 'RangeError: …'] },
  { name: 'room for resizable ones alone', code: 'const kept = []; for (let i = 0; i < 2e3; i++) kept.push(new ArrayBuffer(0, { maxByteLength: 2 ** 30 })); return kept.length', ends: ['memory', 'RangeError: …'] },
  { name: 'a growable shared one', code: 'const b = new SharedArrayBuffer(0, { maxByteLength: 2 ** 30 }); for (let n = 0; n <= 2 ** 30; n += 2 ** 22) { b.grow(n); new Uint8Array(b).fill(1); } return b.byteLength', ends: ['memory', 'RangeError: …'] },
  { name: 'growable shared ones', code: 'const kept = []; for (let i = 0; i < 200; i++) { const b = new SharedArrayBuffer(2 ** 22, { maxByteLength: 2 ** 23 }); new Uint8Array(b).fill(1); kept.push(b); } return kept.length', ends: ['memory', 'RangeError: …'] },
  { name: 'WebAssembly memory that grows', code: 'const m = new WebAssembly.Memory({ initial: 1, maximum: 65536 }); for (;;) { m.grow(64); new Uint8Array(m.buffer).fill(1); }', ends: ['memory', 'RangeError: …'] },
  { name: 'many WebAssembly memories', code: 'const kept = []; for (let i = 0; i < 200; i++) { const m = new WebAssembly.Memory({ initial: 256, maximum: 1024 }); new Uint8Array(m.buffer).fill(1); kept.push(m); } return kept.length', ends: ['memory', 'RangeError: …'] },
  { name: 'shared WebAssembly memory', code: 'const kept = []; for (let i = 0; i < 200; i++) { const m = new WebAssembly.Memory({ initial: 64, maximum: 1024, shared: true }); m.grow(192); new Uint8Array(m.buffer).fill(1); kept.push(m); } return kept.length', ends: ['memory', 'RangeError: …'] },
  { name: 'WebAssembly memory of the largest size', code: 'new WebAssembly.Memory({ initial: 65536 })', ends: ['RangeError: …', 'TypeError: …'] },
  { name: 'a huge WebAssembly table', code: 'const kept = []; for (let i = 0; i < 100; i++) kept.push(new WebAssembly.Table({ initial: 1e7, element: "externref" })); return kept.length', ends: 'memory', peak: 1_300 },
  { name: 'a WebAssembly table that grows', code: 'const t = new WebAssembly.Table({ initial: 1, element: "externref" }); for (;;) t.grow(100_000);', ends: ['memory', 'RangeError: …'], peak: 300 },
  { name: 'copies between typed arrays', code: 'const a = new Uint8Array(2 ** 23); const kept = []; for (;;) kept.push(Float64Array.from(a));' },
  { name: 'toReversed of typed arrays', code: 'const a = new Uint8Array(2 ** 20), kept = []; for (;;) kept.push(a.toReversed());' },
  { name: 'views on one buffer', code: 'const b = new ArrayBuffer(8), kept = []; for (;;) kept.push(new Uint8Array(b), new DataView(b));', ends: 'memory', peak: 128 },
];
