import type { WorkflowExecutionInfo } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import fc from 'fast-check';
import type { ClientContext } from '../../../src/client/context';
import { WaitingReader } from '../../../src/client/inbox/reader';
import '../../support/properties';

/** A turn with so many requests of this tool. None: it is there, and nothing waits in it. */
interface Turn {
  requests: number;
  tool?: string;
}

const infoOf = (workflowId: string, { requests, tool = 'pay' }: Turn, status = 'RUNNING') => {
  const items = Array.from({ length: requests }, (_, n) => ({
    ...{ callId: `1.${n + 1}`, kind: 'request', tool, summary: `${tool} ${n}` },
    ...{ since: '2026-01-01T00:00:00.000Z', deadline: null },
  }));
  return {
    ...{ workflowId, runId: 'r', type: 'agentTurn', status: { name: status }, startTime: new Date(0) },
    searchAttributes: { CountersignAgent: ['payer'], CountersignPending: [requests] },
    memo: requests === 0 ? {} : { prompt: 'go', open: { key: 'k', count: requests, items } },
  } as unknown as WorkflowExecutionInfo;
};

/** A server, what its visibility shows of it, and a reader. */
function serverWith(now: Record<string, Turn | 'ended'>, listed: Record<string, Turn> = {}) {
  const state = {
    now: new Map(Object.entries(now)),
    listed: new Map(Object.entries(listed)),
    answer: undefined as Promise<void> | undefined,
  };
  const list = async function* () {
    for (const [id, turn] of state.listed) if (turn.requests > 0) yield infoOf(id, turn);
  };
  const describe = async (id: string) => {
    await state.answer;
    const turn = state.now.get(id);
    if (turn === undefined) throw new WorkflowNotFoundError('not there', id, undefined);
    return turn === 'ended' ? infoOf(id, { requests: 1 }, 'COMPLETED') : infoOf(id, turn);
  };
  const getHandle = (id: string) => ({ describe: () => describe(id) });
  const withDeadline = async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act();
  const context = {
    ...{ reader: { workflow: { list, getHandle } }, connection: { withDeadline } },
  } as unknown as ClientContext;
  const reader = new WaitingReader(context);
  const turnsOf = ({ items }: { items: readonly { turn: string }[] }) => items.map(({ turn }) => turn);
  return { state, reader, turnsOf };
}

const pass = (ms: number): void => void jest.advanceTimersByTime(ms);
beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test.each<[string, Turn | 'ended' | undefined, string[], boolean]>([
  ['a request that visibility does not show yet', { requests: 1 }, ['t'], true],
  ['no turn in which nothing waits', { requests: 0 }, [], false],
  ['no turn that has ended', 'ended', [], false],
  ['no turn that is not there', undefined, [], false],
])('reads %s', async (_, turn, shown, changed) => {
  const { reader, turnsOf } = serverWith(turn === undefined ? {} : { t: turn });
  await reader.next();
  const { waiting, isChanged } = await reader.read('t');
  expect(turnsOf(waiting)).toEqual(shown);
  expect(isChanged).toBe(changed);
  expect((await reader.read('t')).isChanged).toBe(false);
});

test('what visibility does not show yet stays, and is doubted until visibility has it or it is old', async () => {
  const { state, reader, turnsOf } = serverWith({ t: { requests: 1 } });
  await reader.next();
  await reader.read('t');
  const step = await reader.next();
  expect(turnsOf(step)).toEqual(['t']);
  expect(step).toMatchObject({ doubted: ['t'], found: [] });
  state.listed.set('t', { requests: 1 });
  expect(await reader.next()).toMatchObject({ doubted: [], found: [] });
  state.listed.clear();
  pass(31_000);
  expect(turnsOf(await reader.next())).toEqual([]);
});

test('what was decided does not come back while visibility still shows it', async () => {
  const { state, reader, turnsOf } = serverWith({ t: { requests: 1 } }, { t: { requests: 1 } });
  expect(turnsOf(await reader.next())).toEqual(['t']);
  state.now.set('t', { requests: 0 });
  expect(turnsOf((await reader.read('t')).waiting)).toEqual([]);
  const step = await reader.next();
  expect(turnsOf(step)).toEqual([]);
  expect(step.doubted).toEqual(['t']);
  // It asks again, and nobody says so.
  pass(31_000);
  expect(turnsOf(await reader.next())).toEqual(['t']);
});

test('says which turns visibility brought something new of, once everything was read', async () => {
  const { state, reader } = serverWith({}, { old: { requests: 1 } });
  expect((await reader.next()).found).toEqual([]);
  state.listed.set('new', { requests: 1 });
  state.listed.set('old', { requests: 2 });
  expect((await reader.next()).found).toEqual(['old', 'new']);
  expect((await reader.next()).found).toEqual([]);
  // One request less is no request that somebody should have told of.
  state.listed.set('old', { requests: 1 });
  expect((await reader.next()).found).toEqual([]);
});

test('a request that came behind the place of a long pass stays until a pass could have seen it', async () => {
  const many = Object.fromEntries(Array.from({ length: 2_500 }, (_, n) => [`t${n}`, { requests: 1 }]));
  const { reader, turnsOf } = serverWith({ late: { requests: 1 } }, many);
  const isShown = async (): Promise<boolean> => turnsOf(await reader.next()).includes('late');
  // The first pass has three pages. The next one has read its first page.
  for (let step = 0; step < 5; step++) expect(await isShown()).toBe(false);
  expect(turnsOf((await reader.read('late')).waiting)).toContain('late');
  pass(31_000);
  // Every second step looks at the newest turns.
  for (let step = 0; step < 4; step++) expect(await isShown()).toBe(true);
  for (let step = 0; step < 6; step++) await reader.next();
  expect(await isShown()).toBe(false);
});

test('a turn has not changed because another one has, which was read meanwhile', async () => {
  const { state, reader } = serverWith({ a: { requests: 0 }, b: { requests: 1 } });
  await reader.next();
  let answer = (): void => undefined;
  state.answer = new Promise((resolve) => (answer = resolve));
  const slow = reader.read('a');
  state.answer = undefined;
  expect((await reader.read('b')).isChanged).toBe(true);
  answer();
  expect((await slow).isChanged).toBe(false);
});

test('a turn that was forgotten is shown as visibility has it', async () => {
  const { state, reader, turnsOf } = serverWith({ t: { requests: 0 } }, { t: { requests: 1 } });
  await reader.next();
  await reader.read('t');
  expect(turnsOf(await reader.next())).toEqual([]);
  state.now.set('t', { requests: 1 });
  reader.forget('t');
  expect(await reader.next()).toMatchObject({ doubted: [], items: [{ turn: 't' }] });
});

describe('where the clock of the machine is set back by an hour', () => {
  beforeEach(() => jest.setSystemTime(Date.now() + 3_600_000));
  const setBack = (): void => void jest.setSystemTime(Date.now() - 3_600_000);

  test('what was read of a turn counts no longer than before', async () => {
    const { reader, turnsOf } = serverWith({ t: { requests: 1 } });
    await reader.next();
    await reader.read('t');
    setBack();
    pass(31_000);
    expect(turnsOf(await reader.next())).toEqual([]);
  });
});

test('whatever visibility shows, a turn that was just read is shown as it is, and in the end all is', async () => {
  const turn = fc.record({ requests: fc.nat(2), tool: fc.constantFrom('pay', 'mail') });
  const name = fc.constantFrom('a', 'b', 'c');
  const act = fc.oneof(
    fc.record({ now: name, turn }),
    fc.record({ listed: name, turn }),
    fc.record({ read: name }),
    fc.record({ next: fc.constant(true) }),
    fc.record({ ms: fc.integer({ min: 1, max: 40_000 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 30 }), async (acts) => {
      const { state, reader } = serverWith({});
      const shownOf = (items: readonly { turn: string; tool: string }[], id: string) =>
        items.filter((one) => one.turn === id).map(({ tool }) => tool);
      const trulyOf = (id: string): string[] => {
        const { requests = 0, tool = 'pay' } = Object(state.now.get(id));
        return Array.from({ length: requests }, () => tool);
      };
      for (const one of acts) {
        if ('turn' in one)
          'now' in one ? state.now.set(one.now, one.turn) : state.listed.set(one.listed, one.turn);
        else if ('read' in one) {
          const { waiting } = await reader.read(one.read);
          expect(shownOf(waiting.items, one.read)).toEqual(trulyOf(one.read));
          expect(shownOf((await reader.next()).items, one.read)).toEqual(trulyOf(one.read));
        } else if ('ms' in one) pass(one.ms);
        else await reader.next();
      }
      state.listed.clear();
      for (const [id, now] of state.now) if (now !== 'ended') state.listed.set(id, now);
      pass(31_000);
      const { items } = await reader.next();
      for (const id of ['a', 'b', 'c']) expect(shownOf(items, id)).toEqual(trulyOf(id));
    }),
  );
});
