// See __test__/hostile/theme.mjs.

import { hostile } from '../../hostile/theme.mjs';

await hostile('sources');
