// Workers that are terminated, many times.

import { host } from '../../harness.mjs';
import { terminating } from '../../workers/terminate.mjs';

// As in `each-kind/workers/terminate`.
terminating(host === 'deno' ? { many: 33, pending: 10, before: 11 } : { many: 110, pending: 50, before: 22 });
