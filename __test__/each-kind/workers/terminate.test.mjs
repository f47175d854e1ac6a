// Workers that are terminated: each kind of work a few times. Many times: `soak/workers/terminate`.

import { terminating } from '../../workers/terminate.mjs';

terminating(33, 10);
