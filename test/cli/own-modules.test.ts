import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { programName } from '../../src/cli/own-modules';
import { root } from '../support/build';
import { scratchDirectory } from '../support/scratch';

const scratch = scratchDirectory();
const bin = join('node_modules', '.bin');

describe('the command to type', () => {
  it.each([
    ['in a folder of the clone', join(root, 'docs'), 'npx countersign'],
    ['where it is not installed', '/', `node ${join(root, 'bin', 'countersign.js').slice(1)}`],
  ])('%s', (_, cwd, command) => {
    expect(programName({}, cwd)).toBe(command);
  });

  it('below a folder that has it, however a package manager keeps it', () => {
    mkdirSync(join(scratch(), 'node_modules'));
    mkdirSync(join(scratch(), 'src'));
    symlinkSync(root, join(scratch(), 'node_modules', 'countersign'));
    expect(programName({}, join(scratch(), 'src'))).toBe('npx countersign');
  });

  it('where a shell finds it, but not where npm put it for one command', () => {
    mkdirSync(join(scratch(), bin), { recursive: true });
    symlinkSync(join(root, 'bin', 'countersign.js'), join(scratch(), bin, 'countersign'));
    symlinkSync(join(root, 'bin', 'countersign.js'), join(scratch(), 'countersign'));
    expect(programName({ PATH: scratch() }, '/')).toBe('countersign');
    expect(programName({ PATH: join(scratch(), bin) }, '/')).toMatch(/^node /);
  });

  it('is of Yarn where Yarn keeps packages without a folder', () => {
    const { pnp } = process.versions;
    Object.defineProperty(process.versions, 'pnp', { value: '3', configurable: true });
    try {
      expect(programName({}, '/')).toBe('yarn countersign');
    } finally {
      Object.defineProperty(process.versions, 'pnp', { value: pnp, configurable: true });
    }
  });
});
