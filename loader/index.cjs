'use strict';
// The CommonJS entry under a name that says what it is: outside of a package's scope Deno would take `index.js` for an ES module. Bundlers
// follow `import` and `require`, and no others.

module.exports = require('../index.js');
