// The cases as tests of `node:test`, on either side.

import { describe, test } from 'node:test';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ivm } from '../api/ivm.mjs';
import { collect, runCase } from './kit.mjs';
import { openStage } from './stage.mjs';

const folder = dirname(fileURLToPath(import.meta.url));
/** Files that need a host. */
const OUTSIDE = /^suite\.mjs$/;

/** Whether the cases run against isolated-vm itself, to check that they describe its behaviour. */
const original = Boolean(process.env.IVM_MODULE);

function readFiles() {
  const names = readdirSync(folder, { recursive: true }).map((name) => String(name).split(sep).join('/'));
  const inside = names.filter((name) => name.endsWith('.mjs') && !OUTSIDE.test(name));
  return Object.fromEntries(inside.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

const DAY = 24 * 60 * 60 * 1000;

/** Isolates that interact only with each other do not keep the host alive. */
async function alive(run) {
  const timer = setInterval(() => {}, DAY);
  try {
    await run();
  } finally {
    clearInterval(timer);
  }
}

/** @param {number} depth how many isolates deep the cases run: 0 is this host */
export function runSuite(depth) {
  const cases = collect(ivm, { side: depth === 0 ? 'host' : 'guest', original });
  const run = depth === 0 ? (index) => runCase(ivm, cases[index]) : openStage(ivm, new ivm.ExternalCopy(readFiles()), { depth, original });
  for (const group of new Set(cases.map((each) => each.group))) {
    describe(group, () => {
      for (const [index, each] of cases.entries()) {
        if (each.group !== group) continue;
        const skip = original && each.differs !== undefined && `isolated-vm does otherwise: ${each.differs}`;
        test(each.name, { skip }, () => alive(() => run(index)));
      }
    });
  }
}
