import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  atLeast,
  cachedBinary,
  cacheDirectory,
  findVersion,
  installBinary,
  probeBinary,
} from '../../src/engine/install-binary';
import { fakeTemporal, scratchDirectory, writeScript } from '../support/scratch';

describe('findVersion', () => {
  it.each([
    ['temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)', '1.8.2'],
    ['temporal version 0.0.0-DEV (Server 1.31.2)', '0.0.0'],
    ['go version go1.26.8 linux/amd64', '1.26.8'],
    ['go version go1.26 darwin/arm64', '1.26'],
    ['go version go1.27rc1 linux/amd64', '1.27'],
    ['no numbers here', undefined],
    ['', undefined],
  ])('%j has %s', (text, version) => {
    expect(findVersion(text)).toBe(version);
  });
});

describe('atLeast', () => {
  it.each([
    ['1.26.4', '1.26.4', true],
    ['1.26.8', '1.26.4', true],
    ['1.27', '1.26.4', true],
    ['1.26', '1.26.4', false],
    ['1.26.3', '1.26.4', false],
    ['1.9.9', '1.26.4', false],
    ['2.0.0', '1.26.4', true],
    ['0.30.9', '1.26.4', false],
    ['1.10.0', '1.4.0', true],
  ])('%s against %s: %s', (version, oldest, expected) => {
    expect(atLeast(version, oldest)).toBe(expected);
  });
});

describe('probeBinary', () => {
  const scratch = scratchDirectory();
  const file = (): string => join(scratch(), 'temporal');

  it('tells the version of a binary that runs', async () => {
    expect(await probeBinary(fakeTemporal(file()))).toEqual({ version: '1.8.2' });
  });

  it.each([
    ['fails', ['echo broken >&2', 'exit 3'], /--version failed: broken/],
    ['fails in silence', ['exit 3'], /it printed nothing/],
    [
      'is something else',
      ['echo "coreutils 9.1"'],
      /is not Temporal's command line: it answers "coreutils 9.1"/,
    ],
    [
      'is too old',
      ['echo "temporal version 1.0.0 (Server 1.24.2)"'],
      /is version 1.0.0; 1.4.0 or newer is needed/,
    ],
    ['is ended by a signal', ['kill -9 $$'], /--version failed/],
  ])('refuses a binary that %s', async (_what, lines, message) => {
    expect(await probeBinary(writeScript(file(), ...lines))).toEqual({
      missed: expect.stringMatching(message),
    });
  });

  it('tells a binary that is not there from one that does not work', async () => {
    expect(await probeBinary(file())).toEqual({ missed: `${file()} does not exist`, absent: true });
  });

  it('tells that a file may not be run', async () => {
    writeFileSync(file(), 'text');
    chmodSync(file(), 0o644);
    expect(await probeBinary(file())).toEqual({ missed: expect.stringContaining('permission denied') });
  });

  it('refuses half a binary', async () => {
    writeFileSync(file(), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]));
    chmodSync(file(), 0o755);
    expect(await probeBinary(file())).toEqual({ missed: expect.stringContaining(file()) });
  });
});

const scratch = scratchDirectory();
const directory = (): string => join(scratch(), 'cache');
const quiet = (): void => undefined;
const make = async (staging: string): Promise<string> => fakeTemporal(join(staging, 'made'));

it('keeps our binary among what can be made again, one folder a release', () => {
  expect(cacheDirectory({ XDG_CACHE_HOME: '/x' })).toBe('/x/countersign/temporal-1.8.2');
});

describe('installBinary', () => {
  it('puts the binary in place and leaves nothing else', async () => {
    const binary = await installBinary({ directory: directory(), progress: quiet, make });
    expect(binary).toBe(cachedBinary(directory()));
    expect(readdirSync(directory())).toEqual(['temporal']);
  });

  it.each([
    ['making fails', async (): Promise<string> => Promise.reject(new Error('no space')), /no space/],
    [
      'the new binary does not run',
      async (staging: string) => writeScript(join(staging, 'made'), 'exit 1'),
      /does not run/,
    ],
    ['nothing was made', async (staging: string) => join(staging, 'made'), /ENOENT/],
  ])('leaves nothing when %s', async (_what, making, message) => {
    await expect(installBinary({ directory: directory(), progress: quiet, make: making })).rejects.toThrow(
      message,
    );
    expect(readdirSync(directory())).toEqual([]);
  });

  it('shows others no half of a binary while it is made', async () => {
    let during: string[] = [];
    const watched = async (staging: string): Promise<string> => {
      writeFileSync(join(staging, 'made'), 'half');
      during = readdirSync(directory());
      return make(staging);
    };
    await installBinary({ directory: directory(), progress: quiet, make: watched });
    expect(during).not.toContain('temporal');
  });

  it('makes it once for two at a time', async () => {
    let made = 0;
    const counted = async (staging: string): Promise<string> => {
      made += 1;
      return make(staging);
    };
    const install = (): Promise<string> =>
      installBinary({ directory: directory(), progress: quiet, make: counted });
    const [first, second] = await Promise.all([install(), install()]);
    expect(first).toBe(second);
    expect(made).toBe(1);
  });

  it('replaces a broken binary and removes what a killed process left', async () => {
    mkdirSync(join(directory(), '.staging-dead'), { recursive: true });
    writeFileSync(cachedBinary(directory()), 'broken');
    const binary = await installBinary({ directory: directory(), progress: quiet, make });
    expect(readFileSync(binary, 'utf8')).toContain('temporal version');
    expect(existsSync(join(directory(), '.staging-dead'))).toBe(false);
  });

  it('takes over the lock of a dead process', async () => {
    mkdirSync(directory(), { recursive: true });
    writeFileSync(join(directory(), '.lock'), '999999999');
    await installBinary({ directory: directory(), progress: quiet, make });
    expect(readdirSync(directory())).toEqual(['temporal']);
  });
});
