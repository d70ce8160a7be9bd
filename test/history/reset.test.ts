import { planReset, type ResetPlan } from '../../src/history/reset';
import { accepted, ask, item, result, run, Script } from './script';

const told = ({ calls }: ResetPlan): string[] => calls.map(({ callId, outcome }) => `${callId} ${outcome}`);

const plan = (script: Script, before: string): ResetPlan => planReset([script.events], before);

const note = (callId: string) => ask(callId, { kind: 'run', tool: 'note' });

const done = (script: Script, call: ReturnType<typeof ask>): Script => {
  script.done(script.call(call), { result: result(call.callId) });
  return script.task();
};

/** Looks and notes at once, asks to pay twice: one is approved, one denied; then a second step. */
const turn = (): Script => {
  const script = new Script().started().task();
  script.think(1, [run('1.1'), note('1.2'), ask('1.3'), ask('1.4')]).open([item('1.3'), item('1.4')]);
  done(script, run('1.1'));
  done(script, note('1.2'));
  script.update('decide', { callId: '1.3', decision: 'approved' }, accepted('1.3', 'approved'));
  done(script, ask('1.3'));
  script.update('decide', { callId: '1.4', decision: 'denied' }, accepted('1.4', 'denied'));
  const results = ['1.1', '1.2', '1.3', '1.4'].map((callId) => ({ callId, digest: '', success: true }));
  script.think(2, [run('2.1'), ask('2.2')], { results }).open([item('2.2')]);
  return done(script, run('2.1'));
};

test.each<[string, string[]]>([
  ['1.1', ['1.1 runs_again', '1.2 in_doubt', '1.3 asked_again', '1.4 asked_again', '2.1 forgotten']],
  ['1.3', ['1.1 runs_again', '1.2 in_doubt', '1.3 asked_again', '1.4 asked_again', '2.1 forgotten']],
  ['2.1', ['2.1 runs_again', '2.2 asked_again']],
])('before %s', (before, expected) => {
  expect(told(plan(turn(), before))).toEqual(expected);
});

test('the task that is taken back is the one that asked or started it; replies stay', () => {
  const script = turn();
  const { events } = script;
  for (const before of ['1.3', '2.1']) {
    const { taskEventId, lastEventId, runId, turn: id } = plan(script, before);
    expect(events[taskEventId - 1]?.kind).toBe('task_completed');
    const replies = events.filter(
      (event) => event.kind === 'activity_completed' && event.eventId < taskEventId,
    );
    expect(replies.length).toBeGreaterThan(0);
    expect({ lastEventId, runId, id }).toEqual({ lastEventId: events.length, runId: 'r', id: 't' });
  }
});

test('what was settled before the task stays; what ran in it does not', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [note('1.1'), note('1.2'), run('1.3'), note('1.4')]);
  done(script, note('1.1'));
  const open = script.call(run('1.3'));
  script.task();
  done(script, note('1.2'));
  script.done(open, { result: result('1.3') });
  expect(told(plan(script, '1.2'))).toEqual(['1.2 in_doubt', '1.3 runs_again', '1.4 in_doubt']);
});

test('what was allowed before the task and had not started starts only where nobody has to look', () => {
  const save = ask('1.3', {}, { effect: 'idempotent' });
  const script = new Script().started().task();
  script.think(1, [note('1.1'), ask('1.2'), save, run('1.4')]).open([item('1.2'), item('1.3')]);
  for (const callId of ['1.2', '1.3'])
    script.update('decide', { callId, decision: 'approved' }, accepted(callId, 'approved'));
  const open = script.open([]).task().call(note('1.1'));
  script.done(open, { result: result('1.1') });
  const outcomes = ['1.1 in_doubt', '1.2 in_doubt', '1.3 asked_again', '1.4 starts'];
  expect(told(plan(script, '1.1'))).toEqual(outcomes);
});

test('a request that expired is asked again, one that waits stays as it is', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1'), ask('1.2', {}, { requestExpiresMs: null })]);
  script
    .open([item('1.1'), item('1.2', { deadline: null })])
    .wait(60_000)
    .task();
  script.close({ expired: ['1.1'] }, [item('1.2', { deadline: null })]);
  expect(told(plan(script, '1.1'))).toEqual(['1.1 asked_again', '1.2 asked_again']);
  expect(() => plan(script, '1.2')).toThrow(expect.objectContaining({ code: 'refused' }));
});

test.each([
  ['a call that is not there', '9.1', 'not_found'],
  ['a step', '1', 'not_found'],
  ['a call that waits', '2.2', 'refused'],
])('%s is refused', (_, before, code) => {
  expect(() => plan(turn(), before)).toThrow(expect.objectContaining({ code }));
});

test('a call that could never run has nothing to go back to', () => {
  const invalid = {
    kind: 'invalid',
    callId: '1.1',
    id: 'x',
    tool: 'nothing',
    proposed: {},
    result: result('1.1', { success: false }),
  } as const;
  const script = new Script().started().task().think(1, [invalid]);
  expect(() => plan(script, '1.1')).toThrow(expect.objectContaining({ code: 'refused' }));
});

test('a call of an earlier run is refused with the way out', () => {
  const first = done(
    new Script()
      .started()
      .task()
      .think(1, [run('1.1')]),
    run('1.1'),
  );
  first.add({ kind: 'continued_as_new', newRunId: 'r2' });
  const second = new Script();
  second.add({
    kind: 'started',
    turn: 't',
    runId: 'r2',
    continuedFrom: 'r',
    taskQueue: 'q',
    input: { agent: 'a', prompt: '' },
  });
  done(second.task().think(2, [run('2.1')]), run('2.1'));
  const runs = [first.events, second.events];
  expect(told(planReset(runs, '2.1'))).toEqual(['2.1 runs_again']);
  expect(() => planReset(runs, '1.1')).toThrow(
    expect.objectContaining({
      code: 'refused',
      hint: expect.stringContaining('countersign fork t --at 1.1'),
    }),
  );
});

test.each([[[]], [[[]]]])('no record at all is a bad history', (runs) => {
  expect(() => planReset(runs, '1.1')).toThrow(expect.objectContaining({ code: 'bad_history' }));
});

test('a call that is asked again after an edit by signal is not approved by it: it goes on waiting', () => {
  const preview = { text: 'pays' };
  const script = new Script().started().task();
  script.think(1, [ask('1.1', { preview }), note('1.2')]).open([item('1.1')]);
  const edit = { callId: '1.1', decision: 'modified', arguments: { n: 5 }, decisionId: 'd' };
  script.signal('approval', edit).task().open([]);
  script.verdicts([{ callId: '1.1', verdict: 'accepted', decisionId: 'd', at: 'x', asksAgain: true }]);
  const prepare = { id: 'prepare-1.1', activityType: 'countersign.prepare', taskQueue: 'q', input: {} };
  const scheduled = script.add({ kind: 'activity_scheduled', ...prepare });
  script.done(scheduled, { call: ask('1.1', { arguments: { n: 5 }, preview }) }).task();
  script.open([item('1.1', { since: '2026-01-01T00:00:20.000Z' })]).task();
  done(script, note('1.2'));
  expect(told(plan(script, '1.2'))).toEqual(['1.2 in_doubt']);
});
