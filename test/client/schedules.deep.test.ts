import { randomUUID } from 'node:crypto';
import { msToTs, tsToMs } from '@temporalio/common/lib/time';
import { connect, type Countersign, CountersignError, type ScheduleRequest } from '../../src/client';
import { MEMO } from '../../src/contract/names';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { drawKey } from '../encryption/ring';
import { type Fixture, startFixture } from '../support/fixture';
import { startOwnServer, testAddress } from '../support/server';
import { listedItem, runNow } from '../support/turns';
import { until } from '../support/until';
import { handleOf } from '../support/vault';

/** Of this run alone: other tests have schedules on the same server. */
const tag = randomUUID().slice(0, 8);
const parameters = { type: 'object', properties: {} } as const;
const origins: unknown[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters,
  safety: 'dangerous',
  handler: (_, { requester, metadata }) => {
    origins.push({ requester, metadata });
    return 'paid';
  },
});
const model = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: {} }] }, { text: 'done' }]);
const agents = [defineAgent({ name: `payer-${tag}`, instructions: 'pay', model, tools: [pay] })];

let fixture: Fixture;
let client: Countersign;
const made = new Set<string>();

beforeAll(async () => {
  fixture = await startFixture({ agents });
  client = await connect({ address: testAddress() });
});

afterAll(async () => {
  for (const id of made) await client.schedules.remove(id).catch(() => undefined);
  await client.close();
});

const idOf = (name: string): string => {
  made.add(`${name}-${tag}`);
  return `${name}-${tag}`;
};

/** A schedule that starts nothing by itself during the test. */
const yearly = (name: string, more: Partial<ScheduleRequest> = {}): ScheduleRequest => ({
  id: idOf(name),
  agent: `payer-${tag}`,
  prompt: 'pay the bills',
  cron: '0 8 1 1 *',
  taskQueue: fixture.taskQueue,
  ...more,
});

/** One that starts a turn each second. */
const often = (name: string, more: Partial<ScheduleRequest> = {}): ScheduleRequest => {
  const { cron: _cron, ...rest } = yearly(name, more);
  return { ...rest, everyMs: 1000 };
};

const refusal = async (doing: Promise<unknown>): Promise<string> => {
  const error: unknown = await doing.catch((thrown: unknown) => thrown);
  if (!(error instanceof CountersignError)) throw new Error(`it was not refused: ${String(error)}`);
  return `${error.code}: ${error.message}`;
};

it('starts turns by the clock whose requests are in the inbox, with all that a turn has', async () => {
  const { id } = await client.schedules.add(
    often('morning', { requester: 'ann', metadata: { tenant: 'acme' } }),
  );
  const item = await until('its request', async () =>
    (await client.inbox({ agent: `payer-${tag}` })).find(({ turn }) => turn.startsWith(id)),
  );
  await client.client.schedule.getHandle(id).pause();
  expect(item).toMatchObject({ kind: 'request', tool: 'pay', prompt: 'pay the bills' });
  expect(item.turn).toMatch(/^morning-\w+-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  await client.decideOrThrow(item.turn, {
    ...{ decisionId: randomUUID(), callId: item.callId, decision: 'approved', approver: 'bob' },
    ...{ callKey: item.callKey, seenDigest: item.seenDigest ?? '' },
  });
  await handleOf(client, item.turn).result();
  expect(origins).toEqual([{ requester: 'ann', metadata: { tenant: 'acme' } }]);
  const view = await client.view(item.turn);
  expect(view).toMatchObject({ schedule: id, status: 'answered', origin: { requester: 'ann' } });
  const listed = await until('the list', async () => {
    const [first] = await client.list({ schedule: id, metadata: { tenant: 'acme' }, state: 'answered' });
    return first;
  });
  expect(listed).toMatchObject({ turn: item.turn, schedule: id, prompt: 'pay the bills' });
  const history = await client.histories(item.turn);
  const types = history
    .flatMap(({ events }) => (events ?? []).slice(0, 5))
    .map((event) => Object.keys(event));
  // The schedule gave it what lists show: the turn need not write it again.
  expect(types.flat()).not.toContain('workflowPropertiesModifiedEventAttributes');
});

it('skips a time while its turn waits for a person', async () => {
  const { id } = await client.schedules.add(often('skips'));
  const now = await until('a skipped time', async () => {
    const { info } = await client.client.schedule.getHandle(id).describe();
    return info.numActionsSkippedOverlap > 0 && info.runningActions.length > 0 && info;
  });
  await client.schedules.remove(id);
  expect(now).toMatchObject({ numActionsTaken: 1, runningActions: [expect.anything()] });
  await client.cancel(now.runningActions[0]?.workflow.workflowId ?? '');
});

it('says what it is, is run and paused by Temporal itself, and is removed', async () => {
  const { schedules } = client;
  const request = yearly('all', {
    timeZone: 'Europe/Berlin',
    jitterMs: 60_000,
    catchUpMs: 3_600_000,
    overlap: 'buffer-one',
    priority: { priorityKey: 5, fairnessKey: 'acme' },
  });
  const added = await schedules.add({ ...request, requester: 'ann', paused: true });
  expect(added).toMatchObject({
    ...{ id: request.id, agent: request.agent, prompt: request.prompt, when: '0 8 1 1 *' },
    ...{ timeZone: 'Europe/Berlin', paused: true },
  });
  expect(added.next[0]).toMatch(/^\d{4}-01-01T07:0[01]:/);
  const schedule = client.client.schedule.getHandle(request.id);
  expect(await schedule.describe()).toMatchObject({
    spec: { jitter: 60_000 },
    policies: { catchupWindow: 3_600_000, overlap: 'BUFFER_ONE' },
    action: { taskQueue: fixture.taskQueue, args: [{ origin: { requester: 'ann' } }] },
  });
  const turn = await runNow(client, request.id);
  expect(turn).toMatch(new RegExp(`^${request.id}-\\d{4}`));
  const { priority } = await fixture.client.workflow.getHandle(turn).describe();
  expect(priority).toMatchObject({ priorityKey: 5, fairnessKey: 'acme' });
  await client.cancel(turn);
  await schedule.pause('on holiday');
  // Visibility may still list the schedule as it was added: paused, without a note.
  const listed = await until('the list', async () =>
    (await schedules.list()).find(
      ({ id, paused, note }) => id === request.id && paused && note !== undefined,
    ),
  );
  expect(listed).toMatchObject({ note: 'on holiday', when: '0 8 1 1 *', agent: request.agent });
  await schedules.remove(request.id);
  expect(await refusal(schedules.remove(request.id))).toBe(`not_found: there is no schedule ${request.id}`);
});

it.each([
  ['the night that has no 02:30', '2027-03-27', '2027-03-30', ['2027-03-27T01:30', '2027-03-29T00:30']],
  [
    'the night that has two',
    '2027-10-30',
    '2027-11-02',
    ['2027-10-30T00:30', '2027-10-31T01:30', '2027-11-01T01:30'],
  ],
])('starts at 02:30 in Berlin as the clock says: %s', async (_, from, to, expected) => {
  const { id } = await client.schedules.add(
    yearly(`dst${from}`, { cron: '30 2 * * *', timeZone: 'Europe/Berlin' }),
  );
  const range = { startTime: msToTs(Date.parse(from)), endTime: msToTs(Date.parse(to)) };
  const { workflowService } = client.client;
  const place = { namespace: client.namespace, scheduleId: id };
  const { startTime } = await workflowService.listScheduleMatchingTimes({ ...place, ...range });
  const times = (startTime ?? []).map((time) => new Date(tsToMs(time)).toISOString());
  expect(times).toEqual(expected.map((time) => `${time}:00.000Z`));
});

it('refuses an id that is taken, and leaves the schedule as it is', async () => {
  const request = yearly('taken');
  await client.schedules.add(request);
  expect(await refusal(client.schedules.add({ ...request, prompt: 'another' }))).toBe(
    `exists: there is a schedule ${request.id}`,
  );
  const { memo } = await client.client.schedule.getHandle(request.id).describe();
  expect(memo).toMatchObject({ [MEMO.prompt]: 'pay the bills' });
});

it.each<[string, Partial<ScheduleRequest>, RegExp]>([
  ['a minute that is none', { cron: '61 8 * * *' }, /Minute is not in range/],
  ['too few fields', { cron: '0 8 *' }, /5-7 fields/],
  ['words', { cron: 'every morning' }, /fields|expected/i],
  ['nothing', { cron: '' }, /not a cron expression/],
  ['a comment', { cron: '0 8 * * * # x' }, /not a cron expression/],
  ['two lines', { cron: '0 8 * * *\n0 9 * * *' }, /not a cron expression/],
  ['a day that never comes', { cron: '0 0 30 2 *' }, /never comes/],
  ['an unknown zone', { timeZone: 'Europe/Nowhere' }, /unknown time zone/],
  ['both times', { everyMs: 60_000, cron: '@daily' }, /one of them/],
  ['half a second', { everyMs: 1500 }, /whole seconds/],
  ['an interval that is no number', { everyMs: NaN }, /whole seconds/],
  ['a jitter below zero', { jitterMs: -1000 }, /whole seconds/],
  ['a catch-up window of 9 s', { catchUpMs: 9000 }, /under 10 s/],
  ['no prompt', { prompt: ' ' }, /needs a prompt/],
  ['no agent', { agent: '' }, /name of an agent/],
  ['an id with a slash', { id: 'a/b' }, /cannot be the id/],
  ['an id of 151 characters', { id: 'a'.repeat(151) }, /more than 150/],
  ['facts that are none', { metadata: { Tenant: 'x' } }, /cannot be used/],
])('refuses %s, and makes nothing', async (name, more, expected) => {
  const { cron = '0 8 * * *', ...rest } = { ...yearly(`bad-${name.replaceAll(' ', '-')}`), ...more };
  const isTimed = more.everyMs !== undefined && more.cron === undefined;
  const request = isTimed ? rest : { ...rest, cron };
  const said = await refusal(client.schedules.add(request));
  expect(said).toMatch(/^usage: /);
  expect(said).toMatch(expected);
  if (more.id === undefined) expect(await refusal(client.schedules.remove(request.id))).toMatch(/^not_found/);
});

it('lists no schedule of other workflows', async () => {
  const other = await client.client.schedule.create({
    scheduleId: `other-${tag}`,
    spec: { cronExpressions: ['0 8 1 1 *'] },
    action: { type: 'startWorkflow', workflowType: 'backup', taskQueue: 'none' },
  });
  const { id } = await client.schedules.add(yearly('ours'));
  const ids = await until('ours', async () => {
    const listed = (await client.schedules.list()).map((one) => one.id);
    return listed.includes(id) && listed;
  });
  expect(ids).not.toContain(`other-${tag}`);
  await other.delete();
});

it('shows a schedule that was changed elsewhere as it is now', async () => {
  const { id } = await client.schedules.add(yearly('changed'));
  await client.client.schedule.getHandle(id).update((before) => ({
    ...before,
    spec: { calendars: [{ hour: 9 }], intervals: [{ every: '90m' }] },
  }));
  await until('the change', async () =>
    (await client.schedules.list()).some(
      (one) => one.id === id && one.when === 'times that were set elsewhere; every 90m',
    ),
  );
});

it('starts encrypted turns, and gives nothing of a schedule to a turn of another name', async () => {
  const server = await startOwnServer();
  const encryption = { keys: [drawKey('first')], required: true };
  const sealed = await startFixture({ agents, address: server.address, worker: { encryption } });
  const reader = await connect({ address: server.address, encryption });
  const request = yearly('sealed', { taskQueue: sealed.taskQueue });
  expect(await reader.schedules.add(request)).toMatchObject({ prompt: 'pay the bills' });
  const turn = await runNow(reader, request.id);
  const item = await listedItem(reader, turn);
  expect(item.prompt).toBe('pay the bills');
  const [history] = await reader.histories(turn);
  const started = history?.events?.[0]?.workflowExecutionStartedEventAttributes;
  expect(Buffer.from(started?.input?.payloads?.[0]?.data ?? []).toString()).not.toContain('bills');
  // The same payload, given to a workflow of another id: the worker refuses it.
  const moved = `moved-${tag}`;
  await reader.client.workflowService.startWorkflowExecution({
    namespace: 'default',
    workflowId: moved,
    requestId: randomUUID(),
    workflowType: { name: 'agentTurn' },
    taskQueue: { name: sealed.taskQueue },
    input: started?.input ?? null,
  });
  await expect(handleOf(reader, moved).result()).rejects.toThrow();
  await reader.close();
  await sealed.stop();
  await server.stop();
});
