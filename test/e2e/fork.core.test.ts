import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { connect, viewOf, type Countersign, type ForkTurnRequest, type TurnView } from '../../src/client';
import { scriptedModel } from '../../src/models/scripted';
import { denyNext, waitForEnd, waitForRequest } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { decide, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const other = scriptedModel([], { id: 'other' });
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  const tools = [
    recordTool(effects, { name: 'look' }),
    recordTool(effects, { name: 'glance', local: true, timeout: '1s' }),
    recordTool(effects, { name: 'put', safety: 'cautious', effect: 'idempotent' }),
    recordTool(effects, { name: 'note', safety: 'cautious', effect: 'unsafe' }),
    recordTool(effects, { name: 'peek', safety: 'dangerous', effect: 'pure' }),
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
  ];
  const models = { other };
  fixture = await startFixture({
    agentWait: '2s',
    agents: [defineAgent({ name: 'a', instructions: 'do', model: book.model, models, tools })],
  });
  client = await connect({ client: fixture.client });
});

const call = (name: string, tag: string, more: object = {}) => ({ name, arguments: { tag, ...more } });

/** Two steps: everything that can run, a payment among it; then another payment; then the answer. */
const script = (tag: string): string =>
  book.add(
    {
      toolCalls: [
        call('look', tag),
        call('glance', tag),
        call('put', tag),
        call('note', tag),
        call('pay', tag, { amount: 1 }),
      ],
    },
    { toolCalls: [call('pay', tag, { amount: 2 }), call('glance', tag), call('peek', tag)] },
    readBack,
  );

const approve = async (handle: TurnHandle, callId: string): Promise<void> => {
  await waitFor(handle, callId);
  await decide(handle, { callId, decision: 'approved', approver: 'ann', decisionId: `ann-${callId}` });
};

/** A turn of that script in which a person approved everything. */
const finished = async (tag: string): Promise<TurnHandle> => {
  const handle = await fixture.start('a', script(tag));
  for (const callId of ['1.5', '2.1', '2.3']) await approve(handle, callId);
  await handle.result();
  return handle;
};

const fork = async (handle: TurnHandle, request: ForkTurnRequest): Promise<TurnView> => {
  const { turn } = await client.fork({ turn: handle.workflowId, ...request });
  return waitForEnd(client, turn);
};

/** What became of each call: `ran`, `record`, or why not. */
const fates = (view: TurnView): Record<string, string | undefined> =>
  Object.fromEntries(
    view.calls.map(({ callId, result, startedAt }) => [
      callId,
      result?.metadata.dry ?? result?.error?.code ?? (startedAt === undefined ? 'record' : 'ran'),
    ]),
  );

const record = Object.fromEntries(['1.1', '1.2', '1.3', '1.4'].map((callId) => [callId, 'record']));
const secondStep = { '2.1': 'would_ask', '2.2': 'ran', '2.3': 'would_ask' };
/** Forked at 2.1, which a person decided on when 2.2 was over. */
const fromSecond = { ...secondStep, '2.2': 'record' };

test.each<[string, Partial<ForkTurnRequest>, Record<string, string>]>([
  ['nothing otherwise', {}, { '1.5': 'would_ask' }],
  [
    'other arguments',
    { change: { what: 'arguments', arguments: { tag: 'other', amount: 5 } } },
    { '1.5': 'would_ask' },
  ],
  [
    'a denial',
    { change: { what: 'decision', decision: 'denied', reason: 'too much', approver: 'bob' } },
    { '1.5': 'denied' },
  ],
  [
    'an approval',
    { change: { what: 'decision', decision: 'approved', approver: 'bob' } },
    { '1.5': 'would_run' },
  ],
])('a dry fork with %s executes nothing with an effect', async (name, request, fifth) => {
  const tag = `dry-${name.replaceAll(' ', '-')}`;
  const handle = await finished(tag);
  const before = await effects.lines(tag);
  const view = await fork(handle, { at: '1.5', ...request });
  expect(view.status).toBe('answered');
  expect(fates(view)).toEqual({ ...record, ...fifth, ...secondStep });
  const news = (await effects.lines(tag)).slice(before.length);
  expect(news).toEqual([`glance ${tag}`]);
  expect(view.fork).toMatchObject({ of: handle.workflowId, from: '1.5', world: 'dry' });
});

test('the model of a fork reads what it read before, and marks where nothing ran', async () => {
  const handle = await finished('reads');
  const original = viewOf(await client.timeline(handle.workflowId));
  const view = await fork(handle, { at: '2.1' });
  const parts = (view.answer ?? '').split(' | ');
  expect(parts.slice(0, 5)).toEqual((original.answer ?? '').split(' | ').slice(0, 5));
  expect(parts[5]).toMatch(/^\[Not executed: .*A person would have been asked/);
  expect(parts[6]).toBe('glance did reads');
  expect(view.fork?.taken.map(({ kind }) => kind)).toEqual([
    'words',
    'reply',
    ...Array<string>(5).fill('result'),
  ]);
});

test('an edited call, its note and a denial are taken as the model read them', async () => {
  const prompt = book.add(
    { toolCalls: [call('pay', 'edited', { amount: 1 }), call('pay', 'edited', { amount: 2 })] },
    { toolCalls: [call('pay', 'edited', { amount: 3 })] },
    readBack,
  );
  const handle = await fixture.start('a', prompt);
  await waitFor(handle, '1.2');
  await decide(handle, { callId: '1.2', decision: 'denied', reason: 'no' });
  const edit = { callId: '1.1', decision: 'modified', reason: 'less', approver: 'ann' } as const;
  await decide(handle, { ...edit, arguments: { tag: 'edited', amount: 0 } });
  await waitFor(handle, '2.1');
  await decide(handle, { callId: '2.1', decision: 'denied', reason: 'enough' });
  const { answer } = await handle.result();
  const same = { what: 'decision', decision: 'denied', reason: 'enough', approver: 'somebody' } as const;
  expect((await fork(handle, { at: '2.1', change: same })).answer).toBe(answer);
  expect(await effects.lines('edited')).toHaveLength(1);
});

test('with another reply the turn goes on from that; with a text alone it ends', async () => {
  const handle = await finished('reply');
  const before = await effects.lines('reply');
  const reply = {
    text: 'hm',
    calls: [{ tool: 'pay', arguments: { tag: 'reply', amount: 3 } }, { tool: 'nothing' }],
  };
  const view = await fork(handle, { at: '1.1', change: { what: 'reply', reply } });
  expect(fates(view)).toEqual({ '1.1': 'would_ask', '1.2': 'tool_not_found', ...secondStep });
  const end = await fork(handle, { at: '2', change: { what: 'reply', reply: { text: 'I stop here' } } });
  expect(end).toMatchObject({ status: 'answered', answer: 'I stop here' });
  expect((await effects.lines('reply')).slice(before.length)).toEqual(['glance reply']);
});

test('another model answers from there on; one that the agent has not fails the turn when agentWait is over, and says so', async () => {
  const handle = await finished('model');
  const view = await fork(handle, { at: '2.1', model: 'other' });
  expect(view.steps.map(({ model }) => model)).toEqual(['book', 'other']);
  const asked = await fork(handle, { at: '2', model: 'other' });
  expect(asked.steps.map(({ model }) => model)).toEqual(['other']);
  const failed = await fork(handle, { at: '2.1', model: 'nobody' });
  expect(failed.error?.message).toContain('agent "a" has no model "nobody" here; its models: other');
});

test('a step is asked for anew, the first one too', async () => {
  const handle = await finished('step');
  const before = await effects.lines('step');
  const view = await fork(handle, { at: '1' });
  expect(fates(view)).toMatchObject({ '1.1': 'ran', '1.2': 'ran', '1.3': 'would_run', '1.4': 'would_run' });
  expect((await effects.lines('step')).slice(before.length).sort()).toEqual(
    ['glance step', 'glance step', 'look step'].sort(),
  );
});

test('in a live fork dangerous calls, and those that were started before, need decisions of their own', async () => {
  const handle = await finished('live');
  const before = await effects.lines('live');
  const { turn } = await client.fork({ turn: handle.workflowId, at: '1.4', world: 'live' });
  const request = await waitForRequest(client, turn, { tool: 'note' });
  expect(request.policyReason).toBe(`it was started once already, in ${handle.workflowId}`);
  const callKey = (await keyOf(handle, '1.5')) ?? '';
  const old = { callId: '1.5', decision: 'approved', callKey } as const;
  expect(await client.decide(turn, old)).toMatchObject({
    status: 'refused',
    verdict: { code: 'stale_args' },
  });
  expect(await effects.lines('live')).toEqual(before);
  await client.decide(turn, { callId: '1.4', decision: 'denied' });
  await client.decide(turn, { callId: '1.5', decision: 'approved' });
  await denyNext(client, turn, { tool: 'pay' });
  await denyNext(client, turn, { tool: 'peek' });
  expect(fates(await waitForEnd(client, turn))).toMatchObject({
    '1.3': 'record',
    '1.4': 'denied',
    '1.5': 'ran',
  });
  expect((await effects.lines('live')).slice(before.length)).toEqual(['pay live', 'glance live']);
});

/** The key of a request. */
const keyOf = async (handle: TurnHandle, callId: string): Promise<string | undefined> =>
  viewOf(await client.timeline(handle.workflowId)).calls.find((one) => one.callId === callId)?.request
    ?.callKey;

test('a turn that waits can be forked: what if it were denied?', async () => {
  const handle = await fixture.start('a', script('waits'));
  await waitFor(handle, '1.5');
  await until('the calls before', async () => {
    const { calls } = viewOf(await client.timeline(handle.workflowId));
    return calls.every(({ callId, phase }) => callId === '1.5' || phase === 'done');
  });
  const before = await effects.lines('waits');
  const change = { what: 'decision', decision: 'denied', approver: 'bob' } as const;
  const view = await fork(handle, { at: '1.5', change });
  expect(fates(view)).toEqual({ ...record, '1.5': 'denied', ...secondStep });
  expect((await effects.lines('waits')).slice(before.length)).toEqual(['glance waits']);
  expect(viewOf(await client.timeline(handle.workflowId)).status).toBe('waiting');
  await handle.cancel();
});

test('a fork of a fork, at its own step and at one it took over', async () => {
  const handle = await finished('again');
  const { turn } = await client.fork({ turn: handle.workflowId, at: '1.5' });
  await waitForEnd(client, turn);
  const second = await client.fork({ turn, at: '2.1' });
  const view = await waitForEnd(client, second.turn);
  expect(view.fork).toMatchObject({ of: turn, from: '2.1' });
  expect(view.fork?.taken).toHaveLength(7);
  expect(fates(view)).toEqual(secondStep);
  const change = { what: 'arguments', arguments: { tag: 'again', amount: 3 } } as const;
  const given = await client.fork({ turn, at: '1.3', change });
  expect(fates(await waitForEnd(client, given.turn))).toMatchObject({ '1.1': 'record', '1.3': 'would_run' });
  expect(await effects.lines('pay again')).toHaveLength(2);
});

test('an exported history is enough; the turn need not be on the server', async () => {
  const handle = await finished('export');
  const json = historyToJSON(await handle.fetchHistory());
  const gone = json.replaceAll(handle.workflowId, 'not-on-this-server');
  const started = await client.fork({ history: gone, at: '2.1' });
  expect(started.of).toBe('not-on-this-server');
  expect(fates(await waitForEnd(client, started.turn))).toEqual(fromSecond);
});

test('the origin is in the memo', async () => {
  const handle = await finished('memo');
  const { turn } = await client.fork({ turn: handle.workflowId, at: '2.1' });
  const { memo } = await fixture.client.workflow.getHandle(turn).describe();
  expect(memo?.['fork']).toEqual({ of: handle.workflowId, from: '2.1', world: 'dry' });
});

const histories = (name: string): string =>
  readFileSync(join(__dirname, '..', 'histories', `${name}.json`), 'utf8');

test.each<[string, ForkTurnRequest, string]>([
  ['a turn that is not there', { turn: 'turn-nowhere', at: '1.1' }, 'not_found'],
  ['a call that is not there', { history: histories('approved'), at: '7.1' }, 'not_found'],
  ['a word', { history: histories('approved'), at: 'first' }, 'not_found'],
  ['no turn and no history', { at: '1.1' }, 'usage'],
  ['text that is no history', { history: 'x', at: '1.1' }, 'bad_history'],
  ['a run whose beginning is missing', { history: '{"events":[]}', at: '1.1' }, 'bad_history'],
  [
    'another application',
    { history: histories('approved').replaceAll('agentTurn', 'orderWorkflow'), at: '1.1' },
    'bad_history',
  ],
])('%s is refused: %#', async (_, request, code) => {
  await expect(client.fork(request)).rejects.toMatchObject({ code });
});
