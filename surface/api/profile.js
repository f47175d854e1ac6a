'use strict';
// CPU profiles in isolated-vm's format, created from those of V8's inspector: lines and columns are 1-based, script ids are numbers, and
// the times of samples count from the profile's start.

const { freeze, inner, parse, stringIndexOf, stringLastIndexOf, stringSlice } = require('../core/primordials.js');

/** Characters that are parsed in one piece. */
const PIECE = 65_536;
/** The text of a profile before its first node, before each other node, and after its last node. */
const NODES = '"nodes":[';
const NODE = ',{"id":';
const END_OF_NODES = '],"startTime":';

/**
 * @param {any} node
 */
function nodeOf(node) {
  const { callFrame } = node;
  const result = {
    hitCount: node.hitCount ?? 0,
    id: node.id,
    bailoutReason: node.deoptReason,
    children: node.children ?? [],
    callFrame: {
      functionName: callFrame.functionName,
      url: callFrame.url,
      scriptId: +callFrame.scriptId,
      lineNumber: callFrame.lineNumber + 1,
      columnNumber: callFrame.columnNumber + 1,
    },
  };
  if (result.bailoutReason === undefined) {
    delete result.bailoutReason;
  }
  return result;
}

/**
 * The nodes, of which a guest may cause millions.
 * @param {string} text of an array's elements
 * @param {import('../index.js').Slices} work
 */
async function nodesOf(text, work) {
  const nodes = [];
  for (let start = 0; start < text.length;) {
    // In a string, the quotes would be escaped.
    const next = stringIndexOf(text, NODE, start + PIECE);
    const end = next === -1 ? text.length : next;
    const piece = parse(`[${stringSlice(text, start, end)}]`);
    for (let index = 0; index < piece.length; index += 1) {
      nodes[nodes.length] = nodeOf(piece[index]);
    }
    start = end + 1;
    work.check();
    if (work.isSliceOver) {
      await inner(work.turn());
    }
  }
  return nodes;
}

/**
 * @param {string} answer the inspector's, with the protocol's `Profiler.Profile`
 * @param {import('../index.js').Slices} work
 */
async function profileOf(answer, work) {
  const first = stringIndexOf(answer, NODES) + NODES.length;
  const last = stringLastIndexOf(answer, END_OF_NODES);
  const { result: { profile: { endTime, samples, startTime, timeDeltas } } } = parse(stringSlice(answer, 0, first) + stringSlice(answer, last));
  let time = 0;
  for (let index = 0; index < timeDeltas.length; index += 1) {
    time += timeDeltas[index];
    timeDeltas[index] = time;
  }
  return { startTime, endTime, samples, timeDeltas, nodes: await inner(nodesOf(stringSlice(answer, first, last), work)) };
}

/**
 * @param {ArrayLike<any>} pairs thread ids, each followed by the inspector's answer
 * @param {import('../index.js').Binding} binding of a host
 * @returns {Promise<object[]>}
 */
async function profilesOf(pairs, { startWork }) {
  const work = /** @type {import('../index.js').Slices} */ (startWork());
  const profiles = [];
  for (let index = 0; index < pairs.length; index += 2) {
    profiles[index / 2] = { threadId: pairs[index], profile: await inner(profileOf(pairs[index + 1], work)) };
  }
  return profiles;
}

module.exports = freeze({ profilesOf });
