import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defined } from '../../src/contract/defined';
import { RefusalLog, type LoggedRefusal } from '../../src/server/refusal-log';

let directory: string;
let file: string;
let reported: unknown[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-refusals-'));
  file = join(directory, 'state', 'refusals.jsonl');
  reported = [];
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const log = (rotateAt?: number) =>
  new RefusalLog({
    file,
    report: (error) => void reported.push(error),
    ...defined({ rotateAt }),
  });

const refusal = (more: Partial<LoggedRefusal> = {}): LoggedRefusal => ({
  ...{ at: '2026-01-02T00:00:00.000Z', namespace: 'default', user: 'ann', turn: 't', callId: '1.1' },
  ...{ what: 'decision', code: 'stale_args' },
  ...more,
});

const linesIn = async (path = file): Promise<unknown[]> =>
  (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

it('keeps a line for each refusal, in a file of its owner alone', async () => {
  const kept = log();
  const second = refusal({ user: 'bob', what: 'resolution', code: 'already_decided' });
  await kept.add(refusal());
  await kept.add(second);
  expect(await linesIn()).toEqual([refusal(), second]);
  expect([await modeOf(file), await modeOf(join(directory, 'state'))]).toEqual([0o600, 0o700]);
  expect(reported).toEqual([]);
});

it('keeps a text that looks like lines in its own line', async () => {
  await log().add(refusal({ callId: '1.1"}\n{"code":"expired"' }));
  expect(await linesIn()).toHaveLength(1);
});

it('writes those that come at once one after the other', async () => {
  const kept = log();
  await Promise.all(Array.from({ length: 50 }, (_, n) => kept.add(refusal({ turn: `t-${n}` }))));
  expect(await linesIn()).toEqual(Array.from({ length: 50 }, (_, n) => refusal({ turn: `t-${n}` })));
});

it('takes a file that others could read back to its owner', async () => {
  await mkdir(join(directory, 'state'));
  await writeFile(file, '', { mode: 0o644 });
  await log().add(refusal());
  expect(await modeOf(file)).toBe(0o600);
});

it.each<[string, { namespace: string; since?: string }, object]>([
  ['all of a namespace', { namespace: 'default' }, { stale_args: 2, expired: 1 }],
  [
    'those since a moment',
    { namespace: 'default', since: '2026-01-02T00:00:00.000Z' },
    { stale_args: 1, expired: 1 },
  ],
  ['those of another namespace', { namespace: 'other' }, { malformed: 1 }],
  ['none', { namespace: 'nobody' }, {}],
])('counts %s', async (_name, query, counts) => {
  const kept = log();
  await kept.add(refusal({ at: '2026-01-01T23:59:59.999Z' }));
  await kept.add(refusal());
  await kept.add(refusal({ code: 'expired' }));
  await kept.add(refusal({ code: 'malformed', namespace: 'other' }));
  expect(await kept.counts(query)).toEqual(counts);
  expect(await log().counts(query)).toEqual(counts);
});

it('counts none where there is no file', async () => {
  expect(await log().counts({ namespace: 'default' })).toEqual({});
});

it.each([
  ['a line that was cut off', '{"at":"2026-01-02T00:00:00.000Z","names'],
  ['a code of a newer version', JSON.stringify({ ...refusal(), code: 'too_new' })],
  ['an empty line', ''],
  ['something else', '[1]'],
])('counts past %s', async (_name, line) => {
  await mkdir(join(directory, 'state'));
  await writeFile(file, `${line}\n${JSON.stringify(refusal())}\n`);
  expect(await log().counts({ namespace: 'default' })).toEqual({ stale_args: 1 });
});

it('puts a full file aside, counts both, and keeps no more than two', async () => {
  const line = JSON.stringify(refusal({ turn: 't-0' })).length + 1;
  const kept = log(line * 2);
  for (let n = 0; n < 5; n++) await kept.add(refusal({ turn: `t-${n}` }));
  expect(await linesIn(`${file}.1`)).toMatchObject([{ turn: 't-2' }, { turn: 't-3' }]);
  expect(await linesIn()).toMatchObject([{ turn: 't-4' }]);
  expect(await kept.counts({ namespace: 'default' })).toEqual({ stale_args: 3 });
  expect(await modeOf(`${file}.1`)).toBe(0o600);
});

it('reports what it cannot write, and goes on with the next', async () => {
  await mkdir(join(directory, 'state'));
  await symlink(join(directory, 'elsewhere'), file);
  const kept = log();
  await kept.add(refusal());
  expect(reported).toMatchObject([{ code: 'ELOOP' }]);
  await rm(file);
  await kept.add(refusal());
  expect(await linesIn()).toHaveLength(1);
});
