import { z } from 'zod';
import { createGateway, type Gateway } from '../../src/gateway/gateway';
import { CountersignError, type ErrorCode } from '../../src/contract/errors';
import { makeSuccess } from '../../src/contract/result';
import type { Backend } from '../../src/gateway/backend';
import { scriptedModel } from '../../src/models/scripted';
import { createCallLog } from '../../src/tools/call-log';
import { defineAgent } from '../../src/tools/define-agent';
import { defineConfig } from '../../src/tools/define-config';
import { defineTool } from '../../src/tools/define-tool';
import { createSecrets } from '../../src/tools/secrets';

const textOf = (answered: Awaited<ReturnType<Gateway['call']>>): unknown =>
  'answer' in answered ? answered.answer.content[0]?.['text'] : undefined;

const hold = { first: 5, progress: 10, withProgress: 60, without: 60, given: 1 };

/** A gateway with this backend, which holds a call so long. */
const gatewayWith = (backend: Partial<Backend>, withProgress = hold.withProgress): Gateway => {
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pays.', safety: 'dangerous', effect: 'unsafe' },
    ...{ parameters: z.object({}), handler: () => 'paid' },
  });
  const agent = defineAgent({
    name: 'gateway',
    instructions: 'Pay.',
    model: scriptedModel([]),
    tools: [pay],
  });
  const config = defineConfig({ agents: [agent] });
  const never = new Promise<never>(() => undefined);
  return createGateway({
    ...{ config, hold: { ...hold, withProgress }, secrets: createSecrets(), rules: {}, recordsAll: false },
    log: createCallLog({ log: () => undefined }),
    tools: {
      ...{ agent, config, offered: () => [], nameOf: (name) => name, close: () => Promise.resolve() },
    },
    backend: {
      begin: () => undefined,
      start: () => Promise.resolve({ id: 'gateway-1', isNamed: false }),
      end: () => never,
      stateOf: () => Promise.resolve(undefined),
      cancel: () => Promise.resolve(),
      close: () => Promise.resolve(),
      ...backend,
    },
  });
};

/** A gateway whose calls are recorded after `startMs`, and never end. */
const slowGateway = (startMs: number, withProgress?: number): Gateway =>
  gatewayWith(
    {
      start: async () => {
        await new Promise((resolve) => setTimeout(resolve, startMs));
        return { id: 'gateway-1', isNamed: false };
      },
    },
    withProgress,
  );

const aCall = { who: 'ann', name: 'pay', arguments: {}, asTask: false, signal: new AbortController().signal };
const turn = 'gateway-1';

it.each<[string, ErrorCode, Record<string, unknown>, RegExp]>([
  ['nothing was sent', 'no_server', {}, /^failed\. Nothing ran\.$/],
  ['the server refused it', 'server_busy', {}, /^failed\. Nothing ran\.$/],
  ['the server failed at it', 'server_failed', {}, /^failed\.$/],
  ['something else is amiss', 'file_failed', {}, /^failed\.$/],
  ['nobody could look for it', 'exists', { turn }, /again: look for it\.$/],
  ['it may have arrived', 'server_failed', { turn }, /again: look for it\.$/],
])('says what is known of a call when %s', async (_case, code, data, words) => {
  const start = () => Promise.reject(new CountersignError(code, 'failed', { data }));
  expect(textOf(await gatewayWith({ start }).call(aCall))).toMatch(words);
});

it('says how to wait for a call with an id that may have arrived', async () => {
  const start = () => Promise.reject(new CountersignError('server_failed', 'failed', { data: { turn } }));
  const answered = await gatewayWith({ start }).call({ ...aCall, key: ['mcp', '1'] });
  expect(textOf(answered)).toContain('call countersign_wait with the id gateway-1');
});

it('does not say that nothing ran when it was not our own error', async () => {
  const answered = await gatewayWith({ start: () => Promise.reject(new Error('14 UNAVAILABLE')) }).call(
    aCall,
  );
  expect(textOf(answered)).toBe('14 UNAVAILABLE.');
});

it('is settled when every call is answered', async () => {
  const gateway = slowGateway(0);
  const signal = new AbortController().signal;
  let isAnswered = false;
  void gateway
    .call({ who: 'ann', name: 'pay', arguments: {}, asTask: false, signal })
    .then(() => (isAnswered = true));
  await gateway.settled();
  expect(isAnswered).toBe(true);
});

it.each([
  ['is recorded at once', 0, true],
  ['takes all that time to be recorded', 1_100, false],
])('holds a call from its arrival on: one that %s', async (_case, startMs, isHeld) => {
  const heard: unknown[] = [];
  const signal = new AbortController().signal;
  const asked = { who: 'ann', name: 'pay', arguments: {}, asTask: false, signal };
  const answered = await slowGateway(startMs, 1_000).call({ ...asked, onProgress: (one) => heard.push(one) });
  expect(JSON.stringify(answered)).toContain('Pending');
  expect(heard.length > 0).toBe(isHeld);
});

it.each<[string, Partial<Backend>]>([
  ['state', { stateOf: () => Promise.reject(new CountersignError('no_server', 'lost')) }],
  ['end', { end: () => Promise.reject(new CountersignError('no_server', 'lost')) }],
])('says how to go on waiting for a call whose %s cannot be read', async (_what, backend) => {
  const open = { id: turn, status: 'working', createdAt: '', lastUpdatedAt: '', runs: false } as const;
  const known = { stateOf: () => Promise.resolve({ ...open, open: undefined }), ...backend };
  const asked = { ...aCall, name: 'countersign_wait', arguments: { id: turn } };
  const words = textOf(await gatewayWith(known).call(asked));
  expect(words).toMatch(/^The result cannot be read now: lost\. Call countersign_wait with the id gateway-1/);
});

it.each([
  ['nobody else', undefined, 1],
  ['somebody who has it as a task', { asTask: true }, 0],
  ['somebody whose answer was that it is pending', { asTask: false }, 0],
])('withdraws the call of a client that leaves, if it was for %s', async (_case, other, times) => {
  const items = [
    { callId: '1.1', kind: 'request', tool: 'pay', summary: '', since: '', deadline: null },
  ] as const;
  const open = { key: 'k', count: 1, items: [...items] };
  const state = { id: turn, status: 'working', createdAt: '', lastUpdatedAt: '', runs: false, open } as const;
  let cancelled = 0;
  const ends = (_id: string, signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  const gateway = gatewayWith({
    stateOf: () => Promise.resolve(state),
    end: (id, signal) => (cancelled > 0 ? Promise.reject(new Error('cancelled')) : ends(id, signal)),
    cancel: () => Promise.resolve(void (cancelled += 1)),
  });
  if (other !== undefined) await gateway.call({ ...aCall, ...other });
  const leaves = new AbortController();
  const left = gateway.call({ ...aCall, signal: leaves.signal });
  leaves.abort();
  await expect(left).rejects.toThrow();
  expect(cancelled).toBe(times);
});

it('a hook that gives up at the moment of a decision hears the decision', async () => {
  const result = makeSuccess(
    { id: 'c', callId: '1.1', tool: 'pay', arguments: {} },
    { content: 'Permitted.', contentType: 'text' },
    { timestamp: '2026-01-01T00:00:00.000Z' },
  );
  const leaves = new AbortController();
  const gateway = gatewayWith({
    stateOf: () =>
      Promise.resolve({
        id: turn,
        status: 'completed',
        createdAt: '',
        lastUpdatedAt: '',
        runs: false,
        open: undefined,
      }),
    end: (_id, signal) =>
      signal === leaves.signal
        ? Promise.reject(new Error('aborted'))
        : Promise.resolve({ kind: 'result', result }),
  });
  leaves.abort();
  const call = { who: 'ann', tool: 'pay', arguments: {}, key: ['hook', 's', '1'] };
  expect(await gateway.decide(call, leaves.signal)).toEqual({ kind: 'result', result });
});

it('forgets the oldest of the calls for which somebody has to ask later', async () => {
  const cancelled = new Set<string>();
  const cancel = jest.fn(async (id: string) => void cancelled.add(id));
  let client = new AbortController();
  const items = [
    { callId: '1.1', kind: 'request', tool: 'pay', summary: '', since: '', deadline: null },
  ] as const;
  const open = { key: 'k', count: 1, items: [...items] };
  const gateway = gatewayWith({
    start: ({ who }) => Promise.resolve({ id: who, isNamed: false }),
    stateOf: (id) =>
      Promise.resolve({ id, status: 'working', createdAt: '', lastUpdatedAt: '', runs: false, open }),
    end: (id, signal) =>
      new Promise((resolve, reject) => {
        if (cancelled.has(id)) resolve({ kind: 'cancelled', message: 'cancelled' });
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        client.abort();
      }),
    cancel,
  });
  for (const who of ['ann', 'ben']) await gateway.call({ ...aCall, who, asTask: true });
  for (const who of ['ann', 'ben']) {
    client = new AbortController();
    await expect(gateway.call({ ...aCall, who, signal: client.signal })).rejects.toThrow();
  }
  expect(cancel.mock.calls).toEqual([['ann', expect.anything()]]);
});

describe('a hook whose start got no answer', () => {
  const lost = () => Promise.reject(new CountersignError('server_failed', 'no answer', { data: { turn } }));
  const items = [
    { callId: '1.1', kind: 'request', tool: 'pay', summary: '', since: '', deadline: null },
  ] as const;
  const open = { key: 'k', count: 1, items: [...items] };
  const state = { id: turn, status: 'working', createdAt: '', lastUpdatedAt: '', runs: false, open } as const;
  const hook = { who: 'ann', tool: 'pay', arguments: {} };

  it.each<[string, readonly ('away' | 'absent')[]]>([
    ['that arrived', []],
    ['that arrives later, at a server that was away', ['away', 'absent']],
  ])('leaves no request behind %s', async (_case, before) => {
    const looks = [...before];
    const cancelled: string[] = [];
    const gateway = gatewayWith({
      start: lost,
      end: () => Promise.resolve({ kind: 'cancelled', message: 'cancelled' }),
      stateOf: () => {
        const seen = looks.shift();
        if (seen === 'away') return Promise.reject(new CountersignError('no_server', 'away'));
        return Promise.resolve(seen === 'absent' ? undefined : state);
      },
      cancel: (id) => Promise.resolve(void cancelled.push(id)),
    });
    const decided = gateway.decide({ ...hook, key: ['hook', 's', '1'] }, new AbortController().signal);
    await expect(decided).rejects.toThrow('no answer');
    expect(cancelled).toEqual([turn]);
  });

  it.each([
    ['without an id, which may be that of somebody else', lost, undefined],
    [
      'whose id is that of another call',
      () => Promise.reject(new CountersignError('exists', 'another', { data: { turn } })),
      ['hook', 's', '1'],
    ],
  ])('takes nothing back %s', async (_case, start, key) => {
    const stateOf = jest.fn();
    const call = { ...hook, ...(key && { key }) };
    const decided = gatewayWith({ start, stateOf }).decide(call, new AbortController().signal);
    await expect(decided).rejects.toThrow();
    expect(stateOf).not.toHaveBeenCalled();
  });
});
