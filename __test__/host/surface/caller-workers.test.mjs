// Workers that are terminated, with sync calls on their own threads.

import { describe } from 'node:test';
import { terminating } from '../../workers/terminate.mjs';

const AVAILABLE = process.platform === 'linux' && process.arch === 'x64';

describe("sync calls on the workers' threads", { skip: !AVAILABLE && 'elsewhere they run on threads of their own' }, () => {
  terminating({ many: 22, pending: 5, before: 11, first: "ivm.configureEngine({ syncCalls: 'caller' });" });
});
