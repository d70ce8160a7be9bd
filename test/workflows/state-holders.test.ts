import fc from 'fast-check';
import type { KnownState, StateHolder, UsedState } from '../../src/contract/tool';
import { StateHolders } from '../../src/workflows/state-holders';
import { validCall } from '../support/calls';

const callOf = (callId: string, group = 'g', scope: 'turn' | 'worker' = 'turn') => {
  const call = validCall({ callId });
  return { ...call, settings: { ...call.settings, state: { scope, group } } };
};

const held = (queue: string, runId = 'r1'): StateHolder => ({ queue, begunBy: `k-${queue}`, runId });

it('knows nothing of a call that shares no state', () => {
  const states = new StateHolders();
  const call = validCall();
  expect(states.place(call)).toBeUndefined();
  expect(states.isFree(call)).toBe(true);
  expect(states.reserve(call)).toBe(true);
  states.end(call, undefined, { holder: held('a') });
  expect(states.carried()).toEqual([]);
});

it('lets the first call find a holder, and keeps the others until it has', () => {
  const states = new StateHolders();
  const [first, second] = [callOf('1.1'), callOf('1.2')];
  expect(states.place(first)).toEqual({});
  expect(states.isFree(second)).toBe(false);
  expect(states.reserve(second)).toBe(false);
  // Given back by a worker that lacks the tool: it goes on looking.
  expect(states.isFree(first)).toBe(true);
  states.end(first, {}, { holder: held('a') });
  expect(states.place(second)).toEqual({ holder: held('a') });
});

it.each<[string, ReturnType<typeof callOf>]>([
  ['group', callOf('1.2', 'other')],
  ['scope', callOf('1.2', 'g', 'worker')],
  ['task queue', { ...callOf('1.2'), settings: { ...callOf('1.2').settings, taskQueue: 'far' } }],
])('tells calls of another %s nothing', (_, other) => {
  const states = new StateHolders();
  states.end(callOf('1.1'), states.place(callOf('1.1')), { holder: held('a') });
  expect(states.place(other)).toEqual({});
});

it.each<[string, UsedState, KnownState]>([
  ['who holds it', { holder: held('b') }, { holder: held('b') }],
  ['that it may have run, nobody knows where', { holder: null }, { lost: true }],
  ['that its handler was not called', {}, {}],
])('takes from the call that looked for a holder %s', (_, used, next) => {
  const states = new StateHolders();
  states.end(callOf('1.1'), states.place(callOf('1.1')), used);
  expect(states.place(callOf('1.2'))).toEqual(next);
});

it('says that state is lost until a call has begun anew', () => {
  const states = new StateHolders([[JSON.stringify(['turn', 'g', '']), { holder: held('a') }]]);
  const call = callOf('2.1');
  const placed = states.place(call);
  expect(placed).toEqual({ holder: held('a') });
  states.leave(call, held('a'));
  expect(states.place(call)).toEqual({ lost: true });
  // It was refused before its handler.
  states.end(call, { lost: true }, {});
  expect(states.place(callOf('2.2'))).toEqual({ lost: true });
  states.end(callOf('2.2'), { lost: true }, { holder: held('b') });
  expect(states.place(callOf('2.3'))).toEqual({ holder: held('b') });
});

it('is not moved back by a call that ends late on the worker that was left', () => {
  const states = new StateHolders();
  states.end(callOf('1.1'), states.place(callOf('1.1')), { holder: held('a') });
  const slow = states.place(callOf('2.1'));
  states.leave(callOf('2.2'), held('a'));
  states.end(callOf('2.2'), states.place(callOf('2.2')), { holder: held('b') });
  states.end(callOf('2.1'), slow, { holder: held('a') });
  states.leave(callOf('2.3'), held('a'));
  expect(states.place(callOf('2.4'))).toEqual({ holder: held('b') });
});

it('is not sent elsewhere by a call that ran where the state is', () => {
  const states = new StateHolders();
  states.end(callOf('1.1'), states.place(callOf('1.1')), { holder: held('a') });
  states.end(callOf('2.1'), states.place(callOf('2.1')), { holder: held('evil') });
  expect(states.place(callOf('2.2'))).toEqual({ holder: held('a') });
});

it.each<[string, string | undefined, KnownState]>([
  ['the holder', undefined, { holder: held('a') }],
  ['the holder, where its state began in the run of a reset itself', 'r1', { holder: held('a') }],
  ['that state is lost which began before the reset', 'r2', { lost: true }],
])('carries %s', (_, runId, known) => {
  const states = new StateHolders();
  states.end(callOf('1.1'), states.place(callOf('1.1')), { holder: held('a') });
  const carried = states.carried(runId);
  expect(carried.map(([, one]) => one)).toEqual([known]);
  expect(new StateHolders(carried).place(callOf('2.1'))).toEqual(known);
});

it('carries nothing of a group that no call has used', () => {
  const states = new StateHolders();
  states.place(callOf('1.1'));
  expect(states.carried()).toEqual([]);
});

/** One call from its start to its end, as the steps of a turn drive it. */
type Act =
  | { act: 'start'; group: string }
  | { act: 'end'; which: number; used: 'here' | 'unknown' | 'unused' }
  | { act: 'gone'; which: number };

const acts = fc.array(
  fc.oneof(
    fc.record({ act: fc.constant('start' as const), group: fc.constantFrom('g', 'h') }),
    fc.record({
      act: fc.constant('end' as const),
      which: fc.nat(5),
      used: fc.constantFrom('here' as const, 'unknown' as const, 'unused' as const),
    }),
    fc.record({ act: fc.constant('gone' as const), which: fc.nat(5) }),
  ),
  { maxLength: 60 },
);

/** What is true of a group, kept in the plainest way. */
interface Truth {
  /** Workers that a call of the group has begun state on and that nobody has left. */
  at?: string;
  /** State was made that nobody can reach. */
  lost: boolean;
}

it('sends calls only to who holds the state of their group, one looks at a time, and no loss goes unsaid', () => {
  fc.assert(
    fc.property(acts, (list) => {
      runActs(list);
    }),
  );
});

function runActs(list: readonly Act[]): void {
  const states = new StateHolders();
  const truth = new Map<string, Truth>();
  let running: { call: ReturnType<typeof callOf>; group: string; placed: KnownState }[] = [];
  let count = 0;
  const start = (call: ReturnType<typeof callOf>, group: string): void => {
    const looking = running.filter((one) => one.group === group && one.placed.holder === undefined);
    const { at, lost } = truth.get(group) ?? { lost: false };
    if (!states.reserve(call)) {
      expect(at === undefined && looking.length === 1).toBe(true);
      return;
    }
    const placed = states.place(call) ?? {};
    expect(placed.holder?.queue).toBe(at);
    if (at === undefined) expect(looking).toEqual([]);
    expect(placed.lost === true).toBe(at === undefined && lost);
    running.push({ call, group, placed });
  };
  for (const one of list) {
    if (one.act === 'start') {
      start(callOf(`1.${++count}`, one.group), one.group);
      continue;
    }
    const chosen = running[one.which];
    if (chosen === undefined) continue;
    const { call, group, placed } = chosen;
    const known = truth.get(group) ?? { lost: false };
    running = running.filter((other) => other !== chosen);
    if (one.act === 'gone') {
      if (placed.holder === undefined) running.push(chosen);
      else {
        states.leave(call, placed.holder);
        if (known.at === placed.holder.queue) truth.set(group, { lost: true });
        start(call, group);
      }
      continue;
    }
    const holder = placed.holder ?? held(`w${++count}`);
    states.end(call, placed, one.used === 'unused' ? {} : { holder: one.used === 'here' ? holder : null });
    if (placed.holder !== undefined || one.used === 'unused') continue;
    truth.set(group, one.used === 'here' ? { at: holder.queue, lost: false } : { lost: true });
  }
}
