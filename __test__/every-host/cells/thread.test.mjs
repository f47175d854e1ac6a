// Values cross in every way while guests run on threads of the library: all cells in which small values may cross without a message, and a share of the others.

import { isOfShare, testMatrix } from '../../cells/matrix.mjs';

const SHARES = 112;

testMatrix('thread', (cell, position) => cell.isDirect || isOfShare(position, 'thread', SHARES));
