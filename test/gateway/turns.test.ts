import { WorkflowNotFoundError } from '@temporalio/client';
import type { Countersign } from '../../src/client';
import { CountersignError, type ErrorCode } from '../../src/contract/errors';
import { makeSuccess } from '../../src/contract/result';
import { type ClientCall, placeOfCall } from '../../src/gateway/call-id';
import { cancelCall, endOfCall, stateOfCall, takeCall } from '../../src/gateway/turns';

const at = { agent: 'gateway', taskQueue: 'q' };
const call: ClientCall = { who: 'ann', tool: 'pay', arguments: { n: 1 } };
const named: ClientCall = { ...call, key: ['mcp', 'toolu_1'] };

/** A client whose start fails with this code, although the server may have this call on record. */
const failing = (code: ErrorCode, there?: ClientCall): Countersign => {
  const describe = () =>
    there === undefined
      ? Promise.reject(new WorkflowNotFoundError('none', 'turn', undefined))
      : Promise.resolve({ raw: {}, memo: { call: placeOfCall(there, at).memo } });
  const parts = {
    startCall: () => Promise.reject(new CountersignError(code, 'the start failed')),
    client: { workflow: { getHandle: () => ({ describe }) } },
  };
  return Object.assign(Object.create(null), parts);
};

it.each<[string, ErrorCode]>([
  ['is there already', 'exists'],
  ['was started, and the server did not say so', 'server_failed'],
])('finds a named call that %s', async (_case, code) => {
  expect(await takeCall(failing(code, named), named, at)).toEqual({
    ...{ id: placeOfCall(named, at).turn, isNamed: true },
  });
});

it.each<[string, ClientCall, ErrorCode, ClientCall | undefined, object]>([
  ['of other arguments', named, 'exists', { ...named, arguments: { n: 2 } }, { code: 'exists' }],
  ['of another tool', named, 'server_failed', { ...named, tool: 'look' }, { code: 'exists' }],
  ['that is not there', named, 'server_failed', undefined, { message: 'the start failed' }],
  ['that nobody can look for', named, 'no_server', named, { code: 'no_server' }],
  ['without a name', call, 'server_failed', call, { message: 'the start failed' }],
])('takes no record for a call %s', async (_case, asked, code, there, expected) => {
  await expect(takeCall(failing(code, there), asked, at)).rejects.toMatchObject(expected);
});

it.each<ErrorCode>(['exists', 'server_failed'])(
  'leaves it at %s where the record of a call cannot be looked for',
  async (code) => {
    const client = failing(code, named);
    client.client.workflow.getHandle = () => {
      throw new Error('lost');
    };
    await expect(takeCall(client, named, at)).rejects.toMatchObject({ code });
  },
);

const RUNS = ['1', '2', '3'].map((n) => `0000000${n}-0000-4000-8000-000000000000`);
const [first = '', reset = '', later = ''] = RUNS;

const resultOf = (content: string) =>
  makeSuccess(
    { id: 'c', callId: '1.1', tool: 'pay', arguments: {} },
    { content, contentType: 'text' },
    { timestamp: '2026-01-01T00:00:00.000Z' },
  );

/** A client whose server has these runs of one turn, the last one open: first and reset are one chain. */
const runsOf = (runs: string[], cancelled: unknown[] = []): Countersign => {
  const place = placeOfCall(call, at);
  const getHandle = (workflowId: string, runId = runs.at(-1) ?? '') => ({
    describe: () =>
      Promise.resolve({
        ...{ workflowId, runId, memo: { call: place.memo }, startTime: new Date(0) },
        status: { name: runId === runs.at(-1) ? 'RUNNING' : 'COMPLETED' },
        raw: { workflowExecutionInfo: { firstRunId: runId === reset ? first : runId } },
      }),
    result: () => Promise.resolve({ status: 'answered', answer: '', result: resultOf(runId) }),
  });
  const parts = {
    startCall: () => Promise.resolve({ turn: place.turn, runId: first }),
    cancel: (turn: string) => Promise.resolve(cancelled.push(turn)),
    client: { workflow: { getHandle } },
  };
  return Object.assign(Object.create(null), parts);
};

it.each([
  ['it alone', [first], 'working', first],
  ['a later call', [first, later], 'completed', first],
  ['a run that a reset made', [first, reset], 'working', reset],
])('a call without an id keeps its own answer where the turn has %s', async (_case, runs, status, read) => {
  const cancelled: unknown[] = [];
  const client = runsOf(runs, cancelled);
  const { id } = await takeCall(client, call, at);
  expect(id).toBe(`${placeOfCall(call, at).turn}~${first}`);
  expect(await stateOfCall(client, id, 'ann')).toMatchObject({ id, status });
  await cancelCall(client, id, 'why');
  expect(cancelled).toHaveLength(status === 'working' ? 1 : 0);
  expect(await endOfCall(client, id)).toMatchObject({ kind: 'result', result: { content: read } });
});

it.each([
  ['nothing', ''],
  ['a long text', 'x'.repeat(2_000)],
  ['the id of another turn', 'turn-1'],
  ['a run that is none', `${placeOfCall(call, at).turn}~2`],
])('no call has %s as its id', async (_case, id) => {
  expect(await stateOfCall(runsOf([first]), id, 'ann')).toBeUndefined();
});
