// The agents of a test: isolates of their own, each with a thread while it runs. They and the test communicate through the host, which
// passes on handles of shared memory but not the memory itself, because not every host could hold it.

import ivm from '../../../index.mjs';
import { AGENT_OBJECT } from './guest.mjs';

const MEMORY_LIMIT_MB = 64;

export class Agents {
  #limit;
  #reports = [];
  #agents = [];

  constructor(limit) {
    this.#limit = limit;
  }

  start = (source) => {
    const isolate = new ivm.Isolate({ memoryLimit: MEMORY_LIMIT_MB });
    const timeout = this.#limit;
    const running = (async () => {
      const context = await isolate.createContext();
      const report = (text) => void this.#reports.push(text);
      const deliver = await context.evalClosure(AGENT_OBJECT, [ivm, report], { result: { reference: true } });
      await context.eval(source, { timeout });
      return deliver;
    })();
    this.#agents.push({ isolate, running });
    running.catch((error) => this.#reports.push(`the agent failed: ${error.message}`));
  };

  broadcast = (copy, number) => {
    const timeout = this.#limit;
    for (const agent of this.#agents) {
      agent.running = agent.running.then((deliver) => {
        deliver.apply(undefined, [copy.copyInto(), number], { timeout }).catch((error) => {
          this.#reports.push(`the agent failed: ${error.message}`);
        });
        return deliver;
      });
      agent.running.catch(() => {}); // `start` has reported it
    }
  };

  getReport = () => this.#reports.shift() ?? null;

  end() {
    for (const { isolate } of this.#agents) {
      if (!isolate.isDisposed) isolate.dispose();
    }
  }
}
