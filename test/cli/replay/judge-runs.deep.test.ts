import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { judgeRuns, type JudgedRun, type NamedRun } from '../../../src/cli/replay/judge-runs';
import { type History, makeDecode } from '../../../src/history/decode/decode';
import { parseExport } from '../../../src/history/exported';
import type { ReplayFinding } from '../../../src/history/replay/explain';
import { replayRuns } from '../../../src/history/replay/replayer';
import { changed, encryptedExport, exported, ofAnotherApplication, withPatch } from '../../history/exports';
import { ringOf } from '../../encryption/ring';
import { ensureBuilt, lib, root } from '../../support/build';

const silent = new DefaultLogger('ERROR', () => undefined);

beforeAll(() => {
  ensureBuilt();
  const logging = { filter: { core: 'ERROR', other: 'ERROR' } as const, forward: {} };
  Runtime.install({ logger: silent, telemetryOptions: { logging } });
});

/** The ids of child turns begin with that of their turn. */
const turnOf = ({ events }: History): string =>
  events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? 't';

/** Replays histories with the installed code, or with a change of it. */
const judge = async (
  jsons: unknown[],
  change: (code: string) => string = (code) => code,
): Promise<JudgedRun[]> => {
  const code = change(readFileSync(lib('workflow-bundle.js'), 'utf8'));
  const runs = async function* () {
    for (const json of jsons)
      for (const history of parseExport(json)) yield { turn: turnOf(history), history };
  };
  const options = { workflowBundle: { code }, dataConverter: ringOf({}).replay() };
  const judged: JudgedRun[] = [];
  const decode = makeDecode(loadDataConverter(ringOf({}).replay()));
  const replaying = { replay: (all: AsyncIterable<NamedRun>) => replayRuns(options, all), decode };
  for await (const one of judgeRuns(replaying, runs())) judged.push(one);
  return judged;
};

const findingOf = async (
  json: unknown,
  change?: (code: string) => string,
): Promise<ReplayFinding | undefined> => (await judge([json], change))[0]?.finding;

const replaced =
  (from: string | RegExp, to: string) =>
  (code: string): string => {
    const other = code.replace(from, to);
    expect(other).not.toBe(code);
    return other;
  };

const histories = readdirSync(join(root, 'test', 'histories')).map((name) => name.replace('.json', ''));

test('every recorded turn replays, in one batch', async () => {
  const judged = await judge(histories.map(exported));
  expect(judged).toHaveLength(histories.length);
  expect(judged.filter(({ finding }) => finding !== undefined)).toEqual([]);
});

test('one that does not replay does not stop those behind it', async () => {
  const judged = await judge([
    exported('plain'),
    changed('approved', '"name": "pay"', '"name": "give"'),
    exported('denied'),
  ]);
  expect(judged.map(({ finding }) => finding?.kind)).toEqual([undefined, 'other', undefined]);
});

describe('a history that was changed', () => {
  it.each<[string, () => unknown, Partial<ReplayFinding>]>([
    [
      'another tool',
      () => changed('approved', '"name": "pay"', '"name": "give"'),
      { kind: 'other', step: 1, callId: '1.2', history: 'runs call 1.2, give', code: 'runs call 1.2, pay' },
    ],
    [
      'another step',
      () => changed('edited', '"think-2"', '"think-3"'),
      { kind: 'other', history: 'asks the model for step 3', code: 'asks the model for step 2' },
    ],
    [
      'an event of another kind',
      () => changed('edited', 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED', 'EVENT_TYPE_TIMER_STARTED'),
      { kind: 'unknown', eventId: 5, step: 1 },
    ],
    ['of another application', ofAnotherApplication, { kind: 'no_workflow' }],
    [
      'of a newer version',
      () => withPatch('plain', 'two-approvers'),
      { kind: 'unreadable', why: expect.stringContaining('two-approvers') },
    ],
  ])('%s', async (_, json, finding) => {
    expect(await findingOf(json())).toMatchObject(finding);
  });

  it('that is encrypted says which key is missing', async () => {
    const { json } = await encryptedExport('edited');
    expect(await findingOf(json)).toMatchObject({
      kind: 'unreadable',
      why: expect.stringContaining('k1'),
    });
  });
});

describe('code that was changed', () => {
  const timer = 'this.scope = at === null ? void 0 : this.start(at)';
  const ask = 'turn.step += 1;';

  it.each<[string, string, (code: string) => string, Partial<ReplayFinding>]>([
    [
      'sets no timer',
      'edited',
      replaced(timer, 'this.scope = void 0'),
      { kind: 'other', step: 1, history: 'sets a timer, as for the deadline of a request' },
    ],
    [
      'waits before it asks the model',
      'plain',
      replaced(ask, `${ask} await workflow_1.sleep(1000);`),
      { kind: 'other', step: 1, history: 'asks the model for step 1' },
    ],
    [
      'never asks the model again',
      'plain',
      replaced(ask, `${ask} if (turn.step > 1) await new Promise(() => undefined);`),
      { kind: 'missing', step: 2, history: 'asks the model for step 2' },
    ],
    [
      'does more at the end of a task',
      'plain',
      replaced(ask, `${ask} void workflow_1.scheduleActivity('note', [], { startToCloseTimeout: 1000 });`),
      { kind: 'other', history: 'asks the model for step 1', code: 'runs the activity note' },
    ],
    [
      'tells one thing more',
      'cancelled',
      replaced(ask, `${ask} void Promise.resolve().then(() => workflow_1.upsertMemo({ more: 1 }));`),
      { kind: 'extra', step: 1, code: 'publishes its verdicts on signals' },
    ],
    [
      'ends the turn after one step',
      'edited',
      replaced(/if \(turn\.step >= turn\.maxSteps\)/g, 'if (turn.step >= 1)'),
      { kind: 'other', step: 2, history: 'asks the model for step 2' },
    ],
    [
      'fails',
      'edited',
      replaced('function appendResults(turn, finished) {', '$& throw new TypeError("no results");'),
      {
        kind: 'threw',
        step: 1,
        code: expect.stringMatching(/^fails: .*no results.*, at \S+:\d+:\d+$/),
      },
    ],
  ])('%s', async (_, name, change, finding) => {
    expect(await findingOf(exported(name), change)).toMatchObject(finding);
  });
});
