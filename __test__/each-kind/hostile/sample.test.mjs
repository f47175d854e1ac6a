// Every hostile program once, in one way on one kind of host. `soak/hostile` runs each in all ways on every kind.

import { hostileSample } from '../../hostile/theme.mjs';

await hostileSample();
