import { ServiceError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { ClientContext } from '../../src/client/context';
import { decideCall } from '../../src/client/decide';
import type { Decision } from '../../src/contract/decision';
import { SendLimit } from '../../src/client/send-limit';
import { STATUS } from '../../src/history/server-errors';
import { grpcError } from '../history/fake-server';
import { accepted } from '../history/script';
import { withoutWaits } from '../support/without-waits';

const TAKEN = accepted('1.1', 'approved');
const CHANGE: Decision = { callId: '1.1', decision: 'modified', arguments: {} };

/**
 * Decides a call of a turn that gives these answers to updates, one each time, and takes no signal more. It may not be
 * asked who polls its queue.
 */
async function decided(...ends: readonly (Error | object)[]) {
  return decidedOn({ ends });
}

/** `looked`: what asking who polls the queue gives. */
async function decidedOn({
  ends,
  signalled = failed(STATUS.invalidArgument, FULL),
  looked = grpcError(STATUS.permissionDenied),
  decision = { callId: '1.1', decision: 'approved' },
}: {
  ends: readonly (Error | object)[];
  signalled?: Error;
  looked?: Error;
  decision?: Decision;
}) {
  const left = [...ends];
  const handle = {
    executeUpdate: async () => {
      const end = left.shift();
      if (end instanceof Error) throw end;
      return end;
    },
    signal: () => Promise.reject(signalled),
  };
  const describeWorkflowExecution = () => Promise.reject(looked);
  const connection = {
    workflowService: { describeWorkflowExecution },
    withDeadline: async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act(),
  };
  const client = { workflow: { getHandle: () => handle } };
  const context = { connection, client, namespace: 'default', sendLimit: new SendLimit() };
  return decideCall(context as unknown as ClientContext, 't', decision);
}

const failed = (code: number, details: string): Error =>
  new ServiceError('failed', { cause: grpcError(code, details) });
const FULL = 'exceeded workflow execution limit for signal events';
const silence = failed(STATUS.deadlineExceeded, 'nobody answered');
const refusal = { accepted: false, code: 'unknown_call', message: 'no', callId: '1.1', decisionId: 'd' };
const unknown = new WorkflowUpdateFailedError(
  'refused',
  ApplicationFailure.create({ message: 'no', details: [refusal] }),
);

describe('where the time of day jumps ahead', () => {
  let wall: jest.SpyInstance;
  beforeEach(() => {
    let hour = 0;
    wall = jest.spyOn(Date, 'now').mockImplementation(() => 3_600_000 * hour++);
  });
  afterEach(() => wall.mockRestore());

  it.each([
    ['a call that is about to be registered', [unknown, TAKEN]],
    ['a turn that takes updates alone', [silence, silence, TAKEN]],
  ])('decides %s', async (_, ends) => {
    expect(await decided(...ends)).toMatchObject({ status: 'accepted' });
  });
});

describe('a server that does not say whether it took a decision', () => {
  const refused = failed(STATUS.unavailable, 'connect ECONNREFUSED');

  it.each<[string, Parameters<typeof decidedOn>[0]]>([
    ['after it nobody can be asked who polls', { ends: [silence], looked: refused }],
    ['after it the signal does not get out', { ends: [silence, silence], signalled: refused }],
    ['the signal is not answered', { ends: [silence, silence], signalled: silence }],
    ['a change, which goes by no signal, is not answered', { ends: [silence, silence], decision: CHANGE }],
  ])('%s', async (_, how) => {
    await expect(withoutWaits(() => decidedOn(how))).rejects.toMatchObject({
      code: 'server_failed',
      message: expect.stringContaining('may still take effect'),
    });
  });
});

it.each([
  'Unable to perform workflow execution update due to unexpected workflow task failure.',
  'Unable to perform workflow execution update due to Workflow Task in failed state.',
])('sends a decision again where the server says: %s', async (details) => {
  // Its own words for a task that a worker completes while another event comes: UnhandledCommand.
  const ends = [failed(STATUS.failedPrecondition, details), TAKEN];
  expect(await withoutWaits(() => decided(...ends))).toMatchObject({ status: 'accepted' });
});
