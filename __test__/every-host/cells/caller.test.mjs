// Values cross in every way while guests run on the thread of their caller: all cells in which small values may cross without a message, and a share of the others.

import { isOfShare, testMatrix } from '../../cells/matrix.mjs';

const SHARES = 112;

testMatrix('caller', (cell, position) => cell.isDirect || isOfShare(position, 'caller', SHARES));
