// The adapters return the types that the packages expect.

import type { Executor } from '@cloudflare/codemode';
import type { IsolateDriver } from '@tanstack/ai-code-mode';
import { createExecutor } from '../../codemode.js';
import { createIsolateDriver } from '../../tanstack-ai.js';

export const executor: Executor = createExecutor({ timeout: 1_000 });
export const driver: IsolateDriver = createIsolateDriver({ web: true });

// @ts-expect-error The context says how long.
createIsolateDriver({ timeout: 1_000 });
