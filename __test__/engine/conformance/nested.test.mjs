// The cases inside an isolate that an isolate has made.

import { runSuite } from '../../conformance/suite.mjs';

runSuite(2);
