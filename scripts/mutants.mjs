/**
 * `npm run test:mutants`: breaks the lines that carry our promises, one at a time, and runs the unit tests of the topic
 * on each. A mutant with which all tests pass has survived: nothing would notice if somebody broke that line. Arguments
 * choose mutants by a part of their name in `scripts/mutants/list.cjs`. No file on disk is changed.
 */
import { fork } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { argv, exit, stdout } from 'node:process';
import list from './mutants/list.cjs';
import { at, root } from './root.mjs';

const print = (text) => void stdout.write(`${text}\n`);

/** The text of a file. Undefined: it is not there. */
const read = (file) => (existsSync(at(file)) ? readFileSync(at(file), 'utf8') : undefined);

/** A process that runs one thing after the other. */
const startWorker = () => {
  const child = fork(at('scripts', 'mutants', 'worker.cjs'), {
    cwd: root,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  let answer;
  child.on('message', (result) => answer?.(result));
  const ended = new Promise((resolve) => child.on('exit', resolve));
  void ended.then(() => answer?.({ error: 'the process that ran its tests ended' }));
  const run = (asked) =>
    new Promise((resolve) => {
      answer = resolve;
      if (child.connected) child.send(asked);
      else resolve({ error: 'the process that ran the tests before has ended' });
    });
  const stop = () => {
    child.kill();
    return ended;
  };
  return { run, stop };
};

/** Does all jobs, one at a time on each worker. */
const doAll = async (workers, jobs, done) => {
  const left = [...jobs];
  const work = async (worker) => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) done(job, await worker.run(job));
  };
  await Promise.all(workers.map(work));
};

/** Why the tests of a file cannot tell anything. Undefined: they pass without a mutant. */
const faultOf = ({ error, count, files, failed }, [file]) => {
  if (error !== undefined) return error;
  const unloaded = files.find((one) => one.unloaded !== undefined)?.unloaded;
  if (unloaded !== undefined) return unloaded;
  if (failed.length > 0) return `fails without a mutant: ${failed[0]}`;
  return count === 0 || files.length === 0 ? `${file} has no test of the unit project` : undefined;
};

/** Why a mutant counts as a failure. Undefined: a test has failed, as it should. */
const whyAlive = ({ error, files, failed, isLoaded }) => {
  if (error !== undefined) return error;
  if (failed.length > 0) return undefined;
  const unloaded = files.find((one) => one.unloaded !== undefined)?.unloaded;
  if (unloaded !== undefined) return `its tests do not load: ${unloaded}`;
  return isLoaded ? 'it survived: every test passes' : 'its tests do not load its file';
};

const describe = ({ name, promise, file, find, put }, why) =>
  [`✕ ${name}: ${promise}`, `  ${why}`, `  ${file}`, `  - ${find}`, `  + ${put}`].join('\n');

const finish = (passed, failed) => {
  print(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
};

const main = async (words) => {
  const chosen = list.mutants.filter(
    ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
  );
  if (chosen.length === 0) {
    print(`no mutant has ${words} in its name`);
    return 1;
  }
  const stale = chosen.flatMap((mutant) => {
    const why = list.whyStale(mutant, read);
    return why === undefined ? [] : [describe(mutant, why)];
  });
  if (stale.length > 0) {
    print(stale.join('\n'));
    return finish(0, stale.length);
  }
  const began = Date.now();
  const workers = Array.from({ length: Math.min(availableParallelism(), chosen.length) }, startWorker);
  try {
    const faults = [];
    const files = [...new Set(chosen.flatMap(({ tests }) => tests))];
    await doAll(
      workers,
      files.map((file) => ({ tests: [file] })),
      ({ tests }, result) => {
        const fault = faultOf(result, tests);
        if (fault !== undefined) faults.push(`✕ ${tests[0]}\n  ${fault}`);
      },
    );
    if (faults.length > 0) {
      print(faults.join('\n'));
      return finish(0, faults.length);
    }
    let failed = 0;
    await doAll(
      workers,
      chosen.map((mutant) => ({ ...mutant, mutant: mutant.name })),
      (mutant, result) => {
        const why = whyAlive(result);
        if (why === undefined) return;
        failed += 1;
        print(describe(mutant, why));
      },
    );
    print(`${chosen.length} mutants in ${Math.round((Date.now() - began) / 1000)} s`);
    return finish(chosen.length - failed, failed);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
};

exit(await main(argv.slice(2)));
