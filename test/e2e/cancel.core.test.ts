import { CancelledFailure } from '@temporalio/common';
import { SIGNALS } from '../../src/contract/names';
import { defineAgent, type Agent } from '../../src/tools/define-agent';
import { stopped, TransportError } from '../../src/tools/errors';
import type { Tool } from '../../src/tools/types';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { planTool } from '../support/plan-tool';
import { readBack, scriptBook } from '../support/script-book';
import { decide, openOf, resolve, signalDecision, transcriptOf, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

/** Ends when it is cancelled, proves it, and says how far it came. */
const untilAborted = (name: string, safety: 'safe' | 'cautious') =>
  recordTool(effects, { name, safety }, async (tag, { signal, partial }) => {
    partial('half way');
    await aborted(signal);
    await effects.add(`aborted ${tag}`);
    throw stopped('it ended when it was told to');
  });

const payer = (...tools: Tool[]): Agent =>
  defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools });
const pay = recordTool(effects, { name: 'pay', safety: 'dangerous' });

beforeAll(async () => {
  const tools = [
    pay,
    recordTool(effects, { name: 'lose', safety: 'dangerous' }, () => {
      throw new TransportError('the line broke');
    }),
    untilAborted('read', 'safe'),
    untilAborted('write', 'cautious'),
    planTool(effects),
  ];
  fixture = await startFixture({ agents: [payer(...tools)] });
});

const start = (tag: string, ...names: string[]): Promise<TurnHandle> =>
  fixture.start(
    'payer',
    book.add({ toolCalls: names.map((name) => ({ name, arguments: { tag } })) }, readBack),
  );

const expectCancelled = async (handle: TurnHandle): Promise<void> => {
  await expect(handle.result()).rejects.toMatchObject({ cause: expect.any(CancelledFailure) });
  expect((await handle.describe()).status.name).toBe('CANCELLED');
};

const resultsOf = async (handle: TurnHandle): Promise<string[]> =>
  (await transcriptOf(handle)).flatMap((entry) => (entry.kind === 'result' ? [entry.content] : []));

test('cancelled while the model thinks: its signal aborts and the turn closes as Cancelled', async () => {
  let heard = false;
  const prompt = book.add(async ({ signal }) => {
    await effects.add('thinking slowly');
    await aborted(signal);
    heard = true;
    throw stopped('it ended when it was told to');
  });
  const handle = await fixture.start('payer', prompt);
  await until('the model', async () => (await effects.lines('thinking slowly')).length > 0);
  await handle.cancel();
  await expectCancelled(handle);
  await until('the model to hear of it', () => heard);
});

test('cancelled while requests wait: they close as cancelled, and a decision for one is refused', async () => {
  const handle = await start('parked', 'pay', 'read', 'pay');
  await waitFor(handle, '1.3');
  await until('the read', async () => (await effects.lines('read parked')).length > 0);
  await handle.cancel();
  await until('the requests to close', async () => (await openOf(handle)) === undefined);
  const late = { callId: '1.1', decision: 'approved', decisionId: 'late' } as const;
  await signalDecision(handle, late).catch(() => undefined);
  await expectCancelled(handle);
  const verdicts = await verdictsOf(handle);
  expect(verdicts.filter(({ verdict }) => verdict !== 'cancelled')).toEqual([]);
  expect(await resultsOf(handle)).toEqual([
    expect.stringContaining(
      'Error [cancelled]: The turn was cancelled before this call started. Nothing ran.',
    ),
    expect.stringContaining('half way'),
    expect.stringContaining('Error [cancelled]'),
  ]);
  expect(await effects.lines('pay parked')).toEqual([]);
});

test('a cancellation and an approval that come together with no worker up: refused, nothing runs', async () => {
  const own = await startFixture({ workers: 0, agents: [payer(pay)] });
  const first = await own.addWorker();
  const call = { name: 'pay', arguments: { tag: 'together' } };
  const handle = await own.start('payer', book.add({ toolCalls: [call] }, readBack));
  await waitFor(handle, '1.1');
  await first.stop();
  await handle.cancel();
  await signalDecision(handle, { callId: '1.1', decision: 'approved', decisionId: 'together' });
  await own.addWorker();
  await expectCancelled(handle);
  expect(await effects.lines('together')).toEqual([]);
});

test.each([
  ['read', 'a pure call'],
  ['write', 'an unsafe call'],
])('cancelled while %s runs: its handler hears it, its partial output is kept', async (name) => {
  const handle = await start(`running ${name}`, name);
  await until('the call', async () => (await effects.lines(`running ${name}`)).length > 0);
  await handle.cancel();
  await expectCancelled(handle);
  expect(await effects.lines(`aborted running ${name}`)).toHaveLength(1);
  const [content] = await resultsOf(handle);
  expect(content).toContain('Error [cancelled]');
  expect(content).toContain('half way');
});

/** A cancelled turn with call 1.1 in doubt and a request beside it. */
const doubtful = async (tag: string): Promise<TurnHandle> => {
  const handle = await start(tag, 'lose', 'pay');
  await waitFor(handle, '1.2');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '1.1', 'in_doubt');
  await handle.cancel();
  await until('the request to close', async () => (await openOf(handle))?.count === 1);
  return handle;
};

test('cancelled with a call in doubt: it stays open until a person resolves it, but cannot run again', async () => {
  const handle = await doubtful('doubt');
  expect((await handle.describe()).status.name).toBe('RUNNING');
  expect(await decide(handle, { callId: '1.2', decision: 'approved' })).toMatchObject({ code: 'cancelled' });
  expect(await resolve(handle, { callId: '1.1', resolution: 'run-again' })).toMatchObject({
    code: 'cancelled',
  });
  await resolve(handle, { callId: '1.1', resolution: 'happened', approver: 'ann' });
  await expectCancelled(handle);
  expect(await effects.lines('doubt')).toEqual(['lose doubt']);
});

test('abandon ends a cancelled turn with its doubt recorded as unresolved', async () => {
  const handle = await doubtful('abandoned');
  await handle.signal(SIGNALS.abandon, { reason: 'nobody can tell', approver: 'ann' });
  await expectCancelled(handle);
  const [content] = await resultsOf(handle);
  expect(content).toContain(
    'Error [in_doubt]: Unresolved: ann ended the turn with this call in doubt. nobody can tell',
  );
});

test('abandoned first and cancelled then: it ends as well', async () => {
  const handle = await start('other way round', 'lose');
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '1.1', 'in_doubt');
  await handle.signal(SIGNALS.abandon, { approver: 'ann' });
  await handle.cancel();
  await expectCancelled(handle);
});

test('cancelled before any worker saw it: it closes as Cancelled and nothing runs', async () => {
  const own = await startFixture({ workers: 0, agents: [payer(recordTool(effects, { name: 'look' }))] });
  const call = { name: 'look', arguments: { tag: 'unseen' } };
  const handle = await own.start('payer', book.add({ toolCalls: [call] }, readBack));
  await handle.cancel();
  await own.addWorker();
  await expectCancelled(handle);
  expect(await effects.lines('unseen')).toEqual([]);
});

test('abandon does nothing to a turn that was not cancelled', async () => {
  const handle = await start('not cancelled', 'lose');
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '1.1', 'in_doubt');
  await handle.signal(SIGNALS.abandon, null);
  expect(await resolve(handle, { callId: '1.1', resolution: 'did-not' })).toMatchObject({ accepted: true });
  expect(await handle.result()).toMatchObject({ status: 'answered' });
});
