const { appendFileSync, readFileSync } = require('node:fs');
const { relative } = require('node:path');
const { LegacyFakeTimers, ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');
const { forgetModules } = require('./cheap-bundles.cjs');
require('./cheap-expect.cjs');
const disableStores = require('./cheap-stores.cjs');
require('./cheap-workers.cjs');
const expectNothingStarted = require('./starts-nothing.cjs');

const FAKE_TIMER_IDS = { idToRef: (id) => ({ id, ref() {}, unref() {} }), refToId: (timer) => timer?.id };

/** What a file may leave behind: its own properties, by name and by symbol. */
const propertiesOf = (target) =>
  new Map(Reflect.ownKeys(target).map((key) => [key, Object.getOwnPropertyDescriptor(target, key)]));

const restore = (target, before) => {
  for (const key of Reflect.ownKeys(target)) if (!before.has(key)) Reflect.deleteProperty(target, key);
  for (const [key, descriptor] of before) {
    const now = Object.getOwnPropertyDescriptor(target, key);
    const isSame = now !== undefined && now.value === descriptor.value && now.get === descriptor.get;
    if (!isSame) Reflect.defineProperty(target, key, descriptor);
  }
};

/** Processor time in seconds: of this process, and of the children that it has waited for, with theirs. */
const processorTime = () => {
  const { user, system } = process.cpuUsage();
  return { own: (user + system) / 1e6, children: childrenTime() };
};

const TICKS_A_SECOND = 100;

/** Only Linux says it; the name of the program, which comes before, may hold anything. */
const childrenTime = () => {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_A_SECOND;
};

const skipAll = (block) => {
  for (const child of block.children)
    if (child.type === 'describeBlock') skipAll(child);
    else child.mode = 'skip';
};

/**
 * Runs a test file in the realm of its process, so that packages loaded once serve all files of the process (runtime.cjs).
 * What a file changes in globals, `process` and the environment is taken back when it ends.
 */
module.exports = class SharedRealm {
  constructor({ projectConfig }, { testPath }) {
    this.global = globalThis;
    this.level = projectConfig.displayName?.name;
    this.path = relative(projectConfig.rootDir, testPath);
    this.from = processorTime();
    this.before = {
      globals: propertiesOf(globalThis),
      process: propertiesOf(process),
      variables: { ...process.env },
      folder: process.cwd(),
      exitListeners: process.listeners('exit'),
    };
    globalThis.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = new LegacyFakeTimers({
      config: projectConfig,
      global: globalThis,
      moduleMocker: this.moduleMocker,
      timerConfig: FAKE_TIMER_IDS,
    });
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {
    expectNothingStarted(this.level === 'unit');
  }

  /** A file that needs a missing part of the system is left out, test by test, so that each is counted; see support/parts.ts. */
  handleTestEvent({ name }, { rootDescribeBlock }) {
    if (name === 'run_start' && globalThis.countersignLeavesOut === true) skipAll(rootDescribeBlock);
  }

  async teardown() {
    this.fakeTimers.dispose();
    this.fakeTimersModern.dispose();
    this.exit();
    expectNothingStarted(false);
    restore(globalThis, this.before.globals);
    restore(process, this.before.process);
    restore(process.env, propertiesOf(this.before.variables));
    process.chdir(this.before.folder);
    disableStores();
    forgetModules();
    this.writeFigures();
    this.global = null;
  }

  writeFigures() {
    const file = process.env.COUNTERSIGN_TEST_FIGURES;
    if (file === undefined) return;
    const { own, children } = processorTime();
    const spent = { own: own - this.from.own, children: children - this.from.children };
    appendFileSync(file, `${JSON.stringify({ path: this.path, level: this.level, ...spent })}\n`);
  }

  /** Runs what the file left for the end of its process, such as removing folders: Jest may kill this process instead. */
  exit() {
    for (const listener of process.listeners('exit')) {
      if (this.before.exitListeners.includes(listener)) continue;
      process.removeListener('exit', listener);
      listener.call(process, 0);
    }
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return this.global;
  }
};
