const { relative, sep } = require('node:path');
const { transformSync } = require('@swc/core');
const SharedPackages = require('../jest/runtime.cjs');
const { mutants, withMutant } = require('./list.cjs');

/** The files that were changed since the last question. */
const changed = new Set();

/**
 * Runs tests on sources of which one is changed: the mutant that `COUNTERSIGN_MUTANT` names. The file on disk stays as
 * it is, and no cache of Jest ever holds the changed code.
 */
class MutantRuntime extends SharedPackages {
  constructor(config, ...rest) {
    super(config, ...rest);
    const mutant = mutants.find(({ name }) => name === process.env.COUNTERSIGN_MUTANT);
    if (mutant === undefined) return;
    const { transformCache } = this;
    const transform = transformCache.transform.bind(transformCache);
    const [, , options] = config.transform.find(([pattern]) => new RegExp(pattern).test(mutant.file));
    transformCache.transform = (filename, about) => {
      if (relative(config.rootDir, filename).replaceAll(sep, '/') !== mutant.file)
        return transform(filename, about);
      changed.add(mutant.file);
      const source = withMutant(mutant, transformCache.fileCache.readFile(filename));
      return transformSync(source, { ...options, filename, swcrc: false, sourceMaps: 'inline' }).code;
    };
  }
}

/** Whether a test of the last run loaded the changed file. */
const takeChanged = () => {
  const wasChanged = changed.size > 0;
  changed.clear();
  return wasChanged;
};

module.exports = MutantRuntime;
module.exports.takeChanged = takeChanged;
