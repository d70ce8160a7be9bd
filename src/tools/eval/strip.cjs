'use strict';

/**
 * Takes the types out of code, as a child of the worker. The parser is native, so code that is nested too deeply
 * ends its process, which therefore must not be a worker's.
 */
const { transform } = require('@swc/core');

const OPTIONS = {
  filename: 'code.ts',
  configFile: false,
  swcrc: false,
  isModule: true,
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    target: 'es2022',
    // Keeps imports that only a later call uses.
    transform: { verbatimModuleSyntax: true },
  },
};

process.once('message', (code) => {
  transform(code, OPTIONS).then(
    (result) => process.send({ stripped: result.code }),
    (error) => process.send({ refused: error.message }),
  );
});
process.once('disconnect', () => process.exit());
