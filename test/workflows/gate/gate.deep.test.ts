import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client, type Connection, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { connect, viewOf, type Countersign, type InboxItem, type TurnEvent } from '../../../src/client';
import type { Decision } from '../../../src/contract/decision';
import { CountersignPlugin } from '../../../src/plugin';
import { root } from '../../support/build';
import { testAddress, testConnection } from '../../support/server';
import type { RequestOpened } from '../../../src/history/events';
import { approveSeen } from '../../cli/saw';
import { until } from '../../support/until';
import { WITHOUT_THREADS } from '../../support/worker-here';

const OTHER = '0'.repeat(64);
/** It names nothing: the workflows ask in their code. */
const plugin = new CountersignPlugin({ gate: {} });
const taskQueue = `gate-${randomUUID()}`;
let native: NativeConnection;
let connection: Connection;
let client: Client;
let countersign: Countersign;
let worker: Worker;
let bundle: { code: string };
let ran: Promise<void>;

beforeAll(async () => {
  if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
  const address = testAddress();
  bundle = await bundleWorkflowCode({
    workflowsPath: require.resolve('../../fixtures/gate-workflows.ts'),
    plugins: [plugin],
    logger: new DefaultLogger('ERROR'),
  });
  native = await NativeConnection.connect({ address });
  connection = await testConnection(address);
  client = new Client({ connection });
  countersign = await connect({ client });
  worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle: bundle,
    activities: { pay: () => Promise.resolve() },
    plugins: [plugin],
    ...WITHOUT_THREADS,
    maxCachedWorkflows: 0,
  });
  ran = worker.run();
});

afterAll(async () => {
  worker.shutdown();
  await ran;
  await native.close();
  await connection.close();
});

const start = async (type: string, ...args: unknown[]): Promise<WorkflowHandle> =>
  client.workflow.start(type, { args, taskQueue, workflowId: `gated-${randomUUID()}` });

const inboxOf = async ({ workflowId }: WorkflowHandle): Promise<InboxItem[]> =>
  (await countersign.inbox({ limit: Infinity })).filter((item) => item.turn === workflowId);

const waiting = (handle: WorkflowHandle, count = 1): Promise<InboxItem[]> =>
  until(`${count} in the inbox`, async () => {
    const items = await inboxOf(handle);
    return items.length === count && items;
  });

const failureOf = async (handle: WorkflowHandle): Promise<ApplicationFailure> => {
  const error: unknown = await handle.result().catch((reason: unknown) => reason);
  if (error instanceof WorkflowFailedError && error.cause instanceof ApplicationFailure) return error.cause;
  throw error;
};

const decide = (handle: WorkflowHandle, decision: Omit<Decision, 'callId'> & { callId?: string }) =>
  countersign.decide(handle.workflowId, { callId: '1.1', approver: 'ann', ...decision });

const replays = async (handle: WorkflowHandle): Promise<void> => {
  await expect(
    Worker.runReplayHistory({ workflowBundle: bundle, plugins: [plugin] }, await handle.fetchHistory()),
  ).resolves.toBeUndefined();
};

describe('a call that a workflow of its own gates', () => {
  it('is in the inbox with what it is about', async () => {
    const handle = await start('refund');
    const [item] = await waiting(handle);
    expect(item).toMatchObject({
      callId: '1.1',
      kind: 'request',
      tool: 'refund_order',
      agent: 'refund',
      prompt: 'refund of order 17',
      summary: '1.1 refund_order order=17 amount=40',
    });
    expect(item?.deadline).not.toBeNull();
    const [request] = (await countersign.view(handle.workflowId)).requests;
    expect(request).toMatchObject({ effect: 'unsafe', unowned: true });
    expect(request).not.toHaveProperty('timeoutMs', expect.anything());
    await handle.terminate();
  });

  it.each<[string, Omit<Decision, 'callId'>, object]>([
    ['approved', { decision: 'approved' }, { allowed: true, arguments: { order: '17', amount: 40 } }],
    [
      'modified',
      { decision: 'modified', arguments: { order: '17', amount: 20 }, reason: 'half' },
      { allowed: true, arguments: { order: '17', amount: 20 }, reason: 'half' },
    ],
    [
      'denied',
      { decision: 'denied', reason: 'not this one' },
      { allowed: false, message: 'ann denied this call: not this one. Nothing ran.' },
    ],
  ])('learns when it is %s, and the history tells the same', async (word, decision, told) => {
    const handle = await start('refund');
    await waiting(handle);
    expect(await decide(handle, decision)).toMatchObject({ status: 'accepted', verdict: { decision: word } });
    expect(await handle.result()).toMatchObject({ decision: word, approver: 'ann', callId: '1.1', ...told });
    const [call] = (await countersign.view(handle.workflowId)).calls;
    expect(call).toMatchObject({
      callId: '1.1',
      tool: 'refund_order',
      arguments: { order: '17', amount: 40 },
    });
    expect(call?.decisions).toMatchObject([
      { decision: word, approver: 'ann', judgement: { accepted: true } },
    ]);
    await replays(handle);
  });

  it("takes a signal, as Temporal's own command line sends it, even if the workflow ends in the same task", async () => {
    const handle = await start('refund');
    await waiting(handle);
    await handle.signal('approval', { callId: '1.1', decision: 'approved', approver: 'bob' });
    expect(await handle.result()).toMatchObject({ allowed: true, approver: 'bob' });
    const events: TurnEvent[] = await countersign.timeline(handle.workflowId);
    expect(events.map(({ type }) => type)).toEqual([
      'turn_started',
      'about',
      'call_prepared',
      'request_opened',
      'signal_recorded',
      'decision',
      'turn_ended',
    ]);
    expect(viewOf(events)).toMatchObject({ agent: 'refund', unjudged: 0 });
  });

  it.each<[string, Decision, string]>([
    ['another call', { callId: '9.9', decision: 'approved' }, 'unknown_call'],
    [
      'arguments that do not fit',
      { callId: '1.1', decision: 'modified', arguments: { order: '17', amount: 500 } },
      'validation',
    ],
    ['what nobody was shown', { callId: '1.1', decision: 'approved', seenDigest: OTHER }, 'stale_args'],
    ['another key', { callId: '1.1', decision: 'approved', callKey: 'x' }, 'stale_args'],
  ])('refuses %s', async (_, decision, code) => {
    const handle = await start('refund');
    await waiting(handle);
    const answer = await countersign.decide(handle.workflowId, decision);
    expect(answer).toMatchObject({ status: 'refused', verdict: { code } });
    expect(await inboxOf(handle)).toHaveLength(1);
    await handle.terminate();
  });

  describe('whose arguments a person changes', () => {
    const changed = (amount: number) =>
      ({ decision: 'modified', arguments: { order: '17', amount } }) as const;
    const requests = async (handle: WorkflowHandle): Promise<RequestOpened[]> =>
      (await countersign.view(handle.workflowId)).requests;

    /** The request, once a worker has prepared it anew. */
    const again = (handle: WorkflowHandle): Promise<RequestOpened> =>
      until('the request again', async () => (await requests(handle))[0]);

    it.each([
      ['update', false],
      ['signal', true],
    ])('is asked about again with a preview made from them, by %s', async (_, bySignal) => {
      const handle = await start('previewed');
      const [before] = await waiting(handle);
      if (bySignal) await handle.signal('approval', { callId: '1.1', ...changed(20) });
      else expect(await decide(handle, changed(20))).toMatchObject({ verdict: { asksAgain: true } });
      await until(
        'the new revision',
        async () => (await inboxOf(handle))[0]?.seenDigest !== before?.seenDigest,
      );
      const { seenDigest = '' } = before ?? {};
      expect(await decide(handle, { decision: 'approved', seenDigest })).toMatchObject({
        verdict: { code: 'stale_args' },
      });
      const [request] = await requests(handle);
      expect(request).toMatchObject({
        arguments: { order: '17', amount: 20 },
        proposed: { order: '17', amount: 40 },
        preview: { text: 'Refund 20 EUR to the card' },
      });
      await decide(handle, { decision: 'approved', seenDigest: request?.seenDigest ?? '' });
      expect(await handle.result()).toMatchObject({ decision: 'modified', arguments: { amount: 20 } });
      await replays(handle);
    });

    it('waits as it was, with the reason, where no preview can be made', async () => {
      const handle = await start('previewed');
      const [before] = await waiting(handle);
      await decide(handle, changed(13));
      const request = await again(handle);
      expect(request).toMatchObject({
        seenDigest: before?.seenDigest,
        arguments: { order: '17', amount: 40 },
        note: expect.stringContaining('no preview of 13'),
      });
      await handle.terminate();
    });

    it('is asked about without its preview where that is a text: it showed other arguments', async () => {
      const handle = await start('refund', { preview: 'Refund 40 EUR' });
      await waiting(handle);
      await decide(handle, changed(20));
      const request = await again(handle);
      expect(request).toMatchObject({ arguments: { amount: 20 } });
      expect(request).not.toHaveProperty('preview', expect.anything());
      await handle.terminate();
    });
  });

  it('cannot be resolved: it is not in doubt', async () => {
    const handle = await start('refund');
    await waiting(handle);
    const answer = await countersign.resolve(handle.workflowId, { callId: '1.1', resolution: 'happened' });
    expect(answer).toMatchObject({ status: 'refused', verdict: { code: 'already_decided' } });
    await handle.terminate();
  });

  it('expires into a refusal', async () => {
    const handle = await start('refund', { expiresIn: '200ms' });
    expect(await handle.result()).toMatchObject({ allowed: false, decision: 'expired' });
    expect((await countersign.view(handle.workflowId)).calls).toMatchObject([
      { phase: 'done', outcome: 'expired' },
    ]);
    await replays(handle);
  });

  it('is withdrawn where its workflow is cancelled', async () => {
    const handle = await start('withdrawn');
    await waiting(handle);
    await countersign.cancel(handle.workflowId);
    expect(await handle.result()).toBe('withdrawn');
    expect(await inboxOf(handle)).toEqual([]);
    expect(await decide(handle, { decision: 'approved' })).toMatchObject({ verdict: { code: 'cancelled' } });
  });

  it('waits beside others; the first valid decision wins', async () => {
    const handle = await start('both');
    const items = await waiting(handle, 2);
    expect(new Set(items.map(({ callKey }) => callKey.split(':')[0])).size).toBe(1);
    const unsure = await decide(handle, { decision: 'modified', arguments: { to: 'eve' } });
    expect(unsure).toMatchObject({ status: 'refused', verdict: { code: 'validation' } });
    await decide(handle, { decision: 'approved' });
    expect(await decide(handle, { decision: 'denied' })).toMatchObject({
      status: 'refused',
      verdict: { code: 'already_decided', standing: { decision: 'approved', approver: 'ann' } },
    });
    await waiting(handle, 1);
    await decide(handle, { callId: '1.2', decision: 'denied' });
    expect(await handle.result()).toEqual([true, false]);
    const { memo, searchAttributes } = await handle.describe();
    expect(memo ?? {}).toEqual({});
    expect(searchAttributes).toMatchObject({ CountersignPending: [0], CountersignState: ['running'] });
  });

  it('keeps spent decisions spent where the workflow continues as new', async () => {
    const handle = await start('twice');
    await waiting(handle);
    const first = { decision: 'approved', decisionId: randomUUID() } as const;
    await decide(handle, first);
    await until('the second request', async () => (await inboxOf(handle))[0]?.callId === '1.2');
    expect(await decide(handle, first)).toMatchObject({ status: 'accepted', verdict: { callId: '1.1' } });
    await decide(handle, { callId: '1.2', decision: 'denied' });
    expect(await handle.result()).toBe('1.2 denied');
  });
});

describe('a workflow that uses its gate wrongly fails and says why', () => {
  it.each<[string, object, string]>([
    ['arguments', { arguments: { order: '17' } }, 'The arguments do not fit the tool'],
    ['tool', { tool: 'Refund Order' }, '"Refund Order" is not a name of a tool'],
    ['call id', { callId: 'a/b' }, '"a/b" cannot be a call id'],
    ['time', { expiresIn: 'soon' }, 'expiresIn "soon" is not a time'],
    ['size', { preview: 'x'.repeat(300_000) }, 'too large to review; split it'],
  ])('%s', async (_, more, message) => {
    const failure = await failureOf(await start('refund', more));
    expect(failure).toMatchObject({ type: 'countersign.gate', nonRetryable: true });
    expect(failure.message).toContain(message);
  });

  it.each([
    ['two gates', 'a workflow has one gate'],
    ['carry while open', 'requests are open'],
    ['id again', 'call id a was used before'],
  ])('%s', async (how, message) => {
    expect((await failureOf(await start('wrong', how))).message).toContain(message);
  });
});

describe('on the command line', () => {
  const run = (...args: string[]) =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      const all = [join(root, 'bin', 'countersign.js'), ...args, '--address', testAddress()];
      execFile(process.execPath, all, { env: { ...process.env, COLUMNS: '200' } }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
      );
    });

  it('is listed, shown and approved like a call of a turn', async () => {
    const handle = await start('refund', { preview: 'Refund 40 EUR to the card', reason: 'over 30 EUR' });
    await waiting(handle);
    const prefix = handle.workflowId.slice(0, -4);
    const listed = await run('inbox', '--limit', '1000000');
    expect(listed).toMatchObject({ code: 0, err: '' });
    expect(listed.out).toContain('refund_order');
    const shown = await run('show', `${prefix}/1.1`);
    expect(shown.err).toBe('');
    expect(shown.out).toContain('Refund 40 EUR to the card');
    expect(shown.out).toContain('over 30 EUR');
    const changed = await approveSeen(run, `${prefix}/1.1`, '--set', 'amount=25', '--as', 'cleo');
    expect(changed).toMatchObject({ code: 6, err: expect.stringContaining('nobody approved yet') });
    expect((await approveSeen(run, `${prefix}/1.1`, '--as', 'cleo')).err).toBe('');
    expect(await handle.result()).toMatchObject({ approver: 'cleo', arguments: { order: '17', amount: 25 } });
    expect((await run('show', prefix)).out).toContain('cleo');
  });
});
