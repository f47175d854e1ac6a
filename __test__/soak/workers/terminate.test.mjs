// Workers that are terminated, many times.

import { host } from '../../harness.mjs';
import { terminating } from '../../workers/terminate.mjs';

// Starting and ending a worker takes Deno a second of processor time.
const [MANY, PENDING] = host === 'deno' ? [66, 24] : [200, 100];

terminating(MANY, PENDING);
