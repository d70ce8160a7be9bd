/** Calls tools of a gateway as tasks with the official client, as the test beside it asks, and prints what became of them. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';

const { url, tokens } = JSON.parse(process.argv[2]);
const clientInfo = { name: 'tasks', version: '1' };
const protocolVersion = '2026-07-28';

/** The client has no codec for tasks, so requests about them go as they are. */
const dispatchWith =
  (headers) =>
  async ({ method, params }, { signal } = {}) => {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      signal,
      headers: {
        ...headers,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': protocolVersion,
        'Mcp-Method': method,
        'Mcp-Name': params.name ?? params.taskId,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: crypto.randomUUID(), method, params }),
    });
    const text = await response.text();
    const { result, error } = JSON.parse(/^(?:data: )?(\{.*)$/m.exec(text)[1]);
    return error === undefined ? { kind: 'result', result } : { kind: 'error', error };
  };

const sessionOf = async (user) => {
  const headers = { Authorization: `Bearer ${tokens[user]}` };
  const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: protocolVersion } } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  return createTaskSessionFromClient(client, {
    endpointId: 'gateway',
    rawDispatch: dispatchWith(headers),
    v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities: {} },
  });
};

const [ann, bea] = [await sessionOf('ann'), await sessionOf('bea')];
const pay = (key) => ann.callTool('pay', { key }, { metadata: { 'claudecode/toolUseId': key } });
const failure = (work) =>
  work.then(
    () => 'none',
    (error) => error.message,
  );

/** The end of a call, with the states that it went through. */
const endOf = async (execution) => {
  const states = new Set();
  const onEvent = ({ type, task }) => void (type === 'task' && states.add(task.status));
  const { outcome } = await execution.settle({ onEvent });
  const { isError = false, content = [] } = outcome.result ?? {};
  const texts = content.map(({ text }) => text).join('\n');
  return { kind: execution.kind, states: [...states], status: outcome.status, isError, texts };
};

const approved = async () => endOf(await pay('approved'));

const denied = async () => endOf(await pay('denied'));

const cancelled = async () => {
  const execution = await pay('cancelled');
  const { taskId } = execution.handle;
  const theirs = bea.task(taskId);
  const refusals = [await failure(theirs.snapshot()), await failure(theirs.cancel())];
  const { status } = await ann.task(taskId).snapshot();
  await execution.cancel();
  return { refusals, status, ...(await endOf(execution)) };
};

/** Another client of the same person goes on with a task. */
const handedOn = async () => {
  const execution = await pay('handed-on');
  let kept;
  await execution.handoff((reference) => void (kept = reference));
  return endOf(await (await sessionOf('ann')).resumeTask(kept));
};

const names = {
  approved,
  denied,
  cancelled,
  handedOn,
  safe: async () => endOf(await ann.callTool('test_simple_text')),
};
const found = await Promise.all(Object.entries(names).map(async ([name, run]) => [name, await run()]));
process.stdout.write(JSON.stringify(Object.fromEntries(found)));
process.exit(0);
