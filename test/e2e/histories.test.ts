import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils';
import type { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { version } from '../../package.json';
import { connect } from '../../src/client';
import { scriptedModel, type ScriptedStep } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { ToolError, TransportError } from '../../src/tools/errors';
import type { Tool, ToolOptions } from '../../src/tools/types';
import { resetTurn } from '../support/operator';
import { startOwnServer, testBundle } from '../support/server';
import { startBench, until, type TestBench, type TurnHandle } from '../support/worker';

const folder = join(__dirname, '..', 'histories');

const tool = (name: string, more: Partial<ToolOptions> = {}): Tool =>
  defineTool({
    name,
    description: `The tool ${name}.`,
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    handler: ({ n }) => `${name} ${String(n)}`,
    ...more,
  });

const tools = [
  tool('look'),
  tool('glance', { local: true, timeout: '1s' }),
  tool('fail', {
    handler: () => {
      throw new ToolError('it could not');
    },
  }),
  tool('pay', { safety: 'dangerous' }),
  tool('hurry', { safety: 'dangerous', requestExpires: '1s' }),
  tool('lose', {
    safety: 'dangerous',
    handler: () => {
      throw new TransportError('cut');
    },
  }),
];

const call = (name: string, n = 1) => ({ name, arguments: { n } });
const end: ScriptedStep = { text: 'done' };
const scripts: Record<string, ScriptedStep[]> = {
  plain: [{ toolCalls: [call('look'), call('glance'), call('fail'), { name: 'nothing' }] }, end],
  approved: [{ toolCalls: [call('look'), call('pay')] }, end],
  edited: [{ toolCalls: [call('pay', 500)] }, end],
  denied: [{ toolCalls: [call('pay'), call('pay', 2)] }, end],
  expired: [{ toolCalls: [call('hurry')] }, end],
  'in-doubt': [{ toolCalls: [call('lose')] }, end],
  cancelled: [{ toolCalls: [call('pay')] }, end],
  reset: [{ toolCalls: [call('look'), call('pay')] }, end],
};

const waiting = (handle: TurnHandle, state: string): Promise<unknown> =>
  until(`state ${state}`, async () => {
    const { searchAttributes } = await handle.describe();
    return searchAttributes['CountersignState']?.[0] === state;
  });

const decide = async (handle: TurnHandle, ...decisions: object[]): Promise<void> => {
  await waiting(handle, 'waiting');
  for (const decision of decisions) await handle.executeUpdate('decide', { args: [decision] });
};

/** What a person does in each. */
const acts: Record<string, (handle: TurnHandle) => Promise<unknown>> = {
  plain: async () => {},
  approved: (handle) => decide(handle, { callId: '1.2', decision: 'approved', approver: 'ann' }),
  edited: (handle) =>
    decide(handle, { callId: '1.1', decision: 'modified', arguments: { n: 50 }, reason: 'less' }),
  denied: async (handle) => {
    await waiting(handle, 'waiting');
    await handle.signal('approval', null);
    await handle.signal('approval', { callId: '1.1', decision: 'denied', reason: 'no' });
    await handle.signal('approval', { callId: '1.2', decision: 'denied' });
  },
  expired: (handle) => waiting(handle, 'waiting'),
  'in-doubt': async (handle) => {
    await decide(handle, { callId: '1.1', decision: 'approved' });
    await waiting(handle, 'in_doubt');
    await handle.executeUpdate('resolve', {
      args: [{ callId: '1.1', resolution: 'happened', content: 'seen' }],
    });
  },
  reset: async (handle) => {
    await waiting(handle, 'waiting');
    await resetTurn(handle, '--type', 'FirstWorkflowTask');
    await decide(handle, { callId: '1.2', decision: 'approved', approver: 'ann' });
  },
  cancelled: async (handle) => {
    await waiting(handle, 'waiting');
    await handle.cancel();
  },
};

let bench: TestBench;
beforeAll(async () => {
  const agents = Object.entries(scripts).map(([name, steps]) =>
    defineAgent({ name, instructions: 'x', model: scriptedModel(steps), tools }),
  );
  bench = await startBench({ agents });
});
afterAll(() => bench.stop());

test.each(Object.keys(scripts))('a turn that was %s replays from its exported history', async (name) => {
  const handle = await bench.start(name, `turn ${name}`);
  await acts[name]?.(handle);
  // The handle of the start would wait for the run that a reset ended.
  const turn: TurnHandle = bench.client.workflow.getHandle(handle.workflowId);
  const status = await turn.result().then(
    ({ status: end }) => end,
    () => 'no result',
  );
  expect(status).toBe(name === 'cancelled' ? 'no result' : 'answered');
  await keepAndReplay(name, await handle.fetchHistory());
});

test('a fork of a turn replays', async () => {
  const handle = await bench.start('approved', 'turn forked');
  await acts['approved']?.(handle);
  await handle.result();
  const desk = await connect({ client: bench.client });
  const change = { what: 'decision', decision: 'denied', approver: 'ben' } as const;
  const { turn } = await desk.fork({ turn: handle.workflowId, at: '1.2', change });
  const fork: TurnHandle = bench.client.workflow.getHandle(turn);
  expect(await fork.result()).toMatchObject({ status: 'answered' });
  await keepAndReplay('forked', await fork.fetchHistory());
});

test('a turn that continued as new replays, both its runs', async () => {
  const server = await startOwnServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=40'] });
  const steps: ScriptedStep[] = [
    ...Array.from({ length: 12 }, (_, n) => ({ toolCalls: [call('look', n)] })),
    end,
  ];
  const agent = defineAgent({ name: 'continued', instructions: 'x', model: scriptedModel(steps), tools });
  const own = await startBench({ agents: [agent], address: server.address });
  const handle = await own.start('continued', 'go on');
  expect(await handle.result()).toMatchObject({ status: 'answered', steps: 13, counts: { calls: 12 } });
  const last = await handle.describe();
  const first = own.client.workflow.getHandle(
    handle.workflowId,
    last.raw.workflowExecutionInfo?.firstRunId ?? '',
  );
  expect(last.runId).not.toBe(last.raw.workflowExecutionInfo?.firstRunId);
  await keepAndReplay('continued', await handle.fetchHistory());
  await keepAndReplay('continuing', await first.fetchHistory());
  await own.stop();
  await server.stop();
});

/** Workers and their sticky queues are named after process and machine. */
function withoutMachine(json: string): string {
  return json
    .replaceAll(/"identity": ?"\d+@[^"]+"/g, '"identity": "1@host"')
    .replaceAll(/"\d+@[^"]+?(-[0-9a-f]{32})"/g, '"1@host$1"');
}

/** Replays a fresh history; with `COUNTERSIGN_RECORD=1` also keeps it, for every later version to replay. */
async function keepAndReplay(name: string, history: temporal.api.history.v1.IHistory): Promise<void> {
  const json = withoutMachine(historyToJSON(history));
  const file = join(folder, `${version}-${name}.json`);
  if (process.env['COUNTERSIGN_RECORD'] === '1') await writeFile(file, `${json}\n`);
  const options = { workflowBundle: { codePath: testBundle() } };
  await expect(Worker.runReplayHistory(options, historyFromJSON(JSON.parse(json)))).resolves.toBeUndefined();
}
