import { connect, type Countersign } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import type { RunningWorker } from '../../src/worker';
import { runCli } from '../cli/run-cli';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { decide, seenOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

const agentWith = (...descriptions: [name: string, description: string][]) =>
  defineAgent({
    name: 'payer',
    instructions: 'do',
    model: book.model,
    tools: descriptions.map(([name, description]) =>
      defineTool({
        name,
        description,
        safety: 'dangerous',
        startWithin: '3s',
        parameters: [],
        handler: () => 'paid',
      }),
    ),
  });

/** A worker with other tools, on the queue and the state of the fixture. */
const deployed = (...tools: [name: string, description: string][]): Promise<RunningWorker> =>
  fixture.addWorker({}, { agents: [agentWith(...tools)] });

/** A turn that waits with one call of `pay`, made by a worker that is gone. */
const waiting = async (): Promise<TurnHandle> => {
  const first = await deployed(['pay', 'Pays.']);
  const handle = await fixture.start(
    'payer',
    book.add({ toolCalls: [{ name: 'pay', arguments: {} }] }, readBack),
  );
  await waitFor(handle, '1.1');
  await first.stop();
  return handle;
};

const cli = (...args: string[]) => runCli(args, { env: { TEMPORAL_ADDRESS: testAddress() } });

beforeEach(async () => {
  fixture = await startFixture({ agents: [agentWith(['pay', 'Pays.'])], workers: 0 });
  client = await connect({ address: testAddress() });
});
afterEach(async () => {
  await client.close();
  await fixture.stop();
});

test.each<[string, [string, string][], string, RegExp]>([
  ['changed', [['pay', 'Pays, and more.']], 'changed', /the tool pay changed since this request was made/],
  ['was removed', [['refund', 'Pays back.']], 'gone', /the tool pay is not there any more/],
])('a tool that %s is marked in the request, before somebody approves it', async (_, tools, now, words) => {
  const handle = await waiting();
  await deployed(...tools);
  const changed = await until('word of the new worker', () => client.changedTools(handle.workflowId));
  expect(changed).toEqual([{ callId: '1.1', now }]);
  const shown = await cli('show', `${handle.workflowId}/1.1`);
  expect(shown).toMatchObject({ code: 0, out: expect.stringMatching(words) });
  expect((await cli('show', handle.workflowId)).out).toMatch(words);
  const { seenDigest } = await seenOf(handle);
  const approved = await cli('approve', `${handle.workflowId}/1.1`, '--saw', seenDigest.slice(0, 32));
  expect(approved).toMatchObject({ code: 0, err: expect.stringMatching(words) });
  const { answer } = await handle.result();
  expect(answer).toMatch(/Nothing ran/);
});

test('an unchanged tool is not mentioned, and with no worker nobody can tell', async () => {
  const handle = await waiting();
  expect(await client.changedTools(handle.workflowId)).toBeUndefined();
  await deployed(['pay', 'Pays.']);
  expect(await client.changedTools(handle.workflowId)).toEqual([]);
  expect((await cli('show', `${handle.workflowId}/1.1`)).out).not.toContain('the tool pay');
  await decide(handle, { callId: '1.1', decision: 'denied' });
  await handle.result();
});
