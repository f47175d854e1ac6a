// The memory of a process of `SubprocessSandbox` that waits for an execution. Prints JSON: bytes. Linux only.

import { warmProcessMemory } from './child-memory.mjs';

console.log(JSON.stringify(await warmProcessMemory()));
process.exit(0);
