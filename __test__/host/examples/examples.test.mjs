// The programs in examples/ do what they claim. The MCP server's test is __test__/host/adapters/mcp.test.mjs.

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { WebSocket } from 'ws';
import { programArguments, root, runFile } from '../../harness.mjs';
import { Client } from '../../inspector/client.mjs';

const LIMIT_MS = 90_000;

/** Runs an example to its end; resolves with its lines of output. */
async function linesOf(file, options) {
  const { code, signal, timedOut, stdout, stderr } = await runFile(file, { timeout: LIMIT_MS, ...options });
  assert.deepEqual({ code, signal, timedOut, stderr }, { code: 0, signal: null, timedOut: false, stderr: '' }, stdout);
  return stdout.trimEnd().split('\n');
}

const example = (name) => join(root, 'examples', name);

test('drop-in: a program that requires isolated-vm', async () => {
  const project = mkdtempSync(join(tmpdir(), 'isolated-v8-drop-in-'));
  const dependency = join(project, 'node_modules/isolated-vm');
  try {
    cpSync(example('drop-in'), project, { recursive: true });
    mkdirSync(join(project, 'node_modules'));
    symlinkSync(root, dependency, 'junction');
    assert.deepEqual(await linesOf(join(project, 'main.cjs'), { cwd: project }), [
      'total [6,25]',
      'label ["4 × PEAR","100 × FIG"]',
      "broken failed: Cannot read properties of undefined (reading 'rate')",
      'endless failed: Script execution timed out.',
      'greedy failed: Isolate was disposed during execution due to memory limit',
    ]);
  } finally {
    unlinkSync(dependency); // first, so that nothing recursive finds it
    rmSync(project, { recursive: true, force: true });
  }
});

test('code-mode: a model writes programs, and reads their errors', async () => {
  assert.deepEqual(await linesOf(example('code-mode.mjs')), [
    'attempt 1',
    '  ReferenceError in line 1',
    'attempt 2',
    '  (mail to ada: You have spent 180.)',
    '{"sum":180,"sent":true}',
    'sum 180',
  ]);
});

test('plugins: each has the permissions of its manifest', async () => {
  assert.deepEqual(await linesOf(example('plugins.mjs')), [
    'started org.example.counter',
    'started org.example.spy',
    'refused org.example.greedy (CPU, ERR_ISOLATE_TIMEOUT)',
    'Permission denied: org.example.spy wants network:elsewhere.example',
    'pages counted: 1',
    'plugins running: 2',
  ]);
});

test('rule-engine: every execution has its own heap, from a snapshot', async () => {
  assert.deepEqual(await linesOf(example('rule-engine.mjs')), [
    'high payments are looked at: review, accept, accept',
    'moves the bands: review, review, review',
    'does not end: review (ERR_ISOLATE_DEADLINE), review (ERR_ISOLATE_DEADLINE), review (ERR_ISOLATE_DEADLINE)',
    'once more: accept',
  ]);
});

test('devtools: a client finds the cause of a wrong sum', async () => {
  const child = spawn(process.execPath, [...programArguments(), example('devtools.mjs'), '0'], { cwd: root, env: { ...process.env, NO_COLOR: '1' } });
  const ended = new Promise((resolve) => { child.on('close', (code, signal) => resolve({ code, signal })); });
  const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  try {
    let printed = '';
    const url = await new Promise((resolve, reject) => {
      child.on('close', () => reject(new Error(`it ended:\n${printed}`)));
      child.stderr.setEncoding('utf8').on('data', (text) => { printed += text; });
      child.stdout.setEncoding('utf8').on('data', (text) => {
        printed += text;
        const found = /^protocol: (ws:\S+)$/m.exec(printed);
        if (found) resolve(found[1]);
      });
    });
    const socket = new WebSocket(url);
    const client = new Client((message) => socket.send(message), () => socket.close());
    socket.on('message', (data) => client.take(String(data)));
    await new Promise((resolve, reject) => { socket.on('open', resolve).on('error', reject); });

    await client.call('Runtime.enable');
    await client.call('Debugger.enable');
    const { callFrames: [frame] } = await client.event('Debugger.paused');
    const { scriptId } = frame.location;
    const { url: file } = await client.event('Debugger.scriptParsed', (script) => script.scriptId === scriptId);
    assert.equal(file, 'file:///shop/total.js');
    const evaluate = async (expression) => {
      const { result } = await client.call('Debugger.evaluateOnCallFrame', { callFrameId: frame.callFrameId, expression, returnByValue: true });
      return result.value;
    };
    assert.equal(await evaluate('typeof price'), 'string');
    assert.equal(await evaluate('fixed = true, sum = 0, cart.length'), 2);
    await client.call('Debugger.disable');

    assert.deepEqual(await ended, { code: 0, signal: null }, printed);
    assert.match(printed, /^DevTools: devtools:\/\/\S+$/m);
    assert.equal(printed.trimEnd().split('\n').at(-1), 'total 7');
  } finally {
    clearTimeout(limit);
    child.kill('SIGKILL');
  }
});

test('demo: results of good, slow and hostile code', async () => {
  const lines = await linesOf(example('demo.mjs'));
  const outcomes = lines.filter((line) => /^ {2}(?:result|error|host) /.test(line)).map((line) => line.trim());
  assert.deepEqual(outcomes, [
    'result   [{"name":"apples","left":3}]',
    'result   {"warmer":"Lisbon"}',
    'error    Execution timed out after 250ms',
    'host     its timer fired all along',
    'error    Isolate was disposed during execution due to memory limit',
    'result   ["undefined","undefined","undefined","undefined","undefined"]',
  ]);
  assert.equal(lines.at(-1), 'The host is alive and well.');
});
