// Programs that harm their host through the functions that it gives them, to check that the runner notices.

export const group = 'culprits';
export const defaults = { ends: 'value undefined' };

const kept = [];
/** Blocks the host's thread without using a processor, so that other processes make no difference. */
const block = (time) => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, time); };
const fill = (megabytes) => new Uint8Array(megabytes * 2 ** 20).fill(1);

/** The functions that the host gives to programs of this file. */
export const granted = {
  abort: () => { process.abort(); },
  kill: () => { process.kill(process.pid, 'SIGKILL'); },
  exit: () => { process.exit(0); },
  fail: () => { process.exitCode = 3; },
  hang: () => { for (;;); },
  block,
  leak: () => { kept.push(fill(200)); },
  pollute: () => { Reflect.defineProperty(Reflect.getPrototypeOf({}), 'polluted', { value: true }); },
  stay: () => { setInterval(() => {}, 1_000); },
};

export const programs = [
  { name: 'fine', code: 'block(1)' },
  { name: 'fine, too', code: 'for (;;);', ends: 'timeout' },
  { name: 'aborts', code: 'abort()' },
  { name: 'is killed', code: 'kill()' },
  { name: 'exits', code: 'exit()' },
  { name: 'ends with a code', code: 'fail()' },
  { name: 'hangs', code: 'hang()' },
  { name: 'does not end its process', code: 'stay()' },
  { name: 'ends otherwise', code: 'return 2', ends: 'value 3' },
  { name: 'throws something else', code: 'throw new TypeError("x")', ends: 'RangeError: …' },
  { name: 'is not stopped', code: 'for (;;);', ends: 'unresponsive', sandbox: 'memory' },
  { name: 'holds up the event loop', code: 'block(800)' },
  { name: 'takes too long', code: 'block(4_800)', timeout: 50 },
  { name: 'leaks', code: 'leak()', peak: 500 },
  { name: 'takes too much at its peak', code: 'leak()', peak: 150 },
  { name: 'changes prototypes', code: 'pollute()' },
];
