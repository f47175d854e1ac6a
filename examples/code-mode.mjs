// Code mode: a model does not call tools one by one; it writes one program that calls them, and reads the result. Failures are shown
// to it with the position in its own code, so that it can correct them. `node examples/code-mode.mjs`

import { AgentSandbox } from 'isolated-v8';

const ORDERS = [
  { id: 1, customer: 'ada', total: 120 },
  { id: 2, customer: 'bob', total: 35 },
  { id: 3, customer: 'ada', total: 60 },
];

/** The functions that programs may call, with descriptions for the model. They run here, in the host. */
const catalogue = {
  'orders:list': { description: 'orders.list({ customer }): Promise<{ id: number, total: number }[]>', run: async ({ customer }) => ORDERS.filter((order) => order.customer === customer) },
  'mail:send': {
    description: 'mail.send({ to, text }): Promise<{ sent: boolean }>. Only to customers',
    run: async ({ to, text }) => {
      // A program can pass any arguments, so a tool checks them.
      if (!ORDERS.some(({ customer }) => customer === to)) throw new Error(`${to} is no customer`);
      console.log(`  (mail to ${to}: ${text})`);
      return { sent: true };
    },
  },
};

const sandbox = new AgentSandbox({ timeout: 10_000, memoryLimit: 64, maxApiCalls: 20, maxOutputSize: 10_000, typescript: true });
const tools = Object.entries(catalogue).map(([name, { description }]) => ({ name, description }));
const callTool = (name, params) => catalogue[name].run(params);

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
  const system = `Write the body of an async TypeScript function. It can call:\n${tools.map(({ description }) => description).join('\n')}`;
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
