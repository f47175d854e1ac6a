// The cases inside an isolate that a guest has created.

import { runSuite } from '../../conformance/suite.mjs';

runSuite(2);
