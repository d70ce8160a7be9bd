import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../support/build';
import { scratchDirectory } from '../support/scratch';

const cache = scratchDirectory();
const version = async (home: string): Promise<string> => {
  const env = { ...process.env, XDG_CACHE_HOME: home, NODE_COMPILE_CACHE: undefined };
  const program = join(root, 'bin', 'countersign.js');
  return (await promisify(execFile)(process.execPath, [program, '--version'], { env })).stdout;
};

describe('what Node compiled for a command', () => {
  const folder = () => join(cache(), 'countersign', 'compiled');

  it('is kept for this user only, where Node can keep it', async () => {
    await version(cache());
    if (!('enableCompileCache' in module)) return expect(existsSync(folder())).toBe(false);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder(), { recursive: true }).length).toBeGreaterThan(100);
  });

  it('is not kept where there is no place for it, and the command runs', async () => {
    const file = join(cache(), 'file');
    writeFileSync(file, '');
    await expect(version(file)).resolves.toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
