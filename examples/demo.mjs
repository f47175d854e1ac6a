// A sandbox with correct code, with slow host functions and with malicious code. `npm run demo` builds and runs this.

import { AgentSandbox, createSandbox } from '../index.mjs';

const later = (ms, value) => new Promise((resolve) => setTimeout(resolve, ms, value));

/** Whether this process still does its own work while guests run. */
let ticks = 0;
const pulse = setInterval(() => (ticks += 1), 10);

function show(title, code, outcome, ms) {
  const { result, error, logs } = outcome;
  console.log(`\n${title}`);
  for (const line of code.trim().split('\n')) console.log(`  | ${line}`);
  for (const line of logs) console.log(`  console  ${line}`);
  console.log(error === undefined ? `  result   ${JSON.stringify(result)}` : `  error    ${error}`);
  console.log(`  after    ${ms} ms`);
}

async function run(title, sandbox, code) {
  const outcome = await sandbox.execute(code);
  show(title, code, outcome, outcome.durationMs);
}

// 1. Host functions look synchronous to the guest, also those that return a promise.
const stock = { apples: 3, pears: 0 };
const shop = createSandbox({
  fruit: Object.keys(stock),
  api: { request: (name) => later(50, { name, left: stock[name] }) },
});
await run('Code with console output and an asynchronous host function, called without await', shop, `
const found = fruit.map((name) => api.request(name));
console.log('asked for', found.length, found);
return found.filter(({ left }) => left > 0);
`);

// 2. An agent's code calls tools, several at the same time.
const tools = [
  { name: 'weather:today', description: 'The weather in a city' },
  { name: 'mail:send', description: 'Sends a message' },
];
async function callTool(name, params) {
  if (name === 'mail:send') throw new Error(`mail to ${params.to} is not allowed`);
  return later(100, { city: params.city, degrees: params.city.length * 3 });
}
const agent = new AgentSandbox({ timeout: 2000 });
const agentCode = `
const [oslo, lisbon] = await Promise.all([
  weather.today({ city: 'Oslo' }), weather.today({ city: 'Lisbon' }),
]);
await mail.send({ to: 'all@example.org' }).catch((error) => console.warn(error.message));
return { warmer: lisbon.degrees > oslo.degrees ? lisbon.city : oslo.city };
`;
const answer = await agent.execute(agentCode, tools, callTool);
show('An agent with tools: two calls at once, one refused', agentCode, answer, answer.durationMs);

// 3. A loop that V8 by default compiles to code which nothing stops.
const before = ticks;
await run('An endless loop, in a form that defeats a timeout of isolated-vm', createSandbox({}, { timeout: 250 }), `
for (;;) { new Array(1000).fill(1.5) }
`);
console.log(`  host     its timer fired ${ticks > before ? 'all along' : 'NOT ONCE'}`);

// 4. Memory has a limit. A guest that exceeds it ends, and no other does.
await run('Unbounded memory, with 16 MB', createSandbox({}, { memoryLimit: 16 }), `
const kept = [];
for (;;) kept.push(new Array(1000).fill(1.5));
`);

// 5. The guest has nothing of the host.
await run('A look around', createSandbox({}), `
[typeof require, typeof process, typeof fetch, typeof globalThis, new Function('return typeof process')()]
`);

clearInterval(pulse);
console.log('\nThe host is alive and well.');
