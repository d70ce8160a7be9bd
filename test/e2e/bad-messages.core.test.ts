import { randomUUID } from 'node:crypto';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, RawValue } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { CONTROL, FAILURES, UPDATES } from '../../src/contract/names';
import { useAgent } from '../support/agent-fixture';
import { recordTool } from '../support/effects';
import type { TurnHandle } from '../support/fixture';
import { decide, eventsOf, verdictsOf } from '../support/turns';
import { until } from '../support/until';

const { book, client, effects, fixture, start } = useAgent('payer', (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
]);
const waiting = (tag: string): Promise<TurnHandle> =>
  start([{ toolCalls: [{ name: 'pay', arguments: { tag } }] }]);

/** Sends a signal with these payloads, as any client in any language could. */
const signalRaw = async (
  handle: TurnHandle,
  payloads: temporal.api.common.v1.IPayload[] | undefined,
  signalName = 'approval',
): Promise<void> => {
  await fixture().client.workflowService.signalWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: handle.workflowId },
    signalName,
    ...(payloads === undefined ? {} : { input: { payloads } }),
  });
};

/** The code an update was refused with. */
const refusalOf = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'accepted',
    (error: unknown) =>
      error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure
        ? String(error.cause.type)
        : Promise.reject(error),
  );

const payload = (encoding: string, data: string | Buffer) => ({
  metadata: { encoding: Buffer.from(encoding) },
  data: Buffer.from(data),
});

const sendHalf = (handle: Pick<TurnHandle, 'executeUpdate'>, update: string): Promise<string> =>
  refusalOf(
    handle.executeUpdate<unknown, [RawValue]>(update, {
      args: [RawValue.fromPayload(payload('json/plain', HALF))],
    }),
  );

/** A decision with new arguments, as text. */
const edit = (amount: string): string =>
  `{"callId":"1.1","decision":"modified","arguments":{"tag":"edited","amount":${amount}}}`;

/** A name that is half a character. A refusal quotes the name, and a failure with it cannot be written as UTF-8. */
const HALF = String.raw`{"\udc00":1}`;

const badSignals: [string, temporal.api.common.v1.IPayload[] | undefined][] = [
  ['null', [payload('json/plain', 'null')]],
  ['a number', [payload('json/plain', '42')]],
  ['a string', [payload('json/plain', '"approved"')]],
  ['a list', [payload('json/plain', '[{"callId":"1.1","decision":"approved"}]')]],
  ['JSON that is cut off', [payload('json/plain', '{"callId":"1.1","decis')]],
  ['JSON of the wrong shape', [payload('json/plain', '{"callId":1.1,"decision":"yes"}')]],
  ['an unknown field', [payload('json/plain', '{"callId":"1.1","decision":"approved","tool":"other"}')]],
  ['bytes', [payload('binary/plain', Buffer.from([0, 159, 146, 150, 255]))]],
  ['an encoding nobody knows', [payload('binary/encrypted', Buffer.from([1, 2, 3]))]],
  ['a payload without encoding', [{ data: Buffer.from('{"callId":"1.1","decision":"approved"}') }]],
  ['an empty null payload', [payload('binary/null', '')]],
  ['an edit with a number that no JSON can write', [payload('json/plain', edit('1e999'))]],
  [
    'an edit that is nested without end',
    [payload('json/plain', edit('['.repeat(50_000) + ']'.repeat(50_000)))],
  ],
  ['half a character in a name', [payload('json/plain', HALF)]],
  ['no argument', undefined],
  ['an empty list of arguments', []],
];

test.each(badSignals)(
  'a signal that is %s is a recorded refusal; the turn stays decidable',
  async (what, payloads) => {
    const handle = await waiting(`bad signal ${what}`);
    await signalRaw(handle, payloads);
    const verdicts = await until('a verdict', async () => {
      const found = await verdictsOf(handle);
      return found.length > 0 && found;
    });
    expect(verdicts).toEqual([
      expect.objectContaining({ verdict: expect.stringMatching(/^(malformed|validation)$/) }),
    ]);
    expect(await decide(handle, { callId: '1.1', decision: 'approved' })).toMatchObject({ accepted: true });
    await handle.result();
    expect(await effects.lines(`bad signal ${what}`)).toHaveLength(1);
  },
);

test.each(badSignals)('an update with %s is refused without a trace', async (what, payloads) => {
  const handle = await waiting(`bad update ${what}`);
  const before = (await eventsOf(handle)).length;
  const [first] = payloads ?? [];
  const sent =
    first === undefined
      ? handle.executeUpdate('decide')
      : handle.executeUpdate<unknown, [RawValue]>('decide', { args: [RawValue.fromPayload(first)] });
  expect(await refusalOf(sent)).toMatch(/^(malformed|validation)$/);
  expect(await eventsOf(handle)).toHaveLength(before);
  await decide(handle, { callId: '1.1', decision: 'denied' });
  await handle.result();
});

test.each([
  [UPDATES.decide, 'malformed'],
  [UPDATES.resolve, 'malformed'],
  [UPDATES.answer, 'malformed'],
  [UPDATES.ask, FAILURES.ask],
])('half a character in a message to %s of a turn is refused, and the turn goes on', async (update, code) => {
  const handle = await waiting(`half ${update}`);
  expect(await sendHalf(handle, update)).toBe(code);
  await decide(handle, { callId: '1.1', decision: 'denied' });
  expect(await handle.result()).toMatchObject({ status: 'answered' });
});

test.each([UPDATES.send, UPDATES.control])(
  'half a character in a message to %s of a session is refused, and the session goes on',
  async (update) => {
    const session = client().session(`half-${randomUUID()}`, {
      agent: 'payer',
      taskQueue: fixture().taskQueue,
    });
    await session.send(book.add({ text: 'hello' }));
    const handle = fixture().client.workflow.getHandle(session.id);
    expect(await sendHalf(handle, update)).toBe('malformed');
    await session.close();
    expect(await handle.result()).toMatchObject({ status: 'closed' });
  },
);

test.each([
  [UPDATES.pause, FAILURES.pause],
  [UPDATES.resume, FAILURES.pause],
])('half a character in a message to %s of the control workflow is refused', async (update, code) => {
  await until('the control workflow', async () => (await client().pauses()).control === 'open');
  expect(await sendHalf(fixture().client.workflow.getHandle(CONTROL.workflowId), update)).toBe(code);
  expect(await client().pauses()).toMatchObject({ control: 'open' });
});

test.each(['resolution', 'outcome', 'abandon', 'nobody_listens'])(
  'whatever is signalled to %s, the turn stays decidable',
  async (door) => {
    const handle = await waiting(`bad ${door}`);
    for (const [, payloads] of badSignals) await signalRaw(handle, payloads, door);
    expect(await decide(handle, { callId: '1.1', decision: 'approved' })).toMatchObject({ accepted: true });
    expect(await handle.result()).toMatchObject({ status: 'answered' });
    expect(await effects.lines(`bad ${door}`)).toHaveLength(1);
  },
);
