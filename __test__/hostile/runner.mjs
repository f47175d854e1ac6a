// Runs hostile programs in child processes, and reports what each did wrong.
//
// Programs share a child, one after another, because starting and ending one takes longer than most of them. If a problem may be another
// program's fault, each runs again in a child of its own. A program that has killed the child, or ended in an unexpected way, never runs
// again for a better result.

import { fits } from './outcome.mjs';
import { runChild } from './process.mjs';

/** The grace period after a guest's time limit, and the margin for a busy machine. */
const GRACE_MS = 1_000;
const MARGIN_MS = 250;
const MAX_DELAY_MS = 3_000;
/** Sandboxes answer at their timeout. */
const SANDBOX_MARGIN_MS = 500;
const MAX_GAP_MS = 500;

/** Whether guests can run on the caller's thread. Their call returns when they were left, and until then they may use the memory lent for unwinding. */
export const AVAILABLE = process.platform === 'linux' && process.arch === 'x64';
const peakOf = (program, way) => (way === 'sync' && AVAILABLE && process.env.ISOLATED_V8_SYNC_CALLS !== 'thread' ? 2 : 1) * program.peak;

const START_MS = 20_000;
const RUN_MS = 10_000;
const PER_CHILD = 8;
/** Guests that do not stop each leave a thread that uses a processor for some time. Unless their host waits, they run at the same time. */
const UNRESPONSIVE_PER_CHILD = 5;
const AT_A_TIME = 3;

/** How long a run may take if the host and its guest have waited this long for processors. */
export function bound(program, way, delayed) {
  const margin = way === 'sandbox' ? SANDBOX_MARGIN_MS : GRACE_MS + MARGIN_MS;
  return program.timeout + margin + delayed.host + Math.min(delayed.others, MAX_DELAY_MS);
}

const rounded = (number) => Math.round(number);

/** The problems of one run: those of the program itself, and those that may be another's fault. */
function judge(program, way, run) {
  const certain = [];
  const doubtful = [];
  const expected = program.ends[way];
  if (!expected.some((one) => fits(one, run.outcome))) certain.push(`ended with ${run.outcome}, not ${expected.join(' or ')}`);
  if (!run.answered) certain.push('no new isolate answered afterwards');
  const max = bound(program, way, run.delayed);
  if (run.took > max) doubtful.push(`took ${rounded(run.took)} ms, more than ${rounded(max)}`);
  if (run.gap > MAX_GAP_MS) doubtful.push(`held up the event loop for ${rounded(run.gap)} ms`);
  const peak = peakOf(program, way);
  if (run.grown > peak) doubtful.push(`took ${rounded(run.grown)} MB at its peak, more than ${peak}`);
  return { certain, doubtful };
}

/** The problems of the child at its end. It may keep `max` MB. */
function judgeEnd(child, rest, max) {
  if (child.killed !== undefined) return [child.killed];
  if (child.signal !== null) return [`was ended by ${child.signal}`];
  const wrong = [];
  if (child.code !== 0) wrong.push(`ended with exit code ${child.code}`);
  if (rest === undefined) return [...wrong, 'ended before it had said how it is'];
  if (rest.grown > max + rest.lost) wrong.push(`kept ${rounded(rest.grown)} MB, of which ${rounded(rest.lost)} were lost`);
  if (rest.gap > MAX_GAP_MS) wrong.push(`held up the event loop for ${rounded(rest.gap)} ms in the end`);
  if (rest.polluted) wrong.push('found the prototype of its objects changed');
  return wrong;
}

const isOf = (line, { program, way }) => line.ended === program.name && line.way === way;

const keptBy = (runs) => Math.max(...runs.map(({ program }) => program.kept));

/**
 * Runs these in one child.
 * @param {{ program: import('./corpus.mjs').Program, way: string }[]} runs
 */
async function runTogether(file, runs, limit = runs.reduce((sum, { program }) => sum + program.timeout + RUN_MS, START_MS), max = keptBy(runs)) {
  const task = { file, runs: runs.map(({ program, way }) => [way, program.name]), together: runs.every(isUnresponsive), kept: max };
  const child = await runChild(task, limit);
  const ended = child.lines.filter((line) => line.ended !== undefined);
  const results = ended.map((line) => {
    const run = runs.find((one) => isOf(line, one));
    return { ...run, ...line, ...judge(run.program, run.way, line) };
  });
  const rest = runs.filter((run) => !ended.some((line) => isOf(line, run)));
  const wrong = judgeEnd(child, child.lines.find((line) => line.rests), max);
  return { results, wrong, rest, output: child.stderr };
}

async function runAlone(file, run, limit) {
  const { results: [result], wrong, output } = await runTogether(file, [run], limit);
  const problems = result === undefined ? [] : [...result.certain, ...result.doubtful];
  return { ...run, ...result, problems: [...problems, ...ofProcess(wrong, output)] };
}

const ofProcess = (wrong, output) => wrong.map((what) => `its process ${what}${output && `: ${output}`}`);

/** Runs all of these, in as many children as necessary. */
async function runBatch(file, runs, limit) {
  if (runs.length === 1) return [await runAlone(file, runs[0], limit)];
  const { results, wrong, rest, output } = await runTogether(file, runs, limit);
  const died = rest.length > 0;
  // If they ran at the same time, any of them may have ended the child. Otherwise it was the first that has not ended.
  const culprits = runs.every(isUnresponsive) ? rest : rest.slice(0, 1);
  const done = culprits.map((run) => ({ ...run, problems: ofProcess(wrong, output) }));
  const suspects = [];
  for (const result of results) {
    // Any of them may have caused the child's final state, and also times and memory.
    const again = result.certain.length === 0 && ((!died && wrong.length > 0) || result.doubtful.length > 0);
    if (again) {
      const reasons = result.doubtful.length > 0 ? result.doubtful : wrong;
      console.log(`again, alone: ${result.way} ${result.program.name}: ${reasons.join('; ')}`);
      suspects.push(await runAlone(file, result, limit));
    }
    else done.push({ ...result, problems: [...result.certain, ...result.doubtful] });
  }
  if (!died && wrong.length > 0 && suspects.every(({ problems }) => problems.length === 0)) {
    // No program causes the problem alone. If it happens twice, all of them together cause it. Each may keep some memory, so their sum may be larger.
    const { wrong: still } = await runTogether(file, runs, limit, 2 * keptBy(runs));
    for (const result of suspects) result.problems.push(...still.map((what) => `its process, with others in it, ${what}`));
  }
  const others = rest.slice(culprits.length);
  return [...done, ...suspects, ...(others.length > 0 ? await runBatch(file, others, limit) : [])];
}

const isUnresponsive = ({ program, way }) => way !== 'sync' && program.ends.async.includes('unresponsive');
const sizeOf = ({ program }) => (program.ends.async.includes('unresponsive') ? UNRESPONSIVE_PER_CHILD : PER_CHILD);

const chunks = (list, size) => Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));

/**
 * Runs programs, each in one or several ways. The keys of the results are the way and the name of the program.
 * @param {string} file the name by which `programsOf` finds them
 * @param {{ program: import('./corpus.mjs').Program, way: string }[]} runs of one way or of different programs
 * @param {number} [limit] milliseconds for each child
 */
export async function runAll(file, runs, limit) {
  // Programs that run at the same time share no child with others.
  const kinds = new Map();
  for (const run of runs) {
    const kind = `${sizeOf(run)} ${isUnresponsive(run)}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), run]);
  }
  const batches = [...kinds.values()].flatMap((kind) => chunks(kind, sizeOf(kind[0])));
  const results = new Map();
  const next = batches.values();
  const work = async () => {
    for (const batch of next) {
      for (const result of await runBatch(file, batch, limit)) results.set(`${result.way} ${result.program.name}`, result);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return results;
}

/**
 * Runs programs in all these ways.
 * @param {string} file the name by which `programsOf` finds them
 * @param {import('./corpus.mjs').Program[]} programs
 * @param {string[]} ways
 * @param {number} [limit] milliseconds for each child
 */
export const runPrograms = (file, programs, ways, limit) =>
  runAll(file, ways.flatMap((way) => programs.map((program) => ({ program, way }))), limit);
