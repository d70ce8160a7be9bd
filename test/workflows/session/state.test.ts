import fc from 'fast-check';
import { addSpent, noSpending, raised, restOf } from '../../../src/contract/spending/budget';
import { LIMITS } from '../../../src/contract/limits';
import { MODES, turnIdIn, type SessionMessage, type SessionStates } from '../../../src/contract/session';
import { defined } from '../../../src/contract/defined';
import { readRecord } from '../../../src/contract/session/conversation';
import { isSessionInput } from '../../../src/workflows/session/memory';
import * as state from '../../../src/workflows/session/state';

const AT = '2026-11-23T00:00:00.000Z';
const turnId = (n: number): string => turnIdIn('s', n);
const message = (
  messageId: string,
  mode: SessionMessage['mode'] = 'queue',
  text = messageId,
): SessionMessage => {
  return { messageId, text, mode };
};

/** Judges and takes a message; what was refused is returned as its code. */
const send = (session: state.Session, sent: unknown): string => {
  const judged = state.judgeMessage(session, sent);
  if (judged.kind === 'refuse') return judged.refused.code;
  return judged.kind === 'repeat' ? 'repeat' : state.takeMessage(session, judged.message, AT).outcome;
};

const end = (session: state.Session, took: string[] = []): void =>
  state.endTurn(session, { entries: [{ kind: 'words', text: 'x' }], took }, 'answered');

describe('a message', () => {
  it.each([
    ['no words', { messageId: 'a', text: ' \n', mode: 'queue' }],
    ['no id', { text: 'a', mode: 'queue' }],
    ['an id of other letters', { messageId: 'a b', text: 'a', mode: 'queue' }],
    ['an unknown mode', { messageId: 'a', text: 'a', mode: 'shout' }],
    ['another field', { messageId: 'a', text: 'a', mode: 'queue', more: 1 }],
    ['a text over 1 MiB', { messageId: 'a', text: 'a'.repeat(1024 * 1024), mode: 'queue' }],
    ['a text over 1 MiB as JSON', { messageId: 'a', text: '\u0001'.repeat(200_000), mode: 'queue' }],
    ['a sender of two lines', { messageId: 'a', text: 'a', mode: 'queue', sender: 'a\nb' }],
    ['another agent', { messageId: 'a', text: 'a', mode: 'queue', agent: 'other' }],
    ['nothing', undefined],
  ])('with %s is refused', (_case, sent) => {
    expect(send(state.makeSession({ agent: 'a' }), sent)).toBe('malformed');
  });

  it('counts once; with another text it is refused', () => {
    const session = state.makeSession({ agent: 'a' });
    expect([
      send(session, message('m')),
      send(session, message('m')),
      send(session, message('m', 'queue', 'x')),
    ]).toEqual(['started', 'repeat', 'message_changed']);
    expect(session.waiting).toHaveLength(1);
  });

  it('is refused while the session closes, and when too many wait', () => {
    const session = state.makeSession({ agent: 'a' });
    for (let n = 0; n < LIMITS.sessionWaiting; n++) send(session, message(`m${n}`));
    expect(send(session, message('more'))).toBe('session_full');
    state.takeControl(session, { action: 'close' });
    expect(send(session, message('late'))).toBe('session_closing');
    expect(send(session, message('m1'))).toBe('repeat');
  });
});

it('is asked for a summary where there is something to summarize, or will be after the running turn', () => {
  const session = state.makeSession({ agent: 'a' });
  const asked = (): unknown => state.judgeControl(session, { action: 'compact' });
  const refused = { accepted: false, code: 'nothing_to_compact' };
  expect(asked()).toMatchObject(refused);
  for (const id of ['m1', 'm2']) {
    send(session, message(id));
    state.beginTurn(session, turnId);
    expect(asked()).toMatchObject(id === 'm1' ? refused : { action: 'compact' });
    end(session);
  }
  expect(asked()).toEqual({ action: 'compact' });
});

it('remembers the last 1,000 ids, over runs too', () => {
  let session = state.makeSession({ agent: 'a' });
  for (let n = 0; n <= LIMITS.sessionIds; n++) {
    send(session, message(`m${n}`));
    state.beginTurn(session, turnId);
    end(session);
    if (n % 300 === 0) session = state.makeSession({ agent: 'a', carried: state.carriedSession(session) });
  }
  expect([send(session, message('m1')), send(session, message('m0'))]).toEqual(['repeat', 'started']);
});

it('an interrupt goes first, then what the turn did not take up, then what was queued', () => {
  const session = state.makeSession({ agent: 'a' });
  send(session, message('first'));
  state.beginTurn(session, turnId);
  const outcomes = [message('q'), message('s1', 'steer'), message('s2', 'steer'), message('i', 'interrupt')];
  expect(outcomes.map((one) => send(session, one))).toEqual([
    'queued',
    'steering',
    'steering',
    'interrupting',
  ]);
  expect(send(session, message('s3', 'steer'))).toBe('queued');
  end(session, ['s1']);
  expect(session.waiting.map(({ messageId }) => messageId)).toEqual(['i', 's2', 'q', 's3']);
});

const act = fc.oneof(
  fc.record({ kind: fc.constant('send' as const), id: fc.nat(30), mode: fc.constantFrom(...MODES) }),
  fc.record({ kind: fc.constant('begin' as const) }),
  fc.record({ kind: fc.constant('end' as const), takes: fc.nat(3) }),
  fc.record({ kind: fc.constant('continue' as const) }),
  fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'cancel_turn' as const) }),
);

it('loses and doubles no message, in any order of messages, turns and runs', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 120 }), (acts) => {
      let session = state.makeSession({ agent: 'a' });
      const sent = new Set<string>();
      const done: string[] = [];
      for (const one of acts) {
        if (one.kind === 'send') {
          sent.add(`m${one.id}`);
          send(session, message(`m${one.id}`, one.mode));
        } else if (one.kind === 'begin') state.beginTurn(session, turnId);
        else if (one.kind === 'end' && session.running !== undefined) {
          const { message: about, steering } = session.running;
          const took = steering.slice(0, one.takes).map(({ messageId }) => messageId);
          done.push(about.messageId, ...took);
          end(session, took);
        } else if (one.kind === 'continue' && session.running === undefined) {
          const carried: unknown = JSON.parse(JSON.stringify(state.carriedSession(session)));
          const input = { agent: 'a', carried };
          if (!isSessionInput(input)) throw new Error('what a session takes along cannot be read');
          session = state.makeSession(input);
        } else if (one.kind === 'pause' || one.kind === 'resume' || one.kind === 'cancel_turn')
          state.takeControl(session, { action: one.kind });
      }
      const { waiting, running } = session;
      const held = [...waiting, ...(running === undefined ? [] : [running.message, ...running.steering])];
      const all = [...done, ...held.map(({ messageId }) => messageId)];
      expect(all.sort()).toEqual([...sent].sort());
    }),
    { numRuns: 300 },
  );
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
    { numRuns: 300 },
  );
});

it.each([
  [{ agent: 'a', budget: { tokens: -1 } }],
  [{ agent: 'a', budget: { speed: 1 } }],
  [{ agent: 'a', carried: { ...state.carriedSession(state.makeSession({ agent: 'a' })), spending: {} } }],
])('%j starts no session', (input) => expect(isSessionInput(input)).toBe(false));

describe('state that calls share', () => {
  const key = JSON.stringify(['session', 'memory', '']);
  const held = (runId: string) => ({ holder: { queue: 'countersign-worker:1@here:a', begunBy: 'k', runId } });
  const endWith = (session: state.Session, states?: SessionStates): void => {
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
    expect(state.carriedSession(session)).not.toHaveProperty('states');
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
