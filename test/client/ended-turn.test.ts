import { answerDecision, answerResolution } from '../../src/client/ended-turn';
import { viewOf, type TurnView } from '../../src/history/view';
import {
  accepted,
  ask,
  authority,
  doubtOfTwo,
  item,
  requested,
  run,
  runAgain,
  Script,
  voidedAgain,
  waits,
} from '../history/script';

/** A turn that ended with one request decided, one expired, one open, and a call that needed nobody. */
function ended(): TurnView {
  const calls = [ask('1.1'), ask('1.2'), ask('1.3', {}, { requestExpiresMs: null }), run('1.4')];
  const script = new Script().started().task().think(1, calls);
  script.open([item('1.1'), item('1.2'), item('1.3', { deadline: null })]);
  script.update('decide', { callId: '1.1', decision: 'denied' }, accepted('1.1', 'denied'));
  script
    .wait(60_000)
    .task()
    .close({ expired: ['1.2'] }, [item('1.3', { deadline: null })]);
  script.add({ kind: 'canceled' });
  return viewOf(script.fold());
}

test.each([
  ['1.1', 'already_decided'],
  ['1.2', 'expired'],
  ['1.3', 'cancelled'],
  ['1.4', 'unknown_call'],
  ['9.9', 'unknown_call'],
])('deciding on %s after the end: %s', (callId, code) => {
  const answer = answerDecision(ended(), { callId, decision: 'approved', decisionId: 'mine' });
  expect(answer).toMatchObject({
    status: 'refused',
    verdict: { accepted: false, code, callId, decisionId: 'mine' },
  });
});

test('who decided is shown', () => {
  const answer = answerDecision(ended(), { callId: '1.1', decision: 'approved' });
  expect(answer).toMatchObject({ verdict: { standing: { decision: 'denied', approver: 'ann' } } });
});

test('a repeat of the decision that stands is accepted', () => {
  const answer = answerDecision(ended(), { callId: '1.1', decision: 'denied', decisionId: 'd-1.1-denied' });
  expect(answer).toMatchObject({
    status: 'accepted',
    verdict: { accepted: true, decision: 'denied', approver: 'ann' },
  });
});

test.each([{ decision: 'approved' as const }, { decision: 'denied' as const, reason: 'changed my mind' }])(
  'the same id with other content is not a repeat: %p',
  (content) => {
    const answer = answerDecision(ended(), { callId: '1.1', decisionId: 'd-1.1-denied', ...content });
    expect(answer).toMatchObject({ status: 'refused', verdict: { code: 'malformed' } });
  },
);

test.each([
  ['accepted', { decisionId: 'd-1.1-approved' }],
  ['refused', { decisionId: 'mine' }],
])('a vote on a request that expired without the other vote decided nothing: %s with %p', (status, id) => {
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .open([item('1.1')]);
  const needs = { approvals: 1, who: [] };
  script.update('decide', { callId: '1.1', decision: 'approved' }, accepted('1.1', 'approved', { needs }));
  script
    .wait(60_000)
    .task()
    .close({ expired: ['1.1'] });
  script.add({ kind: 'canceled' });
  const answer = answerDecision(viewOf(script.fold()), { callId: '1.1', decision: 'approved', ...id });
  expect(answer).toMatchObject({ status, verdict: status === 'refused' ? { code: 'expired' } : {} });
});

/** A turn with a call that was in doubt, and what became of it. */
function doubted(resolution?: string): TurnView {
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .open([item('1.1')]);
  script.update('decide', { callId: '1.1', decision: 'approved' }, accepted('1.1', 'approved'));
  script.fails(script.call(ask('1.1')), { message: 'pipe' }).open([item('1.1', { kind: 'in_doubt' })]);
  if (resolution !== undefined)
    script.update('resolve', { callId: '1.1', resolution }, accepted('1.1', resolution));
  script.add({ kind: 'canceled' });
  return viewOf(script.fold());
}

test.each([
  [doubted(), '1.1', 'cancelled'],
  [doubted('did-not'), '1.1', 'already_decided'],
  [ended(), '1.1', 'already_decided'],
  [ended(), '9.9', 'unknown_call'],
])('resolving after the end %#: %s %s', (view, callId, code) => {
  expect(answerResolution(view, { callId, resolution: 'happened' })).toMatchObject({ verdict: { code } });
});

/** A turn that was cancelled after one vote of two to run its call again. */
function halfAgain(): TurnView {
  const script = runAgain(doubtOfTwo(), 'ann', waits);
  script.add({ kind: 'canceled' });
  return viewOf(script.fold());
}

test('a vote that waited for another one resolved nothing', () => {
  const answer = answerResolution(halfAgain(), { callId: '1.1', resolution: 'run-again', approver: 'ben' });
  expect(answer).toMatchObject({ verdict: { code: 'cancelled' } });
});

test('a second doubt is unresolved, although a person ran the call again after the first', () => {
  const script = runAgain(runAgain(doubtOfTwo(), 'ann', waits), 'ben');
  const call = ask('1.1', { authority: authority(2) });
  script.fails(script.call(call, {}, 1), { message: 'pipe' }).open([item('1.1', { kind: 'in_doubt' })]);
  script.add({ kind: 'canceled' });
  const answer = answerResolution(viewOf(script.fold()), { callId: '1.1', resolution: 'run-again' });
  expect(answer).toMatchObject({ verdict: { code: 'cancelled' } });
});

test('a resolution that a worker voided settled nothing', () => {
  const script = voidedAgain();
  const said = { callId: '1.1', decision: 'denied', decisionId: 'no' };
  script.update('decide', said, accepted('1.1', 'denied', { decisionId: 'no' }));
  script.add({ kind: 'canceled' });
  const answer = answerResolution(viewOf(script.fold()), { callId: '1.1', resolution: 'run-again' });
  expect(answer).toMatchObject({ verdict: { code: 'already_decided' } });
});

test('a repeat of a vote gets its first verdict again', () => {
  const said = { callId: '1.1', resolution: 'run-again' as const, decisionId: 'again-ann' };
  expect(answerResolution(halfAgain(), said)).toMatchObject({
    status: 'accepted',
    verdict: { approver: 'ann', decision: 'run-again', needs: waits.needs },
  });
});

test.each([
  ['the votes that it needed', 'approved', {}, waits, waits],
  ['that it asks again', 'modified', { arguments: { n: 2 } }, { asksAgain: true }, { asksAgain: true }],
  ['that it was not bound to what was seen', 'approved', {}, {}, { unbound: true }],
] as const)(
  'a repeat of a decision gets its first verdict again: %s',
  (_, decision, content, first, again) => {
    const script = requested({ authority: authority(2) });
    script.update('decide', { callId: '1.1', decision, ...content }, accepted('1.1', decision, first));
    script.add({ kind: 'canceled' });
    const said = { callId: '1.1', decision, ...content, decisionId: `d-1.1-${decision}` };
    const answer = answerDecision(viewOf(script.fold()), said);
    expect(answer).toMatchObject({ status: 'accepted', verdict: again });
  },
);

test('a repeat of a vote that came by signal names the votes that are needed', () => {
  const script = requested({ authority: authority(2) });
  const said = { callId: '1.1', decision: 'approved' as const, approver: 'ann', decisionId: 'mine' };
  const at = '2026-01-01T00:00:30.000Z';
  script.signal('approval', said);
  script.verdicts([{ callId: '1.1', verdict: 'accepted', decisionId: 'mine', at, stillWaits: true }]);
  script.add({ kind: 'canceled' });
  expect(answerDecision(viewOf(script.fold()), said)).toMatchObject({
    verdict: { accepted: true, needs: { approvals: 1, who: ['ben', 'eve'] } },
  });
});
