/**
 * `npm run test:nodes`: tests on the other lines of Node that are supported. npm brings each Node as a package. What only decides
 * or reads sources is left out: it says the same on each. Arguments choose other tests; with `--ending` or `--steady` only those
 * of them run that end workers, or that do not.
 */
import nodes from './nodes.cjs';
import { exitWith } from './root.mjs';
import { conclude, runJest } from './test-run.mjs';
import { ENDING, isTimed, stagesOf, testFiles } from './tests.mjs';

/** What meets Node itself: files, processes, sockets, streams, keys, terminals, threads. */
const MEETS_NODE = [
  'test/(encryption|store)/|test/system/(lock|files|server-probe)\\.|test/worker/sdk-copies\\.',
  'test/engine/(download-or-build|install-binary|resolve|run|server-launch)\\.',
  'test/tools/(eval|workspace)/|test/tools/(run-process|shell-tools)\\.|test/tools/mcp/(stdio|connection|conformance)\\.',
  'test/tools/http/send\\.|test/tools/sandbox/index\\.',
  'test/cli/(load-config|stop-signals|progress)\\.|test/cli/replay/judge-runs\\.',
];

/** These, all recorded histories, and workers on a real server that are killed or read encrypted turns. */
const FILES = [...MEETS_NODE, 'test/replay\\.', 'test/e2e/(crash-points\\.core|encryption\\.deep)\\.'];

/** Of one Node; all are tested at the same time. */
const WORKERS = 2;

/** Files that end workers have a process of each Node for themselves, as a heartbeat has to be served in seconds. */
const onNode = (version, { title, files }) =>
  runJest({
    title: `Node ${version}, ${title}`,
    command: nodes.nodeCommand(version),
    args: [`--maxWorkers=${title === ENDING ? 1 : WORKERS}`, '--runTestsByPath', ...files],
    files: files.length,
    // Races and properties have all their attempts in `test:all`: another Node does not change what they find.
    env: { ...process.env, COUNTERSIGN_THOROUGH: '', ...nodes.NODE_ENV },
  });

const main = async (args) => {
  const runs = [];
  const named = args.filter((arg) => !arg.startsWith('--'));
  const files = testFiles(['unit', 'core', 'deep'], named.length > 0 ? named : FILES);
  const steady = args.includes('--ending') ? [] : files.filter((file) => !isTimed(file));
  const ending = args.includes('--steady') ? [] : files.filter(isTimed);
  for (const stage of [...stagesOf(steady), ...stagesOf(ending)])
    runs.push(...(await Promise.all(nodes.NODES.map((version) => onNode(version, stage)))));
  return conclude(runs);
};

void exitWith(main(process.argv.slice(2)), '0 passed, 1 failed\n');
