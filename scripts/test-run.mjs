/** Runs Jest and follows it: what tests print goes to a file, and what happens becomes counts, progress and the words of failures. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { endSession } from './processes.mjs';
import { at, root } from './root.mjs';

const POLL_MS = 200;
const PLAIN_EVERY_MS = 30_000;

/** Jest hands it on to its processes. Most of what a test makes lives shortly: with the usual 16 MB it is copied more often. */
const YOUNG_SPACE = '--max-semi-space-size=64';

/**
 * A Temporal server that tests start works hard, and looked for garbage a seventh of its time. It looks less often, and takes more
 * memory: with 400, 2 GB at the end of `npm test`.
 */
const GOGC = totalmem() > 12 * 2 ** 30 ? '400' : '200';

export const JEST = at('node_modules', 'jest', 'bin', 'jest.js');

const seconds = (ms) => `${Math.round(ms / 1000)} s`;

const countText = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;

/** A line that rewrites itself on a terminal; elsewhere a line now and then. What runs beside others says only how it ended. */
const makeProgress = (stream, { title, files, isBeside }) => {
  const from = Date.now();
  let plainAt = from;
  const text = ({ done, ...counts }) =>
    `${title}: ${done}${files === undefined ? '' : ` of ${files}`} files, ${countText(counts)}, ${seconds(Date.now() - from)}`;
  const clear = () => stream.isTTY && stream.write('\r\x1b[K');
  return {
    tick(state) {
      if (isBeside) return;
      if (stream.isTTY) stream.write(`\r\x1b[K${text(state).slice(0, (stream.columns ?? 80) - 1)}`);
      else if (Date.now() - plainAt > PLAIN_EVERY_MS) {
        plainAt = Date.now();
        stream.write(`${text(state)}\n`);
      }
    },
    line(words) {
      clear();
      stream.write(`${words}\n`);
    },
    end(state) {
      clear();
      stream.write(`${text(state)}\n`);
    },
  };
};

const lines = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '').split('\n').slice(0, -1);

const sum = (events, key) => events.reduce((total, event) => total + event[key], 0);

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Until `forget` is called, a signal ends the session: a Jest that is asked to end leaves what tests have started. */
export const endOnSignal = (leader) => {
  const listening = { name: undefined, forget: () => SIGNALS.forEach((name) => process.off(name, end)) };
  const end = (name) => {
    listening.name ??= name;
    void endSession(leader);
  };
  for (const name of SIGNALS) process.on(name, end);
  return listening;
};

/**
 * Lowers the priority of a session. Linux may give each session the same share of the processors, whatever the priority
 * of its processes is, until the session itself has a priority, too.
 */
const yieldToOthers = (leader, nice) => {
  try {
    setPriority(leader, nice);
    if (existsSync(`/proc/${leader}/autogroup`)) writeFileSync(`/proc/${leader}/autogroup`, String(nice));
  } catch {
    // It has ended, or nobody may say so here.
  }
};

/**
 * Runs Jest with `args` on so many files. `command` starts another Node than this one; it yields to others by as much as is said,
 * or as this process does. Resolves with the counts, the words of each failure, and the figures and times of each file. Rejects
 * where a signal ended it.
 */
export const runJest = async (options) => {
  const {
    title,
    args,
    command = [process.execPath],
    env = process.env,
    isBeside = false,
    yields = 0,
  } = options;
  const folder = mkdtempSync(join(tmpdir(), 'countersign-tests-'));
  const [events, figures, log] = ['events', 'figures', 'log'].map((name) => join(folder, name));
  const output = openSync(log, 'w');
  const reporters = `--reporters=${at('scripts', 'jest', 'reporter.cjs')}`;
  const [program, ...before] = command;
  // A session of its own: only so is everything found that was started in it.
  const child = spawn(program, [...before, YOUNG_SPACE, JEST, reporters, ...args], {
    cwd: root,
    detached: true,
    env: { GOGC, ...env, COUNTERSIGN_TEST_EVENTS: events, COUNTERSIGN_TEST_FIGURES: figures },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const nice = Math.max(yields, getPriority());
  if (child.pid !== undefined && nice > 0) yieldToOthers(child.pid, nice);
  const signalled = endOnSignal(child.pid);
  const progress = makeProgress(process.stdout, { ...options, isBeside });
  let seen = [];
  const state = () => {
    const ended = seen.filter(({ kind }) => kind === 'file');
    return { done: ended.length, ...countsOf(ended) };
  };
  const follow = () => {
    const all = lines(events).map((line) => JSON.parse(line));
    for (const { kind, path, failed, passed } of all.slice(seen.length))
      if (kind === 'file' && failed > 0) progress.line(`failed: ${path} (${failed} of ${failed + passed})`);
    seen = all;
    progress.tick(state());
  };
  const timer = setInterval(follow, POLL_MS);
  const code = await new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('close', (status) => resolve(status ?? 1));
  });
  clearInterval(timer);
  follow();
  await endSession(child.pid);
  signalled.forget();
  if (signalled.name !== undefined) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`ended by ${signalled.name}`);
  }
  const counts = state();
  const failures = seen.flatMap(({ kind, message }) =>
    kind !== 'end' && message ? [message.trimEnd()] : [],
  );
  const isWhole = seen.some(({ kind }) => kind === 'end') && (code === 0 || counts.failed > 0);
  if (!isWhole) {
    counts.failed += 1;
    failures.push(`${title}: Jest ended with code ${code}\n${lines(log).slice(-40).join('\n')}`);
  }
  progress.end(counts);
  const measured = lines(figures).map((line) => JSON.parse(line));
  const times = seen.flatMap(({ kind, path, ms }) => (kind === 'file' ? [{ path, ms }] : []));
  if (counts.failed > 0) failures.push(`What these tests printed is in ${log}`);
  else rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  return { ...counts, failures, figures: measured, times };
};

const countsOf = (events) => ({
  passed: sum(events, 'passed'),
  failed: sum(events, 'failed'),
  skipped: sum(events, 'skipped'),
});

/** Prints the words of failures, then one line of counts; resolves with the exit code. */
export const conclude = (runs, notes = []) => {
  const total = countsOf(runs);
  for (const words of runs.flatMap(({ failures }) => failures)) process.stdout.write(`\n${words}\n`);
  for (const note of notes) process.stdout.write(`${note}\n`);
  process.stdout.write(`${countText(total)}\n`);
  return total.failed === 0 ? 0 : 1;
};
