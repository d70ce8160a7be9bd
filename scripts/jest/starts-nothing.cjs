const childProcess = require('node:child_process');
const Module = require('node:module');

/** Whether the file that runs is a unit test: one process runs files of every level. */
let isUnit = false;

const refuse = (what, level) => {
  if (isUnit) throw new Error(`a unit test ${what}: name its file x.${level}.test.ts`);
};

/** Asks before each call of a function. */
const guard = (target, name, ask) => {
  const original = target[name];
  target[name] = function (...args) {
    ask(...args);
    return original.apply(this, args);
  };
};

const refuseProgram = (program) =>
  refuse(`starts ${typeof program === 'object' ? program.file : program}`, 'deep');

guard(childProcess.ChildProcess.prototype, 'spawn', refuseProgram);
for (const name of ['execFileSync', 'execSync', 'spawnSync']) guard(childProcess, name, refuseProgram);

const load = Module._load;
let isBridgeGuarded = false;
Module._load = function (request, ...rest) {
  if (request === 'typescript' || request.includes('/node_modules/typescript/'))
    refuse('loads the compiler', 'house');
  const loaded = load.call(this, request, ...rest);
  // Temporal's test parts load it too. It is its runtime that starts threads and holds a worker.
  if (request === '@temporalio/core-bridge' && !isBridgeGuarded) {
    isBridgeGuarded = true;
    guard(loaded.native, 'newRuntime', () => refuse("starts the SDK's runtime", 'core'));
  }
  return loaded;
};

/** From now on, files are unit tests or not: those may start no program, no compiler and no worker. */
module.exports = function expectNothingStarted(value) {
  isUnit = value;
};
