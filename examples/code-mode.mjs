// Code mode: a model does not call tools one by one; it writes one program that calls them, and reads the result. Failures are shown
// to it with the position in its own code, so that it can correct them. `node examples/code-mode.mjs`

import { AgentSandbox, describeTools } from 'isolated-v8';

const ORDERS = [
  { id: 1, customer: 'ada', total: 120 },
  { id: 2, customer: 'bob', total: 35 },
  { id: 3, customer: 'ada', total: 60 },
];

const text = { type: 'string', minLength: 1 };
const order = { type: 'object', properties: { id: { type: 'number' }, total: { type: 'number' } }, required: ['id', 'total'] };

/** The functions that programs may call. They run here, in the host, with params that match their schemas. */
const tools = [
  {
    name: 'orders:list',
    description: 'The orders of a customer',
    inputSchema: { type: 'object', properties: { customer: text }, required: ['customer'] },
    outputSchema: { type: 'array', items: order },
    run: async ({ customer }) => ORDERS.filter((each) => each.customer === customer),
  },
  {
    name: 'mail:send',
    description: 'Sends a message, only to customers',
    inputSchema: { type: 'object', properties: { to: text, text }, required: ['to', 'text'], additionalProperties: false },
    outputSchema: { type: 'object', properties: { sent: { type: 'boolean' } }, required: ['sent'] },
    run: async (message) => {
      // A schema does not know everything.
      if (!ORDERS.some(({ customer }) => customer === message.to)) throw new Error(`${message.to} is no customer`);
      console.log(`  (mail to ${message.to}: ${message.text})`);
      return { sent: true };
    },
  },
];

const sandbox = new AgentSandbox({ timeout: 10_000, memoryLimit: 64, maxApiCalls: 20, maxOutputSize: 10_000, typescript: true });
const callTool = (name, params) => tools.find((tool) => tool.name === name).run(params);

/**
 * In the place of a model: put your provider's call here, with these messages. These are two answers that one
 * might give: the first has a variable in the way of the tool that it calls.
 */
const answers = [
  `const orders: { total: number }[] = await orders.list({ customer: 'ada' });
return orders.reduce((sum, { total }) => sum + total, 0);`,
  `const found: { total: number }[] = await orders.list({ customer: 'ada' });
const sum = found.reduce((all, { total }) => all + total, 0);
console.log('sum', sum);
const { sent } = await mail.send({ to: 'ada', text: \`You have spent \${sum}.\` });
return { sum, sent };`,
];
const askModel = async (messages) => answers[messages.filter(({ role }) => role === 'assistant').length];

/** Asks until a program succeeds. */
async function solve(task, most = 3) {
  const system = `Write the body of an async TypeScript function. It can call:\n${describeTools(tools)}`;
  const messages = [{ role: 'system', content: system }, { role: 'user', content: task }];
  for (let attempt = 1; attempt <= most; attempt += 1) {
    const code = await askModel(messages);
    console.log(`attempt ${attempt}`);
    const { result, failure, logs } = await sandbox.execute(code, tools, callTool);
    if (failure === undefined) return { result, logs };
    // The frame has the lines around the place in the model's own code.
    console.log(`  ${failure.name} in line ${failure.line}`);
    messages.push({ role: 'assistant', content: code }, { role: 'user', content: `It failed.\n${failure.stack}\n${failure.frame ?? ''}` });
  }
  throw new Error(`no program succeeded in ${most} attempts`);
}

const { result, logs } = await solve('Tell Ada by mail what she has spent.');
console.log(JSON.stringify(result));
console.log(logs.join('\n'));
sandbox.dispose();
