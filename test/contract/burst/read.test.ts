import { readBurstOutput } from '../../../src/contract/burst/read';
import { result, thinkOutput } from '../../history/script';
import { validCall } from '../../support/calls';

const pure = validCall({ kind: 'run', effect: 'pure' });
const reply = thinkOutput([pure]);
const call = { callId: '1.1', started: 1, ended: 2, attempts: 1, output: { result: result('1.1') } };
const step = { reply, asked: 0, replied: 1, calls: [call] };
const open = { reply, asked: 3, replied: 4 };
const output = { steps: [step, open], ms: 5 };
const putting = thinkOutput([validCall({ kind: 'run', effect: 'idempotent' })]);

test('what a burst returns is read as it is', () => {
  expect(readBurstOutput(output)).toEqual(output);
  const failed = { ...output, steps: [step], failed: { message: 'slow', waitMs: 7 } };
  expect(readBurstOutput(failed)).toEqual(failed);
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['text', 'done'],
  ['a list', [output]],
  ['the output of think', reply],
  ['no steps', { ...output, steps: [] }],
  ['steps of another form', { ...output, steps: { 0: step } }],
  ['no duration', { steps: output.steps }],
  ['an endless duration', { ...output, ms: 1e300 }],
  ['a duration below zero', { ...output, ms: -1 }],
  ['an open step that is not the last', { ...output, steps: [open, step] }],
  ['a step without its reply', { ...output, steps: [{ ...step, reply: undefined }] }],
  ['a reply that cannot be read', { ...output, steps: [{ ...step, reply: { ...reply, maxSteps: 0 } }] }],
  ['a time that is none', { ...output, steps: [{ ...step, asked: 'soon' }] }],
  ['an answer that is said to have calls', { ...output, steps: [{ ...step, reply: thinkOutput([]) }] }],
  ['a call with an effect that it says it ran', { ...output, steps: [{ ...step, reply: putting }] }],
  ['a call without its result', { ...output, steps: [{ ...step, calls: [] }] }],
  ['more results than calls', { ...output, steps: [{ ...step, calls: [call, call] }] }],
  ['the result of another call', { ...output, steps: [{ ...step, calls: [{ ...call, callId: '1.2' }] }] }],
  [
    'a result that names another call',
    { ...output, steps: [{ ...step, calls: [{ ...call, output: { result: result('1.2') } }] }] },
  ],
  [
    'a call in doubt',
    { ...output, steps: [{ ...step, calls: [{ ...call, output: { inDoubt: { message: '?' } } }] }] },
  ],
  ['no attempts', { ...output, steps: [{ ...step, calls: [{ ...call, attempts: 0 }] }] }],
  ['half an attempt', { ...output, steps: [{ ...step, calls: [{ ...call, attempts: 1.5 }] }] }],
  ['a failure without words', { ...output, failed: {} }],
  ['a failure to be waited for too long', { ...output, failed: { message: 'x', waitMs: 1e12 } }],
])('%s is not read', (_, value) => {
  expect(readBurstOutput(value)).toBeUndefined();
});
