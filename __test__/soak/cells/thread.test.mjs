// Values cross in every way while guests run on threads of the library. The hosts of this place divide the cells among them.

import { isOfShare, testMatrix } from '../../cells/matrix.mjs';

const HOSTS = ['node24', 'bun', 'deno'];

testMatrix('thread', (_cell, position) => isOfShare(position, 'thread', HOSTS.length, HOSTS));
