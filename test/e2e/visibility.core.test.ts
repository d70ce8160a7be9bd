import { LIMITS } from '../../src/contract/limits';
import { NEVER } from '../../src/contract/names';
import { defineAgent } from '../../src/tools/define-agent';
import { TransportError } from '../../src/tools/errors';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { decide, eventsOf, openOf, resolve, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;

beforeAll(async () => {
  const tools = [
    recordTool(effects, { name: 'pay', safety: 'dangerous', requestExpires: '2h' }),
    recordTool(effects, { name: 'mail', safety: 'dangerous', requestExpires: '1h' }),
    recordTool(effects, { name: 'ever', safety: 'dangerous', requestExpires: 'never' }),
    recordTool(effects, { name: 'lose', safety: 'dangerous' }, () => {
      throw new TransportError('the line broke');
    }),
  ];
  fixture = await startFixture({
    agents: [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools })],
  });
});

const start = (...names: string[]): Promise<TurnHandle> =>
  fixture.start(
    'payer',
    book.add({ toolCalls: names.map((name) => ({ name, arguments: { tag: name } })) }, readBack),
  );

/** Waits until visibility finds the turn by this. */
const found = (handle: TurnHandle, query: string): Promise<Record<string, unknown>> =>
  until(query, async () => {
    for await (const one of fixture.client.workflow.list({
      query: `WorkflowId="${handle.workflowId}" AND ${query}`,
    })) {
      return one.searchAttributes;
    }
    return undefined;
  });

const details = async (handle: TurnHandle): Promise<string> => {
  const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return metadata.currentDetails ?? '';
};

test('the inbox is found by visibility: state, how many, which tools, the earliest deadline', async () => {
  const handle = await start('pay', 'mail', 'ever', 'pay');
  const mail = await waitFor(handle, '1.2');
  await waitFor(handle, '1.4');
  const attributes = await found(handle, 'CountersignState="waiting" AND CountersignPending=4');
  const asked = ['asked:pay', 'asked:mail', 'asked:ever'];
  expect(attributes['CountersignTools']).toEqual([...['pay', 'mail', 'ever'], ...asked]);
  expect(attributes['CountersignDeadline']).toEqual([new Date(mail.deadline ?? '')]);
  await found(handle, 'CountersignTools="mail"');
  expect(await details(handle)).toContain(
    `- **waits for a decision**: \`1.2\` mail, expires ${mail.deadline}`,
  );
  for (const callId of ['1.1', '1.2', '1.4']) await decide(handle, { callId, decision: 'denied' });
  const left = await found(handle, 'CountersignPending=1');
  expect(left).toMatchObject({
    CountersignTools: ['ever', 'was:denied', ...asked],
    CountersignDeadline: [new Date(NEVER)],
  });
  expect(await details(handle)).toBe('- **waits for a decision**: `1.3` ever, never expires');
  await decide(handle, { callId: '1.3', decision: 'denied' });
  await handle.result();
  const ended = await found(handle, 'CountersignState="answered" AND CountersignPending=0');
  expect(ended['CountersignTools']).toEqual(['was:denied', ...asked]);
  expect(ended['CountersignDeadline']).toBeUndefined();
  expect(await openOf(handle)).toBeUndefined();
  expect(await details(handle)).toBe('Ended: answered');
});

test('a call in doubt shows before requests that wait', async () => {
  const handle = await start('lose', 'pay');
  await waitFor(handle, '1.2');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '1.1', 'in_doubt');
  await found(handle, 'CountersignState="in_doubt" AND CountersignPending=2');
  expect(await details(handle)).toContain('- **in doubt**: `1.1` lose: the line broke');
  await resolve(handle, { callId: '1.1', resolution: 'did-not' });
  await found(handle, 'CountersignState="waiting" AND CountersignPending=1');
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  await found(handle, 'CountersignState="cancelled" AND CountersignPending=0');
});

test('the memo names the first twenty requests, counts all, and stays within its limit', async () => {
  const handle = await start(...Array<string>(25).fill('pay'));
  const open = await until('the requests', () => openOf(handle));
  expect(open.count).toBe(25);
  expect(open.items.length).toBeLessThanOrEqual(LIMITS.memoRequests);
  expect(JSON.stringify(open).length).toBeLessThanOrEqual(LIMITS.memoBytes);
  expect(open.items[0]).toMatchObject({ callId: '1.1', tool: 'pay', summary: '1.1 pay tag=pay' });
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
});

test("activities and timers have summaries for Temporal's own UI", async () => {
  const handle = await start('pay');
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await handle.result();
  const events = (await eventsOf(handle)).filter(
    (event) => event.activityTaskScheduledEventAttributes ?? event.timerStartedEventAttributes,
  );
  const summaries = events.map(({ userMetadata }) =>
    JSON.parse(Buffer.from(userMetadata?.summary?.data ?? '').toString()),
  );
  expect(summaries).toEqual(['step 1', 'a request expires or is escalated', '1.1 pay tag=pay', 'step 2']);
});
