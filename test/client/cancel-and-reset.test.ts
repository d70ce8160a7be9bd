import type { ClientContext } from '../../src/client/context';
import { abandonTurn, cancelTurn } from '../../src/client/cancel-and-reset';
import { makeDecode } from '../../src/history/decode/decode';
import { parseExport } from '../../src/history/exported';
import { exported } from '../history/exports';
import { fakeServer, grpcError } from '../history/fake-server';

/** A server that answers a cancellation with `refusal`, if there is one, and knows the turn or not. */
function contextOf({
  refusal,
  isThere = true,
  source,
}: { refusal?: Error; isThere?: boolean; source?: ClientContext['source'] } = {}): {
  context: ClientContext;
  sent: unknown[];
} {
  const sent: unknown[] = [];
  const send = async (...message: unknown[]): Promise<void> => {
    if (refusal !== undefined) throw refusal;
    sent.push(message);
  };
  const describeWorkflowExecution = async () => {
    if (!isThere) throw grpcError(5, 'workflow not found');
    return { workflowExecutionInfo: { type: { name: 'agentTurn' } } };
  };
  const context = {
    ...{ namespace: 'default', source },
    client: { options: { identity: 'me' }, workflow: { getHandle: () => ({ signal: send }) } },
    connection: {
      workflowService: { requestCancelWorkflowExecution: send, describeWorkflowExecution },
      withDeadline: async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act(),
    },
  } as unknown as ClientContext;
  return { context, sent };
}

test('a cancellation names the turn, the caller and the reason', async () => {
  const { context, sent } = contextOf();
  await cancelTurn(context, 't', 'wrong order');
  expect(sent).toEqual([
    [
      expect.objectContaining({
        workflowExecution: { workflowId: 't' },
        identity: 'me',
        reason: 'wrong order',
      }),
    ],
  ]);
});

test('a turn that is given up gets the signal first, then the cancellation', async () => {
  const [{ events = [] } = {}] = parseExport(exported('in-doubt'));
  const page = { events: events ?? [], more: false };
  const source = { ...fakeServer([page, page]).server, decode: makeDecode() };
  const { context, sent } = contextOf({ source });
  const abandonment = { approver: 'ann', reason: 'too late' };
  await abandonTurn(context, 't', abandonment);
  expect(sent).toEqual([['abandon', abandonment], [expect.objectContaining({ reason: 'too late' })]]);
});

const closed = grpcError(5, 'workflow execution already completed');

test('a turn that has ended stays as it is', async () => {
  await expect(cancelTurn(contextOf({ refusal: closed }).context, 't')).resolves.toBeUndefined();
});

test.each([
  ['there is no such turn', { refusal: closed, isThere: false }, 'not_found'],
  ['the key may not', { refusal: grpcError(7, 'no') }, 'server_failed'],
  ['no server answers', { refusal: grpcError(14, 'refused') }, 'no_server'],
])('a cancellation fails where %s', async (_, answers, code) => {
  await expect(cancelTurn(contextOf(answers).context, 't')).rejects.toMatchObject({ code });
});
