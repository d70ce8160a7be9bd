import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cachedBinary, cacheDirectory, installBinary } from '../../src/engine/cache';
import { fakeTemporal, scratchDirectory, writeScript } from '../support/scratch';

const scratch = scratchDirectory();
const directory = (): string => join(scratch(), 'cache');
const quiet = (): void => undefined;
const make = async (staging: string): Promise<string> => fakeTemporal(join(staging, 'made'));

describe('cacheDirectory', () => {
  it.each([
    ['linux', { HOME: '/h' }, '/h/.cache/countersign/temporal-1.8.2'],
    ['darwin', { HOME: '/h' }, '/h/Library/Caches/countersign/temporal-1.8.2'],
    ['linux', { HOME: '/h', XDG_CACHE_HOME: '/x' }, '/x/countersign/temporal-1.8.2'],
    ['darwin', { HOME: '/h', XDG_CACHE_HOME: '/x' }, '/x/countersign/temporal-1.8.2'],
    ['linux', { HOME: '/h', XDG_CACHE_HOME: '' }, '/h/.cache/countersign/temporal-1.8.2'],
  ] as const)('on %s with %j is %s', (platform, env, expected) => {
    expect(cacheDirectory(env, platform)).toBe(expected);
  });
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
      'what was made does not run',
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
