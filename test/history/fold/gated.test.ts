import { viewOf } from '../../../src/history/view';
import { foldAll } from '../../../src/history/fold';
import { ask, item, Script } from '../script';

/** A workflow that is no turn and gates a call. */
const gated = (value: unknown = ask('1.1'), key = 'gated.1.1'): Script => {
  const script = new Script();
  script.add({
    ...{ kind: 'started', turn: 'refund-17', runId: 'r', taskQueue: 'q' },
    workflowType: 'refundOrder',
    input: '17',
  });
  script.task().add({ kind: 'memo', fields: { [key]: value } });
  return script;
};

test('its workflow type stands for the agent', () => {
  expect(gated().told('turn_started')).toMatchObject([
    { turn: 'refund-17', agent: 'refundOrder', prompt: '' },
  ]);
});

test('a call is told from its memo, and is a request once it is listed as open', () => {
  const before = gated();
  expect(before.told('call_prepared')).toMatchObject([{ call: { callId: '1.1', tool: 'pay', kind: 'ask' } }]);
  expect(before.told('request_opened')).toEqual([]);
  const script = before.open([item('1.1')]);
  expect(script.told('request_opened')).toMatchObject([
    { callId: '1.1', callKey: 'key:1.1', arguments: { n: 1 }, argsDigest: 'd1' },
  ]);
  expect(viewOf(foldAll(script.events))).toMatchObject({
    status: 'waiting',
    calls: [{ callId: '1.1', tool: 'pay', step: 1, arguments: { n: 1 }, phase: 'requested' }],
  });
});

test.each([
  ['null, as when it closes', null, 'gated.1.1'],
  ['no call', { callId: '1.1' }, 'gated.1.1'],
  ['a call that needs nobody', { ...ask('1.1'), kind: 'run' }, 'gated.1.1'],
  ['a call under the key of another', ask('1.1'), 'gated.1.2'],
  ['a call under a key of somebody else', ask('1.1'), 'open-calls'],
])('a memo that holds %s tells nothing', (_, value, key) => {
  const script = gated(value, key).open([item('1.1')]);
  expect([...script.told('call_prepared'), ...script.told('request_opened')]).toEqual([]);
});
