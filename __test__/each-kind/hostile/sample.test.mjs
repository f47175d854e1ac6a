// Every hostile program once, in one way on one kind of host. All ways, on each of them: `soak/hostile`.

import { hostileSample } from '../../hostile/theme.mjs';

await hostileSample();
