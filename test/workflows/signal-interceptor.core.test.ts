import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { bundleWorkflows } from '../../src/worker/bundle-workflows';
import { SIGNALS, UPDATES } from '../../src/contract/names';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { waitFor } from '../support/turns';

const effects = useEffects();
const book = scriptBook();
let directory: string;
beforeAll(async () => (directory = await mkdtemp(join(tmpdir(), 'countersign-bundles-'))));
afterAll(() => rm(directory, { recursive: true, force: true }));

const WATCHING = require.resolve('../fixtures/watching-interceptors');

/** A client that sends the header of a span, as the interceptors for OpenTelemetry do. */
const traced: WorkflowClientInterceptor = {
  signal: (input, next) => next({ ...input, headers: { ...input.headers, ...header() } }),
  startUpdate: (input, next) => next({ ...input, headers: { ...input.headers, ...header() } }),
  query: (input, next) => next({ ...input, headers: { ...input.headers, ...header() } }),
};

function header() {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  return { '_tracer-data': defaultPayloadConverter.toPayload({ traceparent }) };
}

it.each([
  ['before', { workflowInterceptorModules: [WATCHING] }],
  [
    'after',
    {
      plugins: [
        {
          name: 'theirs',
          configureBundler: <T extends { workflowInterceptorModules?: string[] }>(options: T): T => ({
            ...options,
            workflowInterceptorModules: [...(options.workflowInterceptorModules ?? []), WATCHING],
          }),
        },
      ],
    },
  ],
])("an application's interceptor %s ours sees and judges every message", async (place, options) => {
  const workflowBundle = join(directory, `${place}.js`);
  await writeFile(workflowBundle, (await bundleWorkflows(options)).code);
  const tools = [recordTool(effects, { name: 'note', safety: 'dangerous' })];
  const agents = [defineAgent({ name: 'sender', instructions: 'do', model: book.model, tools })];
  const fixture = await startFixture({ agents, worker: { workflowBundle } });
  const note = { name: 'note', arguments: { tag: place } };
  const asked = { toolCalls: [note, note] };
  const { workflowId } = await fixture.start('sender', book.add(asked, readBack));
  const { connection } = fixture.client;
  const client = new Client({ connection, interceptors: { workflow: [traced] } });
  const handle = client.workflow.getHandle(workflowId);
  await waitFor(fixture.client.workflow.getHandle(workflowId), '1.2');
  const said = (approver: string, callId = '1.1') => ({ callId, decision: 'approved', approver });
  await handle.signal(SIGNALS.approval, said('mallory'));
  await expect(handle.executeUpdate(UPDATES.decide, { args: [said('mallory')] })).rejects.toMatchObject({
    cause: { message: 'mallory may not decide' },
  });
  expect(await effects.lines(place)).toEqual([]);
  await handle.signal(SIGNALS.approval, said('ann'));
  await handle.executeUpdate(UPDATES.decide, { args: [said('ann', '1.2')] });
  await handle.result();
  expect(await effects.lines(place)).toHaveLength(2);
  expect(await handle.query('seen')).toEqual(
    expect.arrayContaining([
      `signal ${SIGNALS.approval} traced`,
      `update ${UPDATES.decide} traced`,
      'query seen traced',
    ]),
  );
});
