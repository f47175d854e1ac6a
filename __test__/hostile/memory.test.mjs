// See theme.mjs.

import { hostile } from './theme.mjs';

await hostile('memory');
