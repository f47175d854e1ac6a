// The cases on this host.

import { runSuite } from '../../conformance/suite.mjs';

runSuite(0);
