import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { useAgent } from '../support/agent-fixture';
import { recordTool } from '../support/effects';
import { startFixture } from '../support/fixture';
import { readBack } from '../support/script-book';
import { testAddress, testCli } from '../support/server';
import { decide, eventsOf, send, signalDecision, verdictsOf, waitFor } from '../support/turns';

const { effects, book, agent, start } = useAgent('payer', (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
]);
const pay = (tag: string) => ({ toolCalls: [{ name: 'pay', arguments: { tag } }] });

const refusedUpdates: [string, unknown, string][] = [
  ['for another call', { callId: '1.2', decision: 'approved' }, 'unknown_call'],
  ['that is no object', 'approved', 'malformed'],
  ['that is null', null, 'malformed'],
  ['with an edit but no arguments', { callId: '1.1', decision: 'modified' }, 'malformed'],
  ['for other arguments', { callId: '1.1', decision: 'approved', seenDigest: '0'.repeat(64) }, 'stale_args'],
  ['for another asking', { callId: '1.1', decision: 'approved', callKey: 'other' }, 'stale_args'],
  [
    'with hunks for a call that has none',
    { callId: '1.1', decision: 'approved', hunks: ['1'], seenDigest: '0'.repeat(64) },
    'stale_args',
  ],
  [
    'with hunks and without what was seen',
    { callId: '1.1', decision: 'approved', hunks: ['1'] },
    'malformed',
  ],
  [
    'with a reason over its limit',
    { callId: '1.1', decision: 'denied', reason: 'é'.repeat(2100) },
    'malformed',
  ],
];

test('refused updates leave no event and the request as it was; an accepted one leaves two', async () => {
  const handle = await start([pay('updates')]);
  const before = await eventsOf(handle);
  for (const [, message, code] of refusedUpdates) {
    expect(await send(handle, 'decide', message)).toMatchObject({ accepted: false, code });
  }
  expect(await eventsOf(handle)).toHaveLength(before.length);
  expect(await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' })).toMatchObject({
    accepted: true,
    callId: '1.1',
    decision: 'approved',
    approver: 'ann',
  });
  await handle.result();
  const updates = (await eventsOf(handle)).filter(
    (event) => event.workflowExecutionUpdateAcceptedEventAttributes,
  );
  expect(updates).toHaveLength(1);
  expect(await effects.lines('updates')).toHaveLength(1);
});

test('a signal is accepted, and a second one is refused in the memo', async () => {
  const handle = await start([pay('two signals')]);
  await signalDecision(handle, { callId: '1.9', decision: 'approved', decisionId: 'first' });
  await signalDecision(handle, { callId: '1.1', decision: 'denied', decisionId: 'second', approver: 'ann' });
  await handle.result();
  expect(await verdictsOf(handle)).toEqual([
    expect.objectContaining({ callId: '1.9', verdict: 'unknown_call', decisionId: 'first' }),
    expect.objectContaining({ callId: '1.1', verdict: 'accepted', decisionId: 'second' }),
  ]);
  expect(await effects.lines('two signals')).toEqual([]);
});

test("Temporal's own command line decides, word for word as the README shows it", async () => {
  const handle = await start([pay('cli')]);
  const input = '{"callId":"1.1","decision":"approved"}';
  const words = `workflow signal --workflow-id ${handle.workflowId} --name approval --input`.split(' ');
  await promisify(execFile)(testCli(), [...words, input, '--address', testAddress()]);
  expect(await handle.result()).toMatchObject({ answer: 'pay did cli' });
  expect(await effects.lines('cli')).toHaveLength(1);
});

test('a decision that is signalled with no worker up, after 150 bad ones, takes effect when one returns', async () => {
  const own = await startFixture({ workers: 0, agents: [agent()] });
  const worker = await own.addWorker();
  const handle = await own.start('payer', book.add(pay('nobody up'), readBack));
  await waitFor(handle, '1.1');
  await worker.stop();
  for (let n = 0; n < 150; n++) await signalDecision(handle, n);
  await signalDecision(handle, { callId: '1.1', decision: 'approved', decisionId: 'heard' });
  expect(await effects.lines('nobody up')).toEqual([]);
  await own.addWorker();
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect((await verdictsOf(handle)).at(-1)).toMatchObject({ verdict: 'accepted', decisionId: 'heard' });
  expect(await effects.lines('nobody up')).toHaveLength(1);
});
