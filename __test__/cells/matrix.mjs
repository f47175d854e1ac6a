// Runs cells of the matrix many times, each among others, so that what the library learns from earlier values is used and mixed.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import ivm from '../../index.js';
import { host } from '../harness.mjs';
import { openNetwork } from './network.mjs';

/** Coprime to every number of cells that is not a multiple of it, so that neighbours of a round have little in common. */
const STRIDE = 7919;
const WAYS = ['caller', 'thread'];
const ROUNDS = 4;
/** How often the last round runs each cell in succession. */
const IN_SUCCESSION = 4;
/** How often an isolate sees an object before it certainly knows its names (src/convert/small_value.rs). */
const LESSONS = 50;
const CONCURRENT = 50;
const SHOWN = 20;
const NOTES_LIMIT_MS = 10_000;

/** Hosts describe their functions to guests by name, guests theirs by source. */
const SOURCES = /(?:function \w*\([^)]*\) \{[^}]*\}|\(\) => 1) could not/g;
const comparable = (text) => String(text).replaceAll(SOURCES, 'the function could not');

const HOSTS = ['node20', 'node22', 'node24', 'node25', 'node26', 'bun', 'deno'];

/**
 * Whether a cell is among one of `shares` parts. Each host has another one, and each way of sync calls.
 * @param {number} position
 * @param {'caller' | 'thread'} syncCalls
 * @param {number} shares
 * @param {string[]} [hosts] that divide the cells among them
 */
export function isOfShare(position, syncCalls, shares, hosts = HOSTS) {
  const share = hosts.indexOf(host) * WAYS.length + WAYS.indexOf(syncCalls);
  return position % shares === share % shares;
}

async function runCells(cells, run) {
  const wrong = new Map();
  const noted = {};
  let pending = [];
  const compare = (cell, outcome) => {
    if (comparable(outcome) !== comparable(cell.expected)) wrong.set(cell.name, `${cell.name}\n  gave     ${String(outcome).slice(0, 300)}\n  expected ${cell.expected.slice(0, 300)}`);
  };
  const start = (cell) => {
    if (cell.note !== undefined) {
      const notes = (noted[cell.to] ??= {});
      notes[cell.note] = (notes[cell.note] ?? 0) + 1;
    }
    const outcome = run(cell);
    if (outcome instanceof Promise) pending.push(outcome.then((text) => compare(cell, text)));
    else compare(cell, outcome);
  };
  for (let round = 0; round <= ROUNDS; round += 1) {
    if (round === ROUNDS / 2) {
      for (const cell of cells.filter(({ teaches }) => teaches)) for (let time = 0; time < LESSONS; time += 1) start(cell);
    }
    for (let step = 0; step < cells.length; step += 1) {
      const cell = cells[(step * STRIDE + round) % cells.length];
      for (let time = 0; time < (round === ROUNDS ? IN_SUCCESSION : 1); time += 1) start(cell);
      if (pending.length >= CONCURRENT) {
        await Promise.all(pending);
        pending = [];
      }
    }
  }
  await Promise.all(pending);
  return { wrong: [...wrong.values()], noted };
}

/**
 * Declares the tests of a file.
 * @param {'caller' | 'thread'} syncCalls
 * @param {(cell: any, position: number) => boolean} isChosen
 */
export function testMatrix(syncCalls, isChosen) {
  describe(`every way in which values cross, syncCalls: ${syncCalls}`, () => {
    test('gives what isolated-vm documents', async () => {
      ivm.configureEngine({ syncCalls });
      const { cells, run, notesOf, dispose } = openNetwork(ivm);
      const chosen = cells.filter(isChosen);
      assert.ok(chosen.length > 1000 && chosen.length % STRIDE !== 0);
      const { wrong, noted } = await runCells(chosen, run);
      assert.equal(wrong.length, 0, `${wrong.length} of ${chosen.length} cells:\n${wrong.slice(0, SHOWN).join('\n')}`);
      assert.ok(Object.keys(noted).length > 0);
      for (const [name, expected] of Object.entries(noted)) {
        const countOf = (notes) => Object.values(notes).reduce((sum, count) => sum + count, 0);
        for (const end = performance.now() + NOTES_LIMIT_MS; countOf(notesOf(name)) < countOf(expected) && performance.now() < end; await sleep(5));
        assert.deepEqual(Object.entries(notesOf(name)).toSorted(), Object.entries(expected).toSorted(), `calls whose results are ignored, of ${name}`);
      }
      dispose();
    });
  });
}
