// Values cross in every way while guests run on the thread of their caller. The hosts of this place divide the cells among them.

import { isOfShare, testMatrix } from '../../cells/matrix.mjs';

const HOSTS = ['node24', 'bun', 'deno'];

testMatrix('caller', (_cell, position) => isOfShare(position, 'caller', HOSTS.length, HOSTS));
