const { statSync } = require('node:fs');
const Module = require('node:module');
const { sep } = require('node:path');
const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

const { createRequire } = Module;

const PACKAGES = `${sep}node_modules${sep}`;

/** Packages of which each test file has its own: jiti keeps what it compiled, and tests write configurations anew. */
const PER_FILE = [`${PACKAGES}jiti${sep}`];

/** What this process has transformed and compiled, by file: a module runs anew for each test file, but is not compiled anew. */
const transformed = new Map();
const compiled = new Map();

/** The one of the file that runs. */
let current;

const load = Module._load;
/** What a package loads of ours by its path, as the SDK does with a converter, is the file's own and in TypeScript. */
Module._load = function (request, ...rest) {
  const isOurs = current !== undefined && request.startsWith(sep) && !request.includes(PACKAGES);
  return isOurs && /\.tsx?$/.test(request)
    ? current.requireModule(request)
    : load.call(this, request, ...rest);
};

/**
 * Loads packages by Node itself, once for all test files of a process. Our own modules are run for each file as ever. Loading both
 * for each file took more than half of a run. Needs the environment beside it: a package must share the realm of its users.
 */
module.exports = class SharedPackages extends Runtime {
  constructor(...args) {
    super(...args);
    current = this;
    const { executor, transformCache } = this;
    const transform = transformCache.transform.bind(transformCache);
    transformCache.transform = (filename, options) => {
      const { mtimeMs } = statSync(filename);
      const known = transformed.get(filename);
      if (known?.mtimeMs !== mtimeMs) {
        const code = transform(filename, options);
        transformed.set(filename, { mtimeMs, code, sourceMap: transformCache.getSourceMaps().get(filename) });
        return code;
      }
      if (known.sourceMap !== undefined) transformCache.getSourceMaps().set(filename, known.sourceMap);
      return known.code;
    };
    executor.compile = (code, filename) => {
      const known = compiled.get(filename);
      if (known?.code === code) return known.run;
      const run = compileFunction(code, executor.injectedModuleParameters, { filename });
      compiled.set(filename, { code, run });
      return run;
    };
  }

  teardown() {
    // What is loaded between two files, such as the end of the server, is Jest's to load.
    if (current === this) current = undefined;
    return super.teardown();
  }

  requireModuleOrMock(from, name) {
    const path = this.packageFile(from, name);
    return path === undefined ? super.requireModuleOrMock(from, name) : createRequire(from)(path);
  }

  /** What Jest itself loads for a file: its packages are shared as well, `expect` above all. */
  requireInternalModule(from, to) {
    return to === undefined || !isPackage(to)
      ? super.requireInternalModule(from, to)
      : createRequire(from)(to);
  }

  /** The file of a package that all test files of this process share. */
  packageFile(from, name) {
    // Packages load their own files by Node, so whoever asks here by a path asks for ours.
    if (name.startsWith('.')) return undefined;
    if (name === '@jest/globals' || this.mockState.shouldMockCjs(from, name).shouldMock) return undefined;
    if (this._resolution.isCoreModule(name)) return undefined;
    const path = resolved(from, name);
    const isShared = path?.includes(PACKAGES) && !PER_FILE.some((part) => path.includes(part));
    return isShared ? path : undefined;
  }
};

const isPackage = (name) => /^(@[\w-]+\/)?[\w-][\w.-]*(\/|$)/.test(name);

/** Where Node finds a module; `undefined` for what only Jest finds, such as our TypeScript. */
const resolved = (from, name) => {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
};
