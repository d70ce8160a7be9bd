import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { absolute, median, timed, type Bench, type Figure, type Measurement } from '../figure';

/** The most that the workflow bundle may have without its map, in thousands of bytes: a worker loads it when it starts. */
export const BUNDLE_KB = 750;

const root = join(__dirname, '..', '..');

/** From `node` to a worker that polls, in a new process with the prebuilt bundle; and the size of that bundle. */
export const start: Measurement = {
  name: 'start',
  async run(bench) {
    const samples: number[] = [];
    for (let round = 0; round < 5; round++) samples.push(await timed(() => workerReady(bench)));
    return [
      absolute('worker ready, prebuilt bundle', median(samples) / 1000, { most: 1.5, unit: 's' }),
      bundleSize(),
    ];
  },
};

function workerReady({ address }: Bench): Promise<void> {
  const child = spawn(process.execPath, ['-e', READY, root, address], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.stdout.once('data', () => {
      resolve();
      child.kill('SIGKILL');
    });
    child.once('error', reject);
    child.once('exit', (code) =>
      reject(new Error(`the worker ended with ${String(code)} before it was ready`)),
    );
  });
}

const READY = `
const [, root, address] = process.argv;
const { startWorker, defineAgent, defineConfig, offlineModel } = require(root + '/lib/index.js');
const agent = defineAgent({ name: 'start', instructions: 'x', model: offlineModel(), tools: [] });
const config = defineConfig({ agents: [agent], taskQueue: 'bench-start' });
startWorker({ config, address, logLevel: 'ERROR', stateDir: require('os').tmpdir() }).then(() => console.log('ready'));
`;

function bundleSize(): Figure {
  const code = readFileSync(join(root, 'lib', 'workflow-bundle.js'), 'utf8');
  const map = code.indexOf('\n//# sourceMappingURL=');
  const kilobytes = Buffer.byteLength(map === -1 ? code : code.slice(0, map)) / 1000;
  return absolute('workflow bundle, without its map', kilobytes, { most: BUNDLE_KB, unit: 'KB' });
}
