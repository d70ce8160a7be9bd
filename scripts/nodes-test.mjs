/**
 * `npm run test:nodes`: tests on the other lines of Node that are supported. npm brings each Node as a package. What only decides
 * or reads sources is left out: it says the same on each. Arguments choose other tests.
 */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { at, root, say } from './root.mjs';

const NODES = ['22.23.3', '24.21.0'];

/** What meets Node itself: files, processes, sockets, streams, keys, terminals, threads. */
const MEETS_NODE = [
  'activities|authority|encryption|engine|lock|models|server|server-probe|store|tools|sdk-copies|replay|files',
  'cli/(chat|files|live-inbox|load-config|notify|progress|replay|stop-signals)',
  'history/(audit|replay)',
].join('|');

/** Units and all recorded histories, then workers on a real server that are killed or read encrypted turns. */
const RUNS = [
  ['--selectProjects', 'unit', 'deep', '--', `test/(${MEETS_NODE})[/.]`],
  ['--selectProjects', 'core', '--', 'test/e2e/(kill|encryption|order|in-doubt)\\.'],
];

const platform = process.platform === 'win32' ? 'win' : process.platform;

/** Runs jest on a Node; resolves with how many tests passed and failed. A run that ends without a count has failed. */
const run = (version, args) =>
  new Promise((resolve, reject) => {
    const packaged = `--package=node-${platform}-${process.arch}@${version}`;
    const jest = ['node', at('node_modules', 'jest', 'bin', 'jest.js'), ...args];
    const child = spawn('npm', ['exec', '--yes', packaged, '--', ...jest], {
      cwd: root,
      // Not in the home of root: programs in a sandbox run as somebody else, who has to reach Node.
      env: { ...process.env, npm_config_cache: join(tmpdir(), 'countersign-nodes') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      process.stdout.write(chunk);
    });
    child.once('error', reject);
    child.once('close', (code) => {
      const [, passed, failed] = /(?:^|\n)(\d+) passed, (\d+) failed\s*$/.exec(output) ?? [];
      const isCounted = passed !== undefined && (code === 0 || failed !== '0');
      resolve({ passed: Number(passed ?? 0), failed: isCounted ? Number(failed) : 1 });
    });
  });

const main = async (args) => {
  const total = { passed: 0, failed: 0 };
  for (const version of NODES)
    for (const given of args.length > 0 ? [args] : RUNS) {
      say(`Node ${version}: jest ${given.join(' ')}`);
      const { passed, failed } = await run(version, given);
      total.passed += passed;
      total.failed += failed;
    }
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
  process.exitCode = total.failed === 0 ? 0 : 1;
};

main(process.argv.slice(2)).catch((error) => {
  say(error.message);
  process.exitCode = 1;
});
