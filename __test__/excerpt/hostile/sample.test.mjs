// Every hostile program once, in one way on one kind of host. All ways: `soak/hostile` on each kind of host, and `soak-engine/hostile` for
// programs whose end V8 alone decides.

import { hostileSample } from '../../hostile/theme.mjs';

await hostileSample();
