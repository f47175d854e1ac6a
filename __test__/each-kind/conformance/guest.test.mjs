// The cases inside an isolate.

import { runSuite } from '../../conformance/suite.mjs';

runSuite(1);
