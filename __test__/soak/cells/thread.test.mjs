// Values cross in every way while guests run on threads of the library. The hosts of this place divide the cells among them, and so do the
// ways of sync calls.

import { isOfShare, testMatrix } from '../../cells/matrix.mjs';

const HOSTS = ['node24', 'bun', 'deno'];
const SHARES = 6;

testMatrix('thread', (_cell, position) => isOfShare(position, 'thread', SHARES, HOSTS));
