// Workers that are terminated, many times.

import { host } from '../../harness.mjs';
import { terminating } from '../../workers/terminate.mjs';

// As in `each-kind/workers/terminate`.
terminating(host === 'deno' ? { many: 66, pending: 24, before: 22 } : { many: 200, pending: 100, before: 22 });
