// A thousand guests that do not stop, on the threads of their callers: in one process, on its main thread and in two workers.

import { test } from 'node:test';
import { ENDLESS } from '../../stress/endless.mjs';
import { workers } from '../../workers/helper.mjs';

const AVAILABLE = process.platform === 'linux' && process.arch === 'x64';

const MAIN = 600;
const WORKER = 200;

const ENDS = `
  const NEVER = [
    'Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)',
    'Array.prototype.indexOf.call(new Array(2 ** 32 - 1), 1)',
    'new Proxy({}, { get: () => Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1) }).x',
  ];
  const ENDLESS = ${JSON.stringify(ENDLESS)};
  const ENDED = ['ERR_ISOLATE_UNRESPONSIVE', 'ERR_ISOLATE_TIMEOUT', 'ERR_ISOLATE_MEMORY'];
  const kept = make();
  const leave = (many) => {
    for (let round = 0, left = 0; left < many; round += 1) {
      const { isolate, context } = make();
      let error;
      try { context.evalSync(round % 2 === 0 ? NEVER[round % 3] : ENDLESS[round % ENDLESS.length], { timeout: 5 }); } catch (thrown) { error = thrown; }
      if (!ENDED.includes(error?.code)) throw error ?? new Error('it ended');
      if (error.code === 'ERR_ISOLATE_UNRESPONSIVE') left += 1;
      same(kept.context.evalSync('[' + round + ', 2].map((n) => n * 2).join()'), 2 * round + ',4');
      const other = make();
      same(other.context.evalSync('6 * 7'), 42);
      other.isolate.dispose();
      if (!isolate.isDisposed) isolate.dispose();
    }
  };
`;

test('1,000 guests that do not stop, in one process with workers', { skip: !AVAILABLE && 'elsewhere they run on threads of their own' }, () => workers(`
  ivm.configureEngine({ syncCalls: 'caller', terminationGrace: 10, lostMemoryLimit: 16_384 });
  ${ENDS}
  const both = [exited(work()), exited(work())];
  leave(${MAIN});
  const codes = await Promise.all(both);
  same(codes.join(), '0,0');
  const { endings, lostRunning } = ivm.engineStats();
  if (endings.abandoned < ${MAIN + 2 * WORKER}) throw new Error('only ' + endings.abandoned + ' were left');
  // The first calls of an isolate may run on the thread that has made it.
  if (lostRunning > endings.abandoned / 4) throw new Error(lostRunning + ' of ' + endings.abandoned + ' still run');
  console.log('all were left');
`, `
  ${ENDS}
  leave(${WORKER});
`, { stdout: 'all were left\n', limit: 300_000 }));
