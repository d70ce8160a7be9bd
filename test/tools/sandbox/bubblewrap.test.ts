import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  bubblewrapWords,
  chooseIdentity,
  findParts,
  findProgram,
  isReachable,
  runtimePaths,
  unenforced,
} from '../../../src/tools/sandbox/bubblewrap';
import { LIMIT_NAMES, limitsSchema } from '../../../src/tools/sandbox/limits';
import { scratchDirectory } from '../../support/scratch';

const scratch = scratchDirectory();
const isRoot = process.geteuid?.() === 0;
const parts = {
  bwrap: '/usr/bin/bwrap',
  options: new Set(['--size', '--disable-userns']),
  prlimit: '/usr/bin/prlimit',
  setpriv: '/usr/bin/setpriv',
};
const build: Parameters<typeof bubblewrapWords>[0] = {
  parts,
  identity: { kind: 'own' },
  limits: limitsSchema.parse({}),
  enforced: new Set(LIMIT_NAMES),
};
const launch = {
  argv: ['--evil', '; rm -rf /'],
  cwd: '/w',
  mounts: [{ path: '/w', isWritable: true }],
  files: [],
};

it('ends its own words before those of the program', () => {
  const words = bubblewrapWords(build, launch);
  expect(words.slice(words.indexOf('--chdir'))).toEqual([
    ...[
      '--chdir',
      '/w',
      '--',
      '/usr/bin/prlimit',
      '--core=0',
      '--cpu=60',
      '--data=1073741824',
      '--nproc=128',
    ],
    ...['--nofile=1024', '--fsize=268435456', '--', '--evil', '; rm -rf /'],
  ]);
});

it('hands bubblewrap a filter of system calls', () => {
  const words = bubblewrapWords(build, launch);
  expect(words[words.indexOf('--seccomp') + 1]).toBe('5');
});

it('becomes somebody else first, where it is to', () => {
  const words = bubblewrapWords({ ...build, identity: { kind: 'other', uid: 7, gid: 8 } }, launch);
  expect(words.slice(0, 6)).toEqual([
    ...['/usr/bin/setpriv', '--reuid=7', '--regid=8', '--clear-groups', '--inh-caps=-all', '/usr/bin/bwrap'],
  ]);
});

it.each([
  ['an old bubblewrap', { ...parts, options: new Set<string>() }, 'own', ['tmp']],
  [
    'no prlimit',
    { ...parts, prlimit: undefined },
    'own',
    ['cpu', 'memory', 'processes', 'openFiles', 'fileSize'],
  ],
  ['root', parts, 'root', ['processes']],
  ['all there', parts, 'own', []],
] as const)('%s: %s', (_case, found, kind, expected) => {
  expect([...unenforced(found, { kind }).keys()]).toEqual(expected);
});

describe('as whom programs run', () => {
  const writable = (name: string) => ({ path: join(scratch(), name), isWritable: true });

  it('is the worker itself, unless it is root', async () => {
    expect(await chooseIdentity([], 1000)).toEqual({ kind: 'own' });
    expect(await chooseIdentity([], 0)).toEqual({ kind: 'other', uid: 65_534, gid: 65_534 });
  });

  (isRoot ? it : it.skip)('is who owns all that root may write', async () => {
    for (const name of ['a', 'b', 'c']) mkdirSync(join(scratch(), name));
    for (const name of ['a', 'b']) chownSync(join(scratch(), name), 1234, 99);
    expect(await chooseIdentity([writable('a'), writable('b')], 0)).toEqual({
      kind: 'other',
      uid: 1234,
      gid: 99,
    });
    expect(await chooseIdentity([writable('a'), writable('c')], 0)).toEqual({ kind: 'root' });
    expect(await chooseIdentity([writable('c')], 0)).toEqual({ kind: 'root' });
  });
});

it('finds nothing in folders of PATH that are not absolute', async () => {
  await expect(findParts('.:bin:')).rejects.toMatchObject({ code: 'config_invalid' });
});

it('shows the runtime with its packages, and not the folder around it', () => {
  expect(runtimePaths('/usr/local/bin/node')).toEqual([]);
  for (const name of ['bin', 'lib', 'lib/node_modules', '.ssh']) mkdirSync(join(scratch(), name));
  writeFileSync(join(scratch(), 'bin', 'node'), '');
  expect(runtimePaths(join(scratch(), 'bin', 'node'))).toEqual([
    join(scratch(), 'bin', 'node'),
    join(scratch(), 'lib', 'node_modules'),
  ]);
});

it('knows whether somebody else may read a program', () => {
  const other = { kind: 'other', uid: (process.getuid?.() ?? 0) + 1, gid: 65_533 } as const;
  const program = join(scratch(), 'node');
  writeFileSync(program, '', { mode: 0o755 });
  chmodSync(scratch(), 0o700);
  expect(isReachable(program, other)).toBe(false);
  expect(isReachable(program, { kind: 'own' })).toBe(true);
  chmodSync(scratch(), 0o755);
  expect(isReachable(program, other)).toBe(true);
  chmodSync(program, 0o700);
  expect(isReachable(program, other)).toBe(false);
});

describe('a program of this machine', () => {
  const at = (...names: string[]): string => join(scratch(), ...names);

  beforeEach(() => {
    for (const folder of ['a', 'b', 'c']) mkdirSync(at(folder));
    for (const folder of ['a', 'b', 'c']) writeFileSync(at(folder, 'tool'), '');
    for (const folder of ['b', 'c']) chmodSync(at(folder, 'tool'), 0o755);
  });

  it.each<[string, readonly string[], string | undefined]>([
    ['the first that may be run', ['a', 'b', 'c'], 'b'],
    ['none that may not be run', ['a'], undefined],
    ['none in a folder that is not there', ['nowhere'], undefined],
    ['none without folders', [], undefined],
  ])('finds %s', (_case, folders, found) => {
    const path = folders.map((folder) => at(folder)).join(':');
    expect(findProgram('tool', path)).toBe(found && at(found, 'tool'));
  });

  it('finds nothing in a folder that is not absolute', () => {
    expect(findProgram('package.json', '.::.')).toBeUndefined();
    expect(findProgram('bin/countersign.js', '.')).toBeUndefined();
  });
});
