'use strict';
// Network addresses, and which of them are public.

const net = require('node:net');

/**
 * IPv4 networks that are not public: this machine, private, link-local, test, multicast and reserved networks, and the address at which Azure has
 * services for its own machines.
 */
const CLOSED_4 = Object.freeze([
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24',
  '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
]);
/** All public IPv6 addresses are in one network. */
const OPEN_6 = '2000::/3';
/** Networks in it that lead to IPv4 addresses, and reserved ones. */
const CLOSED_6 = Object.freeze(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

const HEXADECIMAL = 16;

/**
 * @param {string} address of IPv4
 * @returns {number} its 32 bits
 */
const bitsOf4 = (address) => address.split('.').reduce((bits, part) => bits * 256 + Number(part), 0);

/**
 * @param {string} address of IPv6
 * @returns {number} its first 32 bits: no network here has a longer prefix
 */
function bitsOf6(address) {
  const [first, second] = address.split(':').map((part) => (part === '' ? 0 : Number.parseInt(part, HEXADECIMAL)));
  return first * 65_536 + second;
}

/**
 * A function that tells whether an address is in a network. `net.BlockList` answers no if it fails.
 * @param {string} network
 * @param {(address: string) => number} bitsOf
 */
function containing(network, bitsOf) {
  const [start, length] = network.split('/');
  const size = 2 ** (32 - Number(length));
  const prefix = Math.floor(bitsOf(start) / size);
  return (/** @type {number} */ bits) => Math.floor(bits / size) === prefix;
}

const closed4 = CLOSED_4.map((network) => containing(network, bitsOf4));
const closed6 = CLOSED_6.map((network) => containing(network, bitsOf6));
const isOpen6 = containing(OPEN_6, bitsOf6);

/**
 * @param {string} address
 * @returns {boolean} also false if it is not an address
 */
function isPublic(address) {
  const family = net.isIP(address);
  if (family === 4) {
    const bits = bitsOf4(address);
    return !closed4.some((contains) => contains(bits));
  }
  if (family !== 6 || address.includes('%')) {
    return false;
  }
  const bits = bitsOf6(address);
  return isOpen6(bits) && !closed6.some((contains) => contains(bits));
}

module.exports = { isPublic };
