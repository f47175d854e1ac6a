// Workers that are terminated: each kind of work at least once. `soak/workers/terminate` does it many times.

import { host } from '../../harness.mjs';
import { terminating } from '../../workers/terminate.mjs';

// Starting and ending a worker takes Deno a second of processor time.
terminating(host === 'deno' ? { many: 11, pending: 3, before: 4 } : { many: 22, pending: 5, before: 11 });
