import fc from 'fast-check';
import { LIMITS } from '../../../src/contract/limits';
import { MODES } from '../../../src/contract/turn-states';
import { isSessionInput } from '../../../src/workflows/session/memory';
import * as state from '../../../src/workflows/session/state';
import { end, message, send, turnId } from './support';
import { runs } from '../../support/properties';

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
    ]).toEqual(['started', 'repeat', 'exists']);
    expect(session.waiting).toHaveLength(1);
  });

  it('is refused while the session closes, and when too many wait', () => {
    const session = state.makeSession({ agent: 'a' });
    for (let n = 0; n < LIMITS.sessionWaiting; n++) send(session, message(`m${n}`));
    expect(send(session, message('more'))).toBe('full');
    state.takeControl(session, { action: 'close' });
    expect(send(session, message('late'))).toBe('refused');
    expect(send(session, message('m1'))).toBe('repeat');
  });
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
    { numRuns: runs(300) },
  );
});
