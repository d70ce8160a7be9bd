import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './build';

const VERSION = '22.23.3';
const platform = process.platform === 'win32' ? 'win' : process.platform;

/** Runs a script of `test` with Node 22, which packages that are modules alone need, and returns what it prints. */
export async function runOnNode22(script: string, ...args: string[]): Promise<string> {
  const file = join(root, 'test', script);
  const packaged = ['exec', '--yes', `--package=node-${platform}-${process.arch}@${VERSION}`, '--', 'node'];
  const isNew = Number(process.versions.node.split('.')[0]) >= 22;
  const [program, ...before] = isNew ? [process.execPath] : ['npm', ...packaged];
  const env = {
    ...process.env,
    npm_config_cache: join(tmpdir(), `countersign-nodes-${process.getuid?.() ?? ''}`),
  };
  const run = promisify(execFile);
  const { stdout } = await run(program, [...before, file, ...args], {
    ...{ env, cwd: root, maxBuffer: 64 * 1024 * 1024 },
  });
  return stdout;
}
