import type * as Library from '@modelcontextprotocol/server' with { 'resolution-mode': 'import' };
import { z } from 'zod';
import { errorMessage } from '../contract/errors';
import { isJsonObject } from '../contract/json';
import { TASKS, taskOf, type TaskState, takesTasks, WAIT_DEFINITION } from './answers';
import { keyIn } from './call-id';
import { endAnswer, type Gateway, type GatewayCall } from './gateway';

/** What serves MCP: the library, the gateway, and whose calls come in. */
interface ProtocolParts {
  library: typeof Library;
  gateway: Gateway;
  version: string;
  who: string;
  /**
   * Set where a client cancels a call by a request of its own, which another server gets: the calls that are held, by names
   * that differ from client to client.
   */
  cancels?: { held: Map<string, AbortController>; nameOf(request: unknown): string } | undefined;
}

const INSTRUCTIONS =
  'Some tools wait for a person to decide. A result that begins with "Pending" says how to wait; never make such a call a second time.';

const taskParams = z.looseObject({ taskId: z.string().min(1).max(200) });

/** A server of MCP for one connection or request of one person. It has the gateway's tools, and nothing else. */
export function createProtocol({ library, gateway, version, who, cancels }: ProtocolParts): Library.Server {
  const capabilities = { tools: { listChanged: true }, extensions: { [TASKS]: {} } };
  const server = new library.Server(
    { name: 'countersign', version },
    { capabilities, instructions: INSTRUCTIONS },
  );
  const { tools, backend } = gateway;
  const noTask = (taskId: string): Error =>
    new library.ProtocolError(library.ProtocolErrorCode.InvalidParams, `there is no such task ${taskId}`);
  const stateOf = async (taskId: string): Promise<TaskState> => {
    const state = await backend.stateOf(taskId, who).catch((error: unknown) => {
      const what = `the state of task ${taskId} cannot be read now: ${errorMessage(error)}`;
      const how = 'ask for it again, and do not make the call again';
      throw new library.ProtocolError(library.ProtocolErrorCode.InternalError, `${what}; ${how}`);
    });
    if (state === undefined) throw noTask(taskId);
    return state;
  };
  server.setRequestHandler('tools/list', () => ({
    tools: [...tools.offered(), WAIT_DEFINITION].map((tool) => toolSchema.parse(tool)),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { name, arguments: args = {} } = params;
    const asTask = takesTasks(context.mcpReq.envelope);
    if (!isJsonObject(args))
      throw new library.ProtocolError(library.ProtocolErrorCode.InvalidParams, 'the arguments are not JSON');
    const answered = await cancellable(context.mcpReq, cancels, (signal) =>
      gateway.call({
        ...{ who, name, arguments: args, asTask, key: keyIn(context.mcpReq._meta) },
        ...{ signal, onProgress: progressTo(context) },
      }),
    );
    if ('answer' in answered) return answerSchema.parse(answered.answer);
    return answerSchema.parse({ resultType: 'task', ...taskOf(await stateOf(answered.task)), content: [] });
  });
  if (cancels !== undefined)
    server.setNotificationHandler('notifications/cancelled', ({ params: { requestId } }) =>
      cancels.held.get(cancels.nameOf(requestId))?.abort(),
    );
  server.setRequestHandler('tasks/get', { params: taskParams }, async ({ taskId }, { mcpReq }) => {
    const state = await stateOf(taskId);
    const task = taskOf(state);
    if (state.status === 'working' || state.status === 'cancelled') return task;
    const end = await backend.end(taskId, mcpReq.signal);
    if (end.kind !== 'result')
      return { ...task, status: 'failed', error: { code: FAILED, message: end.message } };
    return { ...task, result: { ...endAnswer(end), resultType: 'complete' } };
  });
  server.setRequestHandler('tasks/cancel', { params: taskParams }, async ({ taskId }) => {
    const state = await stateOf(taskId);
    if (state.status === 'working') await backend.cancel(taskId, `${who} cancelled it`);
    return {};
  });
  return server;
}

/** Runs a call with a signal that aborts when its client is gone or cancels it. */
async function cancellable<T>(
  { id, signal }: Library.ServerContext['mcpReq'],
  cancels: ProtocolParts['cancels'],
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (cancels === undefined) return run(signal);
  const { held, nameOf } = cancels;
  const cancelled = new AbortController();
  held.set(nameOf(id), cancelled);
  try {
    return await run(AbortSignal.any([signal, cancelled.signal]));
  } finally {
    if (held.get(nameOf(id)) === cancelled) held.delete(nameOf(id));
  }
}

/** The code of JSON-RPC for an internal error. */
const FAILED = -32603;

// The library's own types want what our types cannot promise, such as a schema whose root is an object.
const toolSchema = z.looseObject({
  name: z.string(),
  inputSchema: z.looseObject({ type: z.literal('object').default('object') }),
});
const answerSchema = z.looseObject({ content: z.array(z.any()) });

function progressTo({ mcpReq }: Library.ServerContext): GatewayCall['onProgress'] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let steps = 0;
  return ({ fraction, text: message }) => {
    const far = fraction === undefined ? { progress: (steps += 1) } : { progress: fraction, total: 1 };
    const params = { progressToken, ...far, message };
    // A client that is gone is noticed by its signal.
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}
