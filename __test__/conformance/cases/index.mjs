// All cases, by topic.

import callback from './callback.mjs';
import context from './context.mjs';
import errors from './errors.mjs';
import evaluation from './evaluation.mjs';
import externalCopy from './external-copy.mjs';
import handles from './handles.mjs';
import isolate from './isolate.mjs';
import lib from './lib.mjs';
import limits from './limits.mjs';
import linking from './linking.mjs';
import module from './module.mjs';
import promises from './promises.mjs';
import properties from './properties.mjs';
import reference from './reference.mjs';
import release from './release.mjs';
import script from './script.mjs';
import shape from './shape.mjs';
import transfer from './transfer.mjs';
import values from './values.mjs';

export const groups = [
  ['shape of the module and its classes', shape],
  ['Isolate', isolate],
  ['Context', context],
  ['running code', evaluation],
  ['Script', script],
  ['Module', module],
  ['linking modules', linking],
  ['Reference', reference],
  ['properties of References', properties],
  ['ExternalCopy', externalCopy],
  ['Callback', callback],
  ['transfer options', transfer],
  ['values that are copied', values],
  ['promises', promises],
  ['errors', errors],
  ['release', release],
  ['handles between isolates', handles],
  ['limits', limits],
  ['lib and NativeModule', lib],
];
