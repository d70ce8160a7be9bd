import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { replayIsolated } from '../../../src/cli/replay/replay';
import { type JudgedRun, judgeRuns, type NamedRun } from '../../../src/cli/replay/judge-runs';
import { makeDecode } from '../../../src/history/decode/decode';
import { parseExport } from '../../../src/history/exported';
import type { ReplayFinding } from '../../../src/history/replay/explain';
import { changed, encryptedExport, exported } from '../../history/exports';
import { ensureBuilt, lib } from '../../support/build';

type ProcessOptions = Parameters<typeof replayIsolated>[0];

beforeAll(() => ensureBuilt());

const original = (): string => readFileSync(lib('workflow-bundle.js'), 'utf8');
/** Where the code takes the results of calls. */
const TAKES = 'function appendResults(turn, finished) {';

const apart = (code: string, more: Partial<ProcessOptions> = {}): ProcessOptions => ({
  setup: { workflowBundle: { code }, taskTimeoutMs: 2_000 },
  env: process.env,
  ...more,
});

const runsOf = async function* (jsons: readonly unknown[]): AsyncGenerator<NamedRun> {
  for (const json of jsons) for (const history of parseExport(json)) yield { turn: 't', history };
};

const judge = async (how: ProcessOptions, ...jsons: unknown[]): Promise<JudgedRun[]> => {
  const judged: JudgedRun[] = [];
  const replay = (runs: AsyncIterable<NamedRun>) => replayIsolated(how, runs);
  for await (const one of judgeRuns({ replay, decode: makeDecode() }, runsOf(jsons))) judged.push(one);
  return judged;
};

const approved = exported('approved');
const plain = exported('plain');

it('judges as this process does', async () => {
  const given = changed('approved', '"name": "pay"', '"name": "give"');
  const judged = await judge(apart(original()), plain, given, approved);
  expect(judged.map(({ finding }) => finding?.kind)).toEqual([undefined, 'other', undefined]);
  expect(judged[1]?.finding).toMatchObject({ callId: '1.2', message: expect.stringMatching(/TMPRL1100/) });
});

/** Takes results in another way where that is in the workflow task of event 32: only the approved turn has one. */
const takingAt32 = (how: string): string =>
  original().replace(TAKES, `${TAKES} if (__TEMPORAL_ACTIVATOR__.info.historyLength === 32) { ${how} }`);

const stuckAt32 = (code: unknown): Partial<ReplayFinding> =>
  expect.objectContaining({
    kind: 'stuck',
    eventId: 32,
    step: 2,
    history: 'asks the model for step 2',
    code,
  });

it.each([
  ['an endless loop', 'for (;;) try { throw new Error("x"); } catch {}'],
  ['promises without end', 'void (async () => { for (;;) await null; })();'],
  ['a regular expression', `/^(a+)+$/.test("${'a'.repeat(60)}b");`],
])('%s is a finding, and the runs beside it are judged', async (_, endless) => {
  const judged = await judge(apart(takingAt32(endless)), plain, approved, plain);
  const told = 'works for 2.0 s and does not come to rest';
  expect(judged.map(({ finding }) => finding)).toEqual([undefined, stuckAt32(told), undefined]);
});

it('code that does not even load is met at the first workflow task', async () => {
  const code = original().replace(TAKES, `for (;;);\n${TAKES}`);
  const [judged] = await judge(apart(code), approved);
  expect(judged?.finding).toMatchObject({ kind: 'stuck', eventId: 3, history: 'asks the model for step 1' });
});

it.each<[string, string, RegExp]>([
  ['bit by bit', 'const all = []; for (;;) all.push({ one: [1, 2, 3] });', /^takes all memory/],
  [
    'in one go',
    'const all = []; for (;;) all.push(new Array(1e7).fill(all.length + 0.5));',
    /memory runs out$|^takes all memory/,
  ],
])('code that takes all memory %s is one, too', async (_, loop, told) => {
  const env = { ...process.env, NODE_OPTIONS: '--max-old-space-size=200' };
  const setup = { workflowBundle: { code: takingAt32(loop) }, taskTimeoutMs: 60_000 };
  const judged = await judge({ setup, env }, plain, approved, plain);
  expect(judged.map(({ finding }) => finding?.kind)).toEqual([undefined, 'stuck', undefined]);
  expect(judged[1]?.finding?.code).toMatch(told);
});

it('this process is free meanwhile', async () => {
  const replayed = replayIsolated(apart(takingAt32('for (;;);')), runsOf([approved])).next();
  expect(await Promise.race([replayed, delay(1_000, 'free')])).toBe('free');
  expect(await replayed).toMatchObject({ value: { observed: { stuck: { startedId: 32 } } } });
});

it('what cannot be loaded at all is shown as it is', async () => {
  await expect(judge(apart('no code'), plain)).rejects.toThrow(/Workflow Bundle/);
});

describe('an encrypted history', () => {
  const required = { COUNTERSIGN_ENCRYPTION_REQUIRED: 'false' };
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'countersign-apart-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each<[string, (key: string) => Partial<ProcessOptions>]>([
    [
      'the environment',
      (key) => ({ env: { ...process.env, ...required, COUNTERSIGN_ENCRYPTION_KEYS: key } }),
    ],
    ['a file', (key) => ({ env: { ...process.env, ...required }, setup: setupWithKey(directory, key) })],
  ])('is opened with a key of %s', async (_, how) => {
    const { json, key } = await encryptedExport('edited');
    expect(await judge(apart(original(), how(key)), json)).toEqual([
      { turn: 't', events: json.events.length },
    ]);
  });
});

const setupWithKey = (directory: string, key: string): ProcessOptions['setup'] => {
  const keyFile = join(directory, 'keys');
  writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
  return { workflowBundle: { code: original() }, taskTimeoutMs: 20_000, keyFile };
};
