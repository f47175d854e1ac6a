// The confinement of the processes of `SubprocessSandbox` on macOS. All but the first test were written without such a machine, and have
// yet to be run on one.

import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../../harness.mjs';
import { probe } from '../../sandbox/confinement-probe.mjs';

const options = { skip: process.platform !== 'darwin' && 'this is not macOS' };

/** In the order in which a child applies them. */
const LAYERS = ['rlimits', 'parentDeath', 'noTracing', 'seatbelt', 'descriptors'];

/** Error numbers and signals of macOS. */
const [EPERM, EMFILE, SIGXFSZ] = [1, 24, 25];

let bystander;
let server;
let folder;
let operations;

before(async () => {
  if (options.skip) return;
  folder = mkdtempSync(join(tmpdir(), 'isolated-v8-confinement-'));
  bystander = spawn('sleep', ['600'], { stdio: 'ignore' });
  server = createServer((socket) => { socket.on('error', () => {}).end(); });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  operations = {
    open: 'open /etc/passwd',
    write: `write ${join(folder, 'file')}`,
    connect: `connect ${server.address().port}`,
    fork: 'fork',
    kill: `kill ${bystander.pid}`,
    execve: 'execve /usr/bin/true',
  };
});

after(() => {
  bystander?.kill('SIGKILL');
  server?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

test('the profile denies by default, and allows what V8 needs', () => {
  const text = readFileSync(join(root, 'src/child/confinement/seatbelt.sb'), 'utf8').replaceAll(/;.*$/gm, '');
  let depth = 0;
  for (const [parenthesis] of text.matchAll(/[()]/g)) {
    depth += parenthesis === '(' ? 1 : -1;
    assert.ok(depth >= 0);
  }
  assert.equal(depth, 0);
  assert.match(text, /^\s*\(version 1\)\s*\(deny default\)/);
  const allowed = [...text.matchAll(/\(allow ([^\s)]+)/g)].map(([, operation]) => operation);
  assert.deepEqual(allowed, ['dynamic-code-generation', 'process-info-setcontrol', 'signal', 'sysctl-read']);
});

describe('confinement on macOS', options, () => {
  test('with no layer every operation succeeds', async () => {
    const { execve, ...others } = operations;
    const { layers, results, end } = await probe(LAYERS, Object.values(others));
    assert.deepEqual([...layers.keys()], LAYERS);
    assert.deepEqual(results, { open: 0, write: 0, connect: 0, fork: 0, kill: 0 });
    assert.deepEqual(end, { exit: 0 });
  });

  test('the profile alone refuses all of them', async () => {
    const { layers, results, end } = await probe(LAYERS.filter((layer) => layer !== 'seatbelt'), ['thread', ...Object.values(operations)]);
    assert.ok(layers.get('seatbelt').active, layers.get('seatbelt').detail);
    const [open, write, connect, fork, kill, execve] = Array(6).fill(EPERM);
    assert.deepEqual(results, { thread: 0, open, write, connect, fork, kill, execve });
    assert.deepEqual(end, { exit: 0 });
  });

  test('limits end a process that writes to a file; descriptors cannot be opened', async () => {
    const limited = await probe(LAYERS.filter((layer) => layer !== 'rlimits'), [operations.write]);
    assert.deepEqual([limited.results, limited.end], [{}, { signal: SIGXFSZ }]);
    const closed = await probe(LAYERS.filter((layer) => layer !== 'descriptors'), [operations.open, operations.connect]);
    assert.deepEqual(closed.results, { open: EMFILE, connect: EMFILE });
  });

  test('all layers apply', async () => {
    const { layers, results } = await probe([], ['thread']);
    for (const [name, { active, detail }] of layers) assert.ok(active, `${name}: ${detail}`);
    assert.deepEqual(results, { thread: 0 });
  });
});
