import { type AwayAsked, nobodyAway } from '../../../src/contract/control/away';
import { TIMES } from '../../../src/contract/limits';
import { FAILURES, MEMO, QUERIES, UPDATES } from '../../../src/contract/names';
import { awayInput, type HeldAway, takeAway } from '../../../src/workflows/control/away';
import { type Command, endWorkflow, jobs, valueIn, WorkflowUnderTest } from '../../support/workflow';

afterEach(endWorkflow);

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const HOUR = 3_600_000;
const iso = (ms: number): string => new Date(NOW + ms).toISOString();
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const asked = (n = 1, part: Partial<AwayAsked> = {}): AwayAsked => ({
  ...{ id: uuid(n), from: `person-${n}`, to: 'xena', start: iso(0), end: iso(HOUR), at: iso(0) },
  ...part,
});

async function control() {
  const held: HeldAway = { away: nobodyAway(), updates: 0 };
  const { workflow } = await WorkflowUnderTest.start(
    async () => {
      takeAway(held);
      await new Promise(() => undefined);
    },
    { now: NOW },
  );
  return { held, workflow };
}

const failureIn = (commands: readonly Command[]) =>
  commands.flatMap(({ updateResponse }) => updateResponse?.rejected?.applicationFailureInfo ?? []);
const memosIn = (commands: readonly Command[]): unknown[] =>
  commands.flatMap(({ modifyWorkflowProperties }) => {
    const count = modifyWorkflowProperties?.upsertedMemo?.fields?.[MEMO.away];
    return count === undefined ? [] : [valueIn(count) ?? null];
  });

it('keeps one with the time of the workflow, counts it in the memo, and says who is away', async () => {
  const { held, workflow } = await control();
  const signature = { kind: 'ssh', armored: 'x', at: iso(0), notAfter: iso(HOUR) } as const;
  const said = asked(1, { reason: 'holiday', signature });
  const commands = await workflow.task([jobs.update(UPDATES.away, said)], 1000);
  const entry = { ...said, takenAt: iso(1000) };
  expect(held).toEqual({ away: { entries: [entry], ended: [] }, updates: 1 });
  expect(memosIn(commands)).toEqual([1]);
  const answered = await workflow.task([jobs.query(QUERIES.away)]);
  expect(valueIn(answered[0]?.respondToQuery?.succeeded?.response)).toEqual({ entries: [entry] });
});

it('writes no memo where the number stays, and an empty one where nobody is left', async () => {
  const { held, workflow } = await control();
  await workflow.task([jobs.update(UPDATES.away, asked(), 'a')]);
  expect(memosIn(await workflow.task([jobs.update(UPDATES.away, asked(), 'b')]))).toEqual([]);
  expect(memosIn(await workflow.task([jobs.update(UPDATES.away, asked(2), 'c')]))).toEqual([2]);
  const back = (n: number) => jobs.update(UPDATES.back, { id: uuid(n), by: 'dora' }, `back-${n}`);
  expect(memosIn(await workflow.task([back(1), back(2)]))).toEqual([1, null]);
  expect(held.away).toEqual({
    entries: [],
    ended: [1, 2].map((n) => ({ id: uuid(n), end: iso(HOUR) })),
  });
  expect(held.updates).toBe(5);
});

it('forgets one that is over with the next that comes', async () => {
  const { held, workflow } = await control();
  await workflow.task([jobs.update(UPDATES.away, asked(), 'a')]);
  const later = asked(2, { end: iso(3 * HOUR) });
  const after = HOUR + TIMES.clockSkew + 1;
  const commands = await workflow.task([jobs.update(UPDATES.away, later, 'b')], after);
  expect(held.away.entries).toEqual([{ ...later, takenAt: iso(after) }]);
  expect(memosIn(commands)).toEqual([]);
});

it.each<[string, string, unknown, string]>([
  ['text', UPDATES.away, 'hello', 'malformed'],
  ['a field that is missing', UPDATES.away, { ...asked(), to: undefined }, 'malformed'],
  ['a field too many', UPDATES.away, { ...asked(), takenAt: iso(0) }, 'malformed'],
  ['a time that is none', UPDATES.away, asked(1, { end: 'tomorrow' }), 'malformed'],
  ['a signature in another form', UPDATES.away, { ...asked(), signature: 'x' }, 'malformed'],
  ['too many bytes', UPDATES.away, asked(1, { reason: 'x'.repeat(17 * 1024) }), 'malformed'],
  ['one in the own place', UPDATES.away, asked(1, { from: 'xena' }), 'away_refused'],
  ['one that is over', UPDATES.away, asked(1, { end: iso(0) }), 'away_refused'],
  ['an end of nothing', UPDATES.back, { id: uuid(7), by: 'dora' }, 'away_not_found'],
  ['an end without a name', UPDATES.back, { id: uuid(7) }, 'malformed'],
])('refuses %s, and changes nothing', async (_what, name, value, code) => {
  const { held, workflow } = await control();
  const commands = await workflow.task([jobs.update(name, value)]);
  const [failure] = failureIn(commands);
  expect(failure?.type).toBe(FAILURES.away);
  expect(valueIn(failure?.details?.payloads?.[0])).toMatchObject({ code });
  expect(held).toEqual({ away: nobodyAway(), updates: 0 });
  expect(memosIn(commands)).toEqual([]);
});

it('judges again where another of the same task came first', async () => {
  const { held, workflow } = await control();
  const [first, second] = [asked(1, { from: 'dora' }), asked(2, { from: 'dora' })];
  const commands = await workflow.task([
    jobs.update(UPDATES.away, first, 'a'),
    jobs.update(UPDATES.away, second, 'b'),
  ]);
  expect(failureIn(commands)).toMatchObject([{ type: FAILURES.away }]);
  expect(held.away.entries).toMatchObject([{ id: first.id }]);
});

it('takes along what there is, also that one was ended', () => {
  expect(awayInput(nobodyAway())).toEqual({});
  const entries = [{ ...asked(), takenAt: iso(0) }];
  const ended = [{ id: uuid(9), end: iso(HOUR) }];
  expect(awayInput({ entries, ended: [] })).toEqual({ away: { entries, ended: [] } });
  expect(awayInput({ entries: [], ended })).toEqual({ away: { entries: [], ended } });
});
