/**
 * Makes workers in the process of a test cost less. Where workflows run in the thread of the test (`debugMode`), the SDK keeps
 * the stack of each promise of the process, also of those that no workflow made; a thread watches over each call into the
 * sandbox, with a limit of 49 days; each worker reads the same 3 MB of code and its source map anew, and runs all of it before
 * its first workflow. That was more than half of what tests with workers took. Threads of workflows, in the process or outside, stay as users have them.
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

/**
 * Lets workers of one bundle share what runs its workflows: it is made by running all modules of the bundle, and keeps each
 * workflow apart from the others whoever it works for. Each worker's activities stay its own. It ends with the last of its workers.
 */
const shareCreators = (Worker) => {
  const { createWorkflowCreator } = Worker;
  const open = new Map();
  Worker.createWorkflowCreator = async function (bundle, options, logger) {
    const create = () => createWorkflowCreator.call(this, bundle, options, logger);
    if (!options.debugMode || !options.reuseV8Context || options.patchActivationCallback !== undefined)
      return create();
    const shared = open.get(bundle) ?? { made: create(), users: 0 };
    open.set(bundle, shared);
    shared.users += 1;
    const leave = async () => {
      shared.users -= 1;
      if (shared.users > 0) return;
      open.delete(bundle);
      await (await shared.made).destroy();
    };
    try {
      return Object.create(await shared.made, {
        registeredActivityNames: { value: new Set(options.activities.keys()) },
        destroy: { value: leave },
      });
    } catch (error) {
      open.delete(bundle);
      throw error;
    }
  };
};

const makeHandlersCheap = (handlers) => {
  const { addWorkflowBundle } = handlers;
  handlers.setPromiseHook = () => {};
  // Bundles of tests have no map: their stacks name the lines of the bundle.
  handlers.addWorkflowBundle = async function (bundle) {
    if (bundle.sourceMap.sources.length > 0) await addWorkflowBundle.call(this, bundle);
  };
};

const load = Module._load;
let areHandlersCheap = false;
let isWorkerCheap = false;
Module._load = function (request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  if (request === './vm-shared' && loaded.globalHandlers !== undefined && !areHandlersCheap) {
    areHandlersCheap = true;
    makeHandlersCheap(loaded.globalHandlers);
  }
  if (/^\.\.?\/worker$/.test(request) && loaded.Worker?.getOrCreateBundle !== undefined && !isWorkerCheap) {
    isWorkerCheap = true;
    shareBundles(loaded.Worker);
    leaveOutWatchdogs(loaded.Worker);
    shareCreators(loaded.Worker);
    shareModules();
  }
  return loaded;
};
