import { WorkflowNotFoundError } from '@temporalio/client';
import type { Countersign } from '../../src/client';
import { CountersignError, type ErrorCode } from '../../src/contract/errors';
import { type ClientCall, placeOfCall } from '../../src/gateway/call-id';
import { takeCall } from '../../src/gateway/turns';

const at = { agent: 'gateway', taskQueue: 'q' };
const call: ClientCall = { who: 'ann', tool: 'pay', arguments: { n: 1 } };
const named: ClientCall = { ...call, key: ['mcp', 'toolu_1'] };

/** A client whose start fails with this code, although the server may have this call on record. */
const failing = (code: ErrorCode, there?: ClientCall): Countersign => {
  const describe = () =>
    there === undefined
      ? Promise.reject(new WorkflowNotFoundError('none', 'turn', undefined))
      : Promise.resolve({ memo: { call: placeOfCall(there, at).memo } });
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
  expect(await takeCall(failing(code, named), named, at)).toEqual(placeOfCall(named, at));
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
