import fc from 'fast-check';
import { addSpent, noSpending, raised, restOf } from '../../../src/contract/spending/budget';
import type { SessionStates } from '../../../src/contract/session';
import { defined } from '../../../src/contract/defined';
import { DROPPED_OUTPUT, type TranscriptEntry } from '../../../src/contract/transcript';
import { readRecord } from '../../../src/contract/session/conversation';
import { isSessionInput } from '../../../src/workflows/session/memory';
import * as state from '../../../src/workflows/session/state';
import { end, message, send, turnId } from './support';
import { runs } from '../../support/properties';

it('is asked for a summary where there is something to summarize, or will be after the running turn', () => {
  const session = state.makeSession({ agent: 'a' });
  const asked = (): unknown => state.judgeControl(session, { action: 'compact' });
  const refused = { accepted: false, code: 'refused' };
  expect(asked()).toMatchObject(refused);
  for (const id of ['m1', 'm2']) {
    send(session, message(id));
    state.beginTurn(session, turnId);
    expect(asked()).toMatchObject(id === 'm1' ? refused : { action: 'compact' });
    end(session);
  }
  expect(asked()).toEqual({ action: 'compact' });
});

it('asks for no summary for ten turns after no model could write one, unless a person asks', () => {
  const session = state.makeSession({ agent: 'a' });
  const turn = (id: string): void => {
    send(session, message(id));
    state.beginTurn(session, turnId);
    const entries = [{ kind: 'words' as const, text: 'x'.repeat(4_000) }];
    state.endTurn(session, { entries, took: [], compactOver: 2_000 }, 'answered');
  };
  const isAsked = (): boolean => state.beginCompaction(session) !== undefined;
  for (const id of ['m1', 'm2', 'm3']) turn(id);
  expect(isAsked()).toBe(true);
  state.noteNoSummary(session);
  const asked = Array.from({ length: 10 }, (_, n) => {
    turn(`later-${n}`);
    return isAsked();
  });
  expect(asked).toEqual([...Array.from({ length: 9 }, () => false), true]);
  state.noteNoSummary(session);
  state.takeControl(session, { action: 'compact' });
  expect(isAsked()).toBe(true);
});

const amount = fc.integer({ min: 0, max: 1000 });
const spending = fc.record({ tokens: amount, steps: amount, time: amount, euros: amount });
const budgetAct = fc.oneof(
  fc.record({ kind: fc.constant('turn' as const), spent: spending, more: amount }),
  fc.record({ kind: fc.constant('lost' as const) }),
  fc.record({ kind: fc.constant('continue' as const) }),
);

it('counts what each turn has spent once, and keeps what people added, over turns and runs', () => {
  fc.assert(
    fc.property(fc.array(budgetAct, { maxLength: 60 }), (acts) => {
      let session = state.makeSession({ agent: 'a', budget: { tokens: 500, then: 'ask' } });
      let expected = noSpending();
      let allowed = 500;
      for (const [n, one] of acts.entries()) {
        if (one.kind === 'continue') {
          const carried: unknown = JSON.parse(JSON.stringify(state.carriedSession(session)));
          const input = { agent: 'a', carried };
          if (!isSessionInput(input)) throw new Error('what a session takes along cannot be read');
          session = state.makeSession(input);
          continue;
        }
        send(session, message(`m${n}`));
        state.beginTurn(session, turnId);
        const { budget, spent: before } = session.spending;
        expect(restOf(budget, before).tokens).toBe(Math.max(0, allowed - expected.tokens));
        const entries = [{ kind: 'words' as const, text: 'x' }];
        if (one.kind === 'lost') state.endTurn(session, { entries, took: [] }, 'terminated');
        else {
          const { euros, ...rest } = one.spent;
          const spent = { ...rest, money: { EUR: euros } };
          expected = addSpent(expected, spent);
          allowed += one.more;
          const more = raised(budget, { tokens: one.more });
          state.endTurn(
            session,
            { entries, took: [], spending: { budget: more, isSet: true, spent } },
            'answered',
          );
        }
      }
      expect(session.spending.spent).toEqual(expected);
      expect(session.spending.budget).toEqual({ tokens: allowed, then: 'ask' });
    }),
    { numRuns: runs(300) },
  );
});

it.each([
  [{ agent: 'a', budget: { tokens: -1 } }],
  [{ agent: 'a', budget: { speed: 1 } }],
  [{ agent: 'a', carried: { ...state.carriedSession(state.makeSession({ agent: 'a' })), spending: {} } }],
])('%j starts no session', (input) => expect(isSessionInput(input)).toBe(false));

it('keeps no outputs of earlier turns once a model took the conversation only without them', () => {
  const session = state.makeSession({ agent: 'a' });
  const call = { callId: '1.1', id: 'c', tool: 'look' };
  const content = 'o'.repeat(200);
  const entries: TranscriptEntry[] = [
    { kind: 'reply', replyId: 'r', text: '', calls: [{ ...call, arguments: {} }] },
    { kind: 'result', ...call, content, success: true },
  ];
  const run = (id: string, record: object): void => {
    send(session, message(id));
    state.beginTurn(session, turnId);
    const read = readRecord({ entries, took: [], ...record });
    if (read !== undefined) state.endTurn(session, read, 'answered');
  };
  const outputs = () => session.memory.entries.flatMap((one) => (one.kind === 'result' ? one.content : []));
  run('m1', {});
  const { digest } = session.memory.ref;
  run('m2', { shortened: true });
  expect(outputs()).toEqual([DROPPED_OUTPUT, content]);
  // A worker that remembers the whole conversation has to read it anew.
  expect(session.memory.ref.before?.digest).not.toBe(digest);
  run('m3', {});
  expect(outputs()).toEqual([DROPPED_OUTPUT, content, content]);
});

describe('state that calls share', () => {
  const key = JSON.stringify(['session', 'memory', '']);
  const held = (runId: string) => ({ holder: { queue: 'countersign-worker:1@here:a', begunBy: 'k', runId } });
  const endWith = (session: state.SessionMachine, states?: SessionStates): void => {
    send(session, message(`m${session.turns}`));
    state.beginTurn(session, turnId);
    state.endTurn(session, { entries: [], took: [], ...defined({ states }) }, 'cancelled');
  };

  it('goes from turn to turn, and to the next run', () => {
    const session = state.makeSession({ agent: 'a' });
    endWith(session, { runId: 's1', known: [[key, held('t1')]] });
    endWith(session);
    const input = { agent: 'a', carried: state.carriedSession(session) };
    expect(isSessionInput(input)).toBe(true);
    expect(state.makeSession(input).states).toEqual([[key, held('t1')]]);
    endWith(session, { runId: 's1', known: [] });
    expect(state.carriedSession(session)).not.toHaveProperty('states', expect.anything());
  });

  it('is lost in a run that a reset made, unless a turn of that run left it', () => {
    const before = state.makeSession({ agent: 'a' });
    endWith(before, { runId: 's1', known: [[key, held('t1')]] });
    const session = state.makeSession({ agent: 'a', carried: state.carriedSession(before) }, 's2');
    expect(session.states).toEqual([[key, { lost: true }]]);
    endWith(session, { runId: 's1', known: [[key, held('t2')]] });
    expect(session.states).toEqual([[key, { lost: true }]]);
    endWith(session, { runId: 's2', known: [[key, held('t3')]] });
    expect(session.states).toEqual([[key, held('t3')]]);
  });

  it.each([[1], [[1]], [[[key]]], [[[key, { holder: 'a' }]]]])('%j is none', (states) => {
    const carried = { ...state.carriedSession(state.makeSession({ agent: 'a' })), states };
    expect(isSessionInput({ agent: 'a', carried })).toBe(false);
    const record = { entries: [], took: [], states: { runId: 'r', known: states } };
    expect(readRecord(record)).toEqual({ entries: [], took: [] });
  });
});

describe('whose words a turn reads', () => {
  const bobs = { ...message('m1'), sender: 'bob' };

  it.each<[string, object, object]>([
    ['a message that left no record', {}, { requester: 'rita', others: ['bob'] }],
    ['a message and what steered its turn', { requesters: ['bob', 'eve'] }, { others: ['bob', 'eve'] }],
  ])('its session keeps: of %s', (_, record, expected) => {
    const session = state.makeSession({ agent: 'a', origin: { requester: 'rita' } });
    send(session, bobs);
    state.beginTurn(session, turnId);
    state.endTurn(session, { entries: [], took: [], ...record }, 'cancelled');
    expect(session.origin).toMatchObject(expected);
  });

  it('names somebody where nobody knows whose they were', () => {
    const session = state.makeSession({ agent: 'a' });
    send(session, message('m1'));
    state.beginTurn(session, turnId);
    end(session);
    expect(state.originOfTurn(session.origin, 'rita')).toEqual({ requester: 'rita', others: ['somebody'] });
  });

  it.each<[string, Parameters<typeof state.originOfTurn>[0], string | undefined, object]>([
    ['of who began the session', { requester: 'rita' }, undefined, { requester: 'rita', others: [] }],
    ['of somebody else too', { requester: 'rita' }, 'bob', { requester: 'bob', others: ['rita'] }],
    [
      'of somebody whose words it read before',
      { requester: 'rita', others: ['bob', 'eve'] },
      'bob',
      { requester: 'bob', others: ['eve', 'rita'] },
    ],
    ['of nobody', undefined, undefined, {}],
  ])('are those %s', (_, origin, sender, expected) => {
    expect({ others: [], ...state.originOfTurn(origin, sender) }).toEqual({ others: [], ...expected });
  });
});
