'use strict';
// CPU profiles in isolated-vm's format, created from those of V8's inspector: lines and columns are 1-based, script ids are numbers, and
// the times of samples count from the profile's start.

const { freeze, parse } = require('../core/primordials.js');

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
 * @param {any} profile the protocol's `Profiler.Profile`
 */
function profileOf(profile) {
  const { endTime, nodes, samples, startTime, timeDeltas } = profile;
  let time = 0;
  for (let index = 0; index < timeDeltas.length; index += 1) {
    time += timeDeltas[index];
    timeDeltas[index] = time;
  }
  for (let index = 0; index < nodes.length; index += 1) {
    nodes[index] = nodeOf(nodes[index]);
  }
  return { startTime, endTime, samples, timeDeltas, nodes };
}

/**
 * @param {ArrayLike<any>} pairs thread ids, each followed by the inspector's answer
 * @returns {object[]}
 */
function profilesOf(pairs) {
  const profiles = [];
  for (let index = 0; index < pairs.length; index += 2) {
    profiles[index / 2] = { threadId: pairs[index], profile: profileOf(parse(pairs[index + 1]).result.profile) };
  }
  return profiles;
}

module.exports = freeze({ profilesOf });
