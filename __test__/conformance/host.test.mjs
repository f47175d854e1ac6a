// The cases on this host.

import { runSuite } from './suite.mjs';

runSuite(0);
