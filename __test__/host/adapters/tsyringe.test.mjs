// The plugins' sandbox in containers of tsyringe itself.

import { test } from 'node:test';
import assert from 'node:assert/strict';
// oxlint-disable-next-line import/no-unassigned-import -- tsyringe needs it
import 'reflect-metadata';
import { container, inject, injectable, instanceCachingFactory, singleton } from 'tsyringe';
import { IsolatedVmSandbox, PluginSandbox } from 'isolated-v8';
import { rememberingLogger } from '../../sandbox/plugin-helper.mjs';

/** A logger whose child is asked for. */
function logging() {
  const child = rememberingLogger();
  return { logger: { ...rememberingLogger(), child: () => child }, child };
}

async function works(sandbox, child) {
  assert.ok(sandbox instanceof PluginSandbox);
  const isolate = await sandbox.createIsolate({ id: 'p' });
  assert.equal(await sandbox.executeInSandbox(isolate, '1 + 1', {}), 2);
  sandbox.dispose(isolate);
  if (child !== undefined) assert.deepEqual(child.of('info').map(([, message]) => message), ['Creating isolate', 'Isolate disposed']);
}

test('a factory', async () => {
  const { logger, child } = logging();
  const own = container.createChildContainer();
  own.register('ILogger', { useValue: logger });
  own.register('IPluginSandbox', { useFactory: instanceCachingFactory((c) => new PluginSandbox(c.resolve('ILogger'))) });
  const sandbox = own.resolve('IPluginSandbox');
  assert.equal(own.resolve('IPluginSandbox'), sandbox);
  await works(sandbox, child);
});

test('a class of the program that extends it', async () => {
  const { logger, child } = logging();
  class Plugins extends PluginSandbox {
    constructor(given) {
      super(given, { timers: true });
    }
  }
  inject('ILogger')(Plugins, undefined, 0);
  injectable()(Plugins);
  const own = container.createChildContainer();
  own.register('ILogger', { useValue: logger });
  await works(own.resolve(Plugins), child);
});

// In this order: decorators apply for the rest of the process.
test('the class itself, undecorated: without a logger', async () => {
  const sandbox = container.createChildContainer().resolve(IsolatedVmSandbox);
  await works(sandbox);
});

test('the class itself, decorated as its document has it', async () => {
  const { logger, child } = logging();
  inject('ILogger')(IsolatedVmSandbox, undefined, 0);
  singleton()(IsolatedVmSandbox);
  container.register('ILogger', { useValue: logger });
  const sandbox = container.resolve(IsolatedVmSandbox);
  assert.equal(container.resolve(PluginSandbox), sandbox);
  await works(sandbox, child);
});
