import { describeLimits, limitsSchema, type LimitName, underLimits } from '../../../src/tools/sandbox/limits';

const MIB = 1024 * 1024;
const all: ReadonlySet<LimitName> = new Set([
  'cpu',
  'memory',
  'processes',
  'openFiles',
  'fileSize',
  'tmp',
] as const);
const limits = limitsSchema.parse({ cpu: '1500ms', memory: 3 * MIB, processes: 7 });

it('gives prlimit whole seconds and bytes, and leaves out what is not held', () => {
  expect(underLimits(limits, all, '/usr/bin/prlimit')).toEqual([
    '/usr/bin/prlimit',
    '--core=0',
    '--cpu=2',
    `--data=${3 * MIB}`,
    '--nproc=7',
    '--nofile=1024',
    `--fsize=${256 * MIB}`,
    '--',
  ]);
  expect(underLimits(limits, new Set<LimitName>(['cpu']), 'prlimit')).toEqual([
    'prlimit',
    '--core=0',
    '--cpu=2',
    '--',
  ]);
});

it.each([
  [
    all,
    /^limits: 1\.5 s of processor time a process, 3 MiB of private memory a process, 7 processes.*256 MiB in \/tmp$/,
  ],
  [new Set<LimitName>(['cpu']), /\nnot limited here: memory, processes, openFiles, fileSize, tmp$/],
  [new Set<LimitName>(), /^limits: none\nnot limited here/],
])('says what holds and what does not', (enforced, said) => {
  expect(describeLimits(limits, enforced)).toMatch(said);
});

it.each([{ cpu: 0 }, { memory: 1 }, { processes: 0.5 }, { openFiles: 1 }, { disk: 1 }, { tmp: -1 }])(
  '%j is refused',
  (wrong) => {
    expect(limitsSchema.safeParse(wrong).success).toBe(false);
  },
);
