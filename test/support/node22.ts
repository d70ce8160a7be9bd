import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NODE_ENV, nodeCommand, NODES } from '../../scripts/nodes.cjs';
import { root } from './build';

/** The command that starts Node 22, which packages that are modules alone need, or this Node where it is as new. */
export const node22 = (): readonly string[] =>
  Number(process.versions.node.split('.')[0]) >= 22 ? [process.execPath] : nodeCommand(NODES[0]);

/** Runs a script of `test` with Node 22 and returns what it prints. */
export async function runOnNode22(script: string, ...args: string[]): Promise<string> {
  const [program = '', ...before] = node22();
  const { stdout } = await promisify(execFile)(program, [...before, join(root, 'test', script), ...args], {
    ...{ env: { ...process.env, ...NODE_ENV }, cwd: root, maxBuffer: 64 * 1024 * 1024 },
  });
  return stdout;
}
