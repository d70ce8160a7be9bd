import { randomUUID } from 'node:crypto';
import { connect, type Countersign } from '../../../src/client';
import { scriptedModel } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { type Fixture, startFixture } from '../../support/fixture';
import { testAddress } from '../../support/server';
import { until } from '../../support/until';
import type { Ended } from '../process';
import { runCli } from '../run-cli';

/** Of this run alone: other tests have schedules on the same server. */
const tag = randomUUID().slice(0, 8);
const AGENT = `clerk-${tag}`;
const ID = `daily-${tag}`;
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  process.env['TZ'] = 'Europe/Berlin';
  const model = scriptedModel([{ text: 'all is well' }]);
  fixture = await startFixture({
    agents: [defineAgent({ name: AGENT, instructions: 'x', model, tools: [] })],
  });
  client = await connect({ address: testAddress() });
});

afterAll(async () => {
  await client.schedules.remove(ID).catch(() => undefined);
  await client.close();
});

const cli = (...args: string[]): Promise<Ended> =>
  runCli(['schedule', ...args], { env: { TEMPORAL_ADDRESS: testAddress() } });
const add = (id: string, ...args: string[]): Promise<Ended> =>
  cli('add', id, AGENT, 'look around', '--queue', fixture.taskQueue, ...args);

it('makes a schedule, shows it, runs it, pauses, resumes and removes it', async () => {
  const made = await add(
    ID,
    '--cron',
    '0 8 * * 1-5',
    '--jitter',
    '5m',
    '--as',
    'ann',
    '--meta',
    'tenant=acme',
  );
  expect(made).toMatchObject({ code: 0, err: '' });
  // The zone is that of the one who types.
  for (const part of [
    '0 8 * * 1-5 (Europe/Berlin)',
    AGENT,
    'ann',
    'tenant=acme',
    'skip',
    'up to 5 min',
    '24 h',
    '0 turns',
  ])
    expect(made.out).toContain(part);
  const listed = await until('the list', async () => {
    const { out } = await cli('list');
    return out.includes(ID) && out;
  });
  expect(listed).toMatch(/SCHEDULE +WHEN .*NEXT +LAST/);
  const ran = await cli('run', ID);
  const [turn = ''] = ran.out.split('\n');
  expect(turn).toMatch(new RegExp(`^${ID}-\\d{4}-`));
  await until('its end', async () => (await client.view(turn)).status === 'answered');
  const shown = await runCli(['show', turn], { env: { TEMPORAL_ADDRESS: testAddress() } });
  expect(shown.out).toMatch(new RegExp(`schedule +${ID}`));
  const times = await cli('show', ID, '--from', '2027-03-26', '--to', '2027-03-31');
  expect(times.out).toMatch(/2027-03-26 08:0\d:\d\d\n +2027-03-29 08:0\d:\d\d\n +2027-03-30 08:0/);
  expect((await cli('pause', ID, '--reason', 'on holiday')).out).toBe(`${ID} is paused\n`);
  expect((await cli('show', ID)).out).toContain('paused: on holiday');
  expect((await cli('resume', ID)).out).toBe(`${ID} is resumed\n`);
  expect((await cli('show', ID)).out).not.toContain('paused');
  expect(JSON.parse((await cli('show', ID, '--json')).out)).toMatchObject({
    id: ID,
    started: 1,
    requester: 'ann',
  });
  expect(JSON.parse((await cli('remove', ID, '--json')).out)).toEqual({ schedule: ID, done: 'removed' });
  expect(await cli('show', ID)).toMatchObject({ code: 4, out: '' });
});

it.each([
  ['nobody on the queue', ['--queue', `nobody-${tag}`], /no worker takes work from the queue nobody-/],
  ['no such agent', [], /no worker of the queue .* has the agent "stranger"/],
])('says that there is %s, and makes the schedule', async (name, args, expected) => {
  const id = `lacking-${name.replaceAll(' ', '-')}-${tag}`;
  const queue = ['--queue', fixture.taskQueue];
  const line = ['add', id, 'stranger', 'x', '--cron', '@yearly', ...queue, ...args];
  // A worker says some seconds after its start which agents it has.
  const { code, err } = await until('the note', async () => {
    const ended = await cli(...line);
    if (ended.err !== '') return ended;
    await client.schedules.remove(id);
    return undefined;
  });
  expect(err).toMatch(expected);
  expect(code).toBe(0);
  await client.schedules.remove(id);
});

it.each([
  ['no time', [], /--cron or --every/],
  ['two times', ['--cron', '@daily', '--every', '1h'], /--cron or --every/],
  ['a wrong cron expression', ['--cron', '99 8 * * *'], /Minute is not in range/],
  ['a wrong zone', ['--cron', '@daily', '--time-zone', 'Mars'], /unknown time zone Mars/],
  ['an unknown overlap policy', ['--every', '1h', '--overlap', 'terminate-other'], /Allowed choices/],
  ['an interval that is no time', ['--every', 'often'], /--every often/],
])('refuses %s with 2', async (_, args, expected) => {
  const { code, err } = await add(`bad-${tag}`, ...args);
  expect(err).toMatch(expected);
  expect(code).toBe(2);
});
