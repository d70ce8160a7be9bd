import { readCallOutput, readResult, readVerifyOutput } from '../../src/contract/call-payloads';
import { LIMITS } from '../../src/contract/limits';
import { holderQueue } from '../../src/contract/names';
import { result } from '../history/script';

const outcome = { result: result('1.1'), contentDigest: 'd' };
const HOLDER = { queue: holderQueue({ pid: 7, host: 'h' }, 'x'), begunBy: 'k:1.1:0', runId: 'r' };
const failed = { ...result('1.1'), success: false, error: { code: 'tool', message: 'no' } };
const SECRET = 'what only the worker knows that took the call';

const readOutput = (value: unknown, callId: string): unknown =>
  readCallOutput(value, { callId, secret: SECRET });

it.each<[string, unknown, boolean]>([
  ['a doubt', { inDoubt: { message: 'lost' } }, true],
  ['a doubt with what it had', { inDoubt: { message: 'lost', partial: 'half', running: true } }, true],
  ['a doubt without words', { inDoubt: {} }, false],
  ['a doubt that does not run', { inDoubt: { message: 'lost', running: false } }, false],
  ['a question', { askAgain: 'outdated' }, true],
  ['nobody here', { notHere: 'no agent', secret: SECRET }, true],
  ['nobody here, as somebody says who has not the secret', { notHere: 'no agent', secret: 's' }, false],
  ['nobody here, without the secret', { notHere: 'no agent' }, false],
  ['nobody here, with a number', { notHere: 5 }, false],
  ['a result without a success', { result: { ...result('1.1'), success: undefined } }, false],
  ['a failure without an error', { result: { ...result('1.1'), success: false } }, false],
  [
    'a failure of a code that nobody knows',
    { result: { ...failed, error: { code: 'x', message: '' } } },
    false,
  ],
  ['who holds its state', { ...outcome, holder: HOLDER }, true],
  ['a doubt, and who holds its state', { inDoubt: { message: 'lost' }, holder: HOLDER }, true],
  ['state that nobody holds', { ...outcome, holder: null }, true],
  ['a holder without a queue', { ...outcome, holder: { begunBy: 'k', runId: 'r' } }, false],
  [
    'a holder whose queue is over 1,000 bytes',
    { ...outcome, holder: { ...HOLDER, queue: `${HOLDER.queue}${'é'.repeat(500)}` } },
    false,
  ],
  ['a queue that is not of one worker', { ...outcome, holder: { ...HOLDER, queue: 'orders' } }, false],
  ['nothing', {}, false],
])('an output of a call: %s: %s', (_case, output, isRead) => {
  expect(readOutput(output, '1.1')).toBe(isRead ? output : undefined);
});

it.each<[string, unknown, boolean]>([
  ['it did not', { outcome: 'did_not', message: 'not there' }, true],
  ['nobody can tell', { outcome: 'cannot_tell', message: 'no answer' }, true],
  ['it happened, without a result', { outcome: 'happened' }, false],
  ['it did not, without words', { outcome: 'did_not' }, false],
  ['a word that nobody knows', { outcome: 'maybe', message: '' }, false],
])('whether a call happened: %s: %s', (_case, output, isRead) => {
  expect(readVerifyOutput(output, '1.1')).toBe(isRead ? output : undefined);
});

it('cuts a result that is larger than a tool may return, and says so', () => {
  const read = readResult(result('1.1', { content: 'é'.repeat(LIMITS.outputBytesMost) }), '1.1');
  expect(read?.content).toMatch(/^é+\n\[cut: it was over \d+ bytes\]$/);
  expect(Buffer.byteLength(read?.content ?? '')).toBeLessThanOrEqual(LIMITS.outputBytesMost);
});
