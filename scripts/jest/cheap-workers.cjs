/**
 * Makes workers in the process of a test cost less. Where workflows run in the thread of the test (`debugMode`), the SDK keeps
 * the stack of each promise of the process, also of those that no workflow made; a thread watches over each call into the
 * sandbox, with a limit of 49 days; and each worker reads the same 3 MB of code and its source map anew. That was more than
 * half of what tests with workers took. Threads of workflows, in the process or outside, stay as users have them.
 */
const { statSync } = require('node:fs');
const Module = require('node:module');
const { shareModules } = require('./cheap-bundles.cjs');

/** Bundles of a test run: ours, and those of tests that bring their own workflows. */
const MOST_KEPT = 3;

const shareBundles = (Worker) => {
  const kept = new Map();
  const { getOrCreateBundle } = Worker;
  Worker.getOrCreateBundle = function (options, logger) {
    const { code, codePath } = options.workflowBundle ?? {};
    const key = code ?? (codePath && `${codePath} ${statSync(codePath, { throwIfNoEntry: false })?.mtimeMs}`);
    if (key === undefined) return getOrCreateBundle.call(this, options, logger);
    const bundle = kept.get(key) ?? getOrCreateBundle.call(this, options, logger);
    kept.delete(key);
    kept.set(key, bundle);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
    return bundle;
  };
};

const leaveOutWatchdogs = (Worker) => {
  const { createWorkflowCreator } = Worker;
  Worker.createWorkflowCreator = function (bundle, options, logger) {
    const limit = options.debugMode ? { isolateExecutionTimeoutMs: undefined } : {};
    return createWorkflowCreator.call(this, bundle, { ...options, ...limit }, logger);
  };
};

const load = Module._load;
let isWorkerCheap = false;
Module._load = function (request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  if (request === './vm-shared' && loaded.globalHandlers !== undefined)
    loaded.globalHandlers.setPromiseHook = () => {};
  if (/^\.\.?\/worker$/.test(request) && loaded.Worker?.getOrCreateBundle !== undefined && !isWorkerCheap) {
    isWorkerCheap = true;
    shareBundles(loaded.Worker);
    leaveOutWatchdogs(loaded.Worker);
    shareModules();
  }
  return loaded;
};
