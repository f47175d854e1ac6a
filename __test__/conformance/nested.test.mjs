// The cases inside an isolate that an isolate has made.

import { runSuite } from './suite.mjs';

runSuite(2);
