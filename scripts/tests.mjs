/** `npm test`, `test:unit` and `test:all`: which tests run, with how many processes, and what they may cost. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, posix } from 'node:path';
import { createInterface } from 'node:readline';
import { at } from './root.mjs';
import { runShown } from './run.mjs';
import { conclude, endOnSignal, JEST, runJest } from './test-run.mjs';

const require = createRequire(import.meta.url);
const { PARTS, missingParts, installCommand } = require('./parts.cjs');

const BUDGET_FILE = at('test', 'budget.json');
const isThorough = process.env.COUNTERSIGN_THOROUGH === '1';
const cores = availableParallelism();

/** The parts of the system that tests of a level use. */
const PARTS_OF = {
  unit: [],
  core: ['chromium', 'bubblewrap', 'ssh'],
  deep: Object.keys(PARTS),
  house: ['prometheus'],
};

export const LEVELS = Object.keys(PARTS_OF);

const levelOf = (file) => /\.(core|deep|house|cluster)\.test\.ts$/.exec(file)?.[1] ?? 'unit';

const read = (file) => readFileSync(at(file), 'utf8');

/** Whether it ends or freezes worker processes, itself or by what stands beside it. */
export const isTimed = (file) => {
  const text = read(file);
  const beside = [...text.matchAll(/from '\.\/([\w-]+)'/g)]
    .map(([, name]) => `${dirname(file)}/${name}.ts`)
    // A text of a test may look like an import.
    .filter((name) => existsSync(at(name)));
  return [text, ...beside.map(read)].some((part) => /addProcess\(|spawnWorker\(|fixture\.spawn\(/.test(part));
};

/** All test files of the levels whose path fits one of the patterns. */
export const testFiles = (levels, patterns) =>
  readdirSync(at('test'), { recursive: true })
    .map((name) => posix.join('test', name.replaceAll('\\', '/')))
    .filter((name) => name.endsWith('.test.ts') && levels.includes(levelOf(name)))
    .filter((name) => patterns.length === 0 || patterns.some((pattern) => new RegExp(pattern).test(name)))
    .sort();

/** The stage of files that end workers. */
export const ENDING = 'workers that end';

/**
 * Unit tests wait for nothing. Tests on a server wait for more than half of the time, so more processes than cores fill them; but
 * where a worker is killed, its heartbeat has to be served in seconds. So core tests yield to these beside them, and what looks at
 * the house computes in what others leave.
 */
export const stagesOf = (files) => {
  const of = (...levels) => files.filter((file) => levels.includes(levelOf(file)));
  const timed = new Set(of('core', 'deep').filter(isTimed));
  const [core, deep] = ['core', 'deep'].map((level) => of(level).filter((file) => !timed.has(file)));
  const many = Math.ceil(2.5 * cores);
  const some = Math.ceil(1.5 * cores);
  const areAll = [core, deep, [...timed]].every(({ length }) => length > 0);
  // Those that end workers would alone leave half of the processors idle.
  const isBeside = areAll || (core.length > 0 && deep.length === 0);
  const yields = 5;
  const onServer = areAll
    ? [
        { title: 'on a server', files: deep, workers: many },
        { title: 'core', files: core, workers: some, yields },
      ]
    : [{ title: 'on a server', files: [...core, ...deep], workers: many, yields }];
  return [
    { title: 'unit', files: of('unit'), workers: some },
    ...onServer,
    { title: ENDING, files: [...timed], workers: isBeside ? cores : some, isBeside },
    { title: 'house', files: of('house'), workers: cores, yields: 19, isBeside: true },
  ].filter((stage) => stage.files.length > 0);
};

/** The stages that run at the same time. One that runs alone need not yield. */
const together = (stages) => {
  const groups = [];
  for (const stage of stages) {
    if (stage.isBeside && groups.length > 0) groups.at(-1).push(stage);
    else groups.push([{ ...stage, isBeside: false }]);
  }
  return groups.map((group) => (group.length === 1 ? [{ ...group[0], yields: undefined }] : group));
};

/** Of the tests of the engine, those that `.ci/run` leaves to the cluster. */
const onCluster = () =>
  JSON.parse(read('test/cluster/files.json')).ALONE.map((name) => `test/e2e/${name}.test.ts`);

/** Options of Jest whose value is the next argument. */
const WITH_VALUE = /^(-t|-w|--testNamePattern|--maxWorkers|--testTimeout|--seed)$/;
/** With these it is Jest that chooses. */
const JEST_ALONE =
  /^(--selectProjects|--config|-c|--watch|--watchAll|--listTests|--help|-h|--findRelatedTests)\b/;

const parse = (args) => {
  const options = [];
  const patterns = [];
  for (let n = 0; n < args.length; n++) {
    if (WITH_VALUE.test(args[n])) options.push(args[n], args[++n] ?? '');
    else (args[n].startsWith('-') ? options : patterns).push(args[n]);
  }
  return { options, patterns };
};

/** Leaves out what `npm run check` and `npm run test:cluster` run, for who runs these too. */
const BESIDE_OTHERS = '--beside-others';

/** Runs the tests of these levels, or of any level those that `args` name; resolves with the exit code. */
export const runTests = async (levels, args) => {
  if (args.some((arg) => JEST_ALONE.test(arg))) return runShown(process.execPath, [JEST, ...args]);
  const isBesideOthers = args.includes(BESIDE_OTHERS);
  const { options, patterns } = parse(args.filter((arg) => arg !== BESIDE_OTHERS));
  if (isBesideOthers) levels = levels.filter((level) => level !== 'house');
  const files = testFiles(patterns.length === 0 ? levels : LEVELS, patterns).filter(
    (file) => !isBesideOthers || !onCluster().includes(file),
  );
  if (files.length === 0) throw new Error(`no test file fits ${patterns.join(' ')}`);
  const missing = missingOf(files);
  const titles = missing.map((name) => PARTS[name].title).join(', ');
  if (missing.length > 0)
    process.stdout.write(
      `not here: ${titles}; ${isThorough ? 'every test has to run' : 'tests that need one are left out'}\n`,
    );
  const isCounted = options.some((option) => /^(-w|-i|--maxWorkers|--runInBand)\b/.test(option));
  const runStage = ({ title, files: chosen, workers, yields, isBeside }) => {
    const own = isCounted ? [] : [`--maxWorkers=${workers}`];
    const selected = ['--selectProjects', ...new Set(chosen.map(levelOf)), '--passWithNoTests'];
    const jestArgs = [...selected, ...own, ...options, '--runTestsByPath', ...chosen];
    return runJest({ title, args: jestArgs, files: chosen.length, isBeside, yields });
  };
  const from = Date.now();
  // Only a whole run is compared with the budget.
  const paceOf = [...patterns, ...options].length === 0 && startPace();
  const runs = [];
  const stages = stagesOf(files);
  const waitForServer = stages[0].title === 'unit' && files.some(isOnServer) ? getServer() : undefined;
  const groups = isCounted ? stages.flatMap((stage) => together([stage])) : together(stages);
  for (const group of groups) {
    if (group[0].title !== 'unit') await waitForServer?.();
    runs.push(...(await Promise.all(group.map(runStage))));
  }
  const { notes, over } = paceOf ? compare(runs, levels, paceOf()) : { notes: [], over: [] };
  const failed = isThorough ? missing.length + over.length : 0;
  const clock = `${Math.round((Date.now() - from) / 1000)} s on the clock`;
  return conclude(
    [...runs, { passed: 0, failed, skipped: 0, failures: [] }],
    [...notes, clock, ...leftOut(runs, missing)],
  );
};

const SAY_EVERY_MS = 10_000;

const isOnServer = (file) => ['core', 'deep'].includes(levelOf(file));

/**
 * Gets Temporal's command line beside the unit tests: where it has to be built, that takes minutes. Only who waits for it hears
 * of that. What starts the server asks again, which takes most of a second, and says why there is none.
 */
const getServer = () => {
  const child = spawn(process.execPath, [at('scripts', 'cluster-test.mjs'), '--cli'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const signalled = endOnSignal(child.pid);
  const ended = new Promise((resolve) => child.once('close', resolve)).finally(signalled.forget);
  let said = '';
  createInterface({ input: child.stderr }).on('line', (line) => void (said = line));
  return async () => {
    const timer = setInterval(() => process.stderr.write(`${said}\n`), SAY_EVERY_MS);
    await ended;
    clearInterval(timer);
    if (signalled.name !== undefined) throw new Error(`ended by ${signalled.name}`);
  };
};

const PACE_EVERY_MS = 60_000;

/**
 * Measures now and then what the same work takes: where others use the machine, a processor does up to a half less in a second.
 * What it returns says the median, in microseconds of processor time.
 */
const startPace = () => {
  const rows = Array.from({ length: 100_000 }, (_, n) => [n, `row ${n}`, { n }]);
  const taken = [];
  const measure = () => {
    const { user } = process.cpuUsage();
    JSON.parse(JSON.stringify(rows));
    taken.push(process.cpuUsage().user - user);
  };
  setInterval(measure, PACE_EVERY_MS).unref();
  return () => {
    measure();
    return taken.sort((a, b) => a - b)[taken.length >> 1];
  };
};

const compare = (runs, levels, pace) => {
  const budget = JSON.parse(readFileSync(BUDGET_FILE, 'utf8'));
  const figures = runs.flatMap((run) => run.figures);
  const judged = judge(figures, levels, budget, pace);
  if (process.env.COUNTERSIGN_RECORD_BUDGET === '1')
    record(budget, { figures, levels, pace, times: runs.flatMap((run) => run.times) });
  return judged;
};

const missingOf = (files) => {
  const used = new Set(files.flatMap((file) => PARTS_OF[levelOf(file)] ?? []));
  return missingParts().filter((name) => used.has(name));
};

const leftOut = (runs, missing) => {
  const skipped = runs.reduce((total, run) => total + run.skipped, 0);
  if (missing.length === 0 || (skipped === 0 && !isThorough)) return [];
  const command = installCommand(missing);
  return [
    isThorough
      ? `missing, and COUNTERSIGN_THOROUGH asks for all; to install it: ${command}`
      : `${skipped} tests were left out; this brings what they need: ${command}`,
  ];
};

const cpuOf = (figures) => figures.reduce((total, { own, children }) => total + own + children, 0);

const round = (value) => Math.round(value * 10) / 10;

/** Of a level that took too much, so many files are named. */
const NAMED = 5;

const dearest = (figures) =>
  figures
    .map((one) => ({ path: one.path, spent: cpuOf([one]) }))
    .sort((a, b) => b.spent - a.spent)
    .slice(0, NAMED)
    .map(({ path, spent }) => `  ${path}: ${round(spent)} s`);

/**
 * What levels cost beside what a budget allows, which is more on a machine of another pace: words, and the levels that took a
 * tenth too much, with the files that took the most. Processor time counts; a clock says little.
 */
export const judge = (figures, levels, budget, pace) => {
  // Where it took longer, others hardly let us measure.
  const slower = Math.min(3, Math.max(1, pace / budget.pace));
  const over = [];
  const notes = levels.flatMap((level) => {
    const own = figures.filter((one) => one.level === level);
    const spent = cpuOf(own);
    const cpu = Math.round(budget.levels[level] * slower);
    const isOver = spent > cpu * (1 + budget.tolerance);
    if (isOver) over.push(level);
    const words = `${level}: ${Math.round(spent)} s of processor time, ${isOver ? 'more than' : 'of'} ${cpu} s`;
    return isOver ? [words, ...dearest(own)] : [words];
  });
  if (slower > 1)
    notes.push(`allowed is ${round(slower)} times the budget: so much longer the same work took`);
  return { notes, over };
};

/** A file that takes less of the clock needs no place in the order. */
const SHORT_S = 10;

/** Writes what this run took as what is allowed, and how long files took, for their order. */
const record = (budget, { figures, levels, pace, times }) => {
  const known = Object.entries(budget.seconds).filter(([path]) => !levels.includes(levelOf(path)));
  const long = times.map(({ path, ms }) => [path, Math.round(ms / 1000)]).filter(([, s]) => s >= SHORT_S);
  for (const level of levels)
    budget.levels[level] = Math.ceil(cpuOf(figures.filter((one) => one.level === level)));
  budget.pace = pace;
  budget.seconds = Object.fromEntries([...known, ...long].sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(BUDGET_FILE, `${JSON.stringify(budget, null, 2)}\n`);
};
