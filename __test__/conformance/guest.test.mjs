// The cases inside an isolate.

import { runSuite } from './suite.mjs';

runSuite(1);
