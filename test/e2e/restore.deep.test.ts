import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import type { RunningServer } from '../../src/engine/server-launch';
import { calls, type Fixture, startFixture, type TurnHandle } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { startOwnServer } from '../support/server';
import { decide, seenOf, waitFor } from '../support/turns';
import { until } from '../support/until';

/** A server whose database is taken back to an earlier moment, as after a restore from a backup. */
const directory = scratchDirectory();
let server: RunningServer;
let fixture: Fixture;
let client: Countersign;

const live = (): string => join(directory(), 'live');
const backup = (): string => join(directory(), 'backup');

const start = (port?: number): Promise<RunningServer> =>
  startOwnServer({ dbFile: join(live(), 'temporal.db'), ...(port === undefined ? {} : { port }) });

const copyAll = async (from: string, to: string): Promise<void> => {
  await rm(to, { recursive: true, force: true });
  await mkdir(to);
  for (const name of await readdir(from)) await copyFile(join(from, name), join(to, name));
};

/** Ends the server, does something with its files, and starts it again at the same port. */
const whileDown = async (work: () => Promise<void>): Promise<void> => {
  const port = Number(server.address.split(':')[1]);
  process.kill(server.pid, 'SIGKILL');
  await server.exited;
  await work();
  server = await start(port);
};

const takeBackup = (): Promise<void> => whileDown(() => copyAll(live(), backup()));
const restore = (): Promise<void> => whileDown(() => copyAll(backup(), live()));

beforeEach(async () => {
  await mkdir(live());
  server = await start();
  fixture = await startFixture({ address: server.address });
  client = await connect({ client: fixture.client });
});

afterEach(async () => {
  await fixture.stop();
  await server.stop();
});

/** What the tools of worker processes did for a tag: the tool with its key. */
const keysOf = async (tag: string): Promise<string[]> =>
  (await fixture.effects(tag)).map(({ tool, key }) => `${tool} ${key}`);

const approve = async (handle: TurnHandle, callId: string): Promise<void> => {
  await waitFor(handle, callId);
  await decide(handle, { callId, decision: 'approved', ...(await seenOf(handle, callId)) });
};

test('an unsafe call that was asked for before the moment is not run again by a worker with its journal', async () => {
  const worker = await fixture.addHere({ heartbeat: '8s' });
  const handle = await fixture.startSteps(calls('pay:t'));
  await waitFor(handle, '1.1');
  await takeBackup();
  await fixture.open('t');
  await approve(handle, '1.1');
  const { answer } = await handle.result();
  await worker.stop();
  await restore();
  await fixture.addHere();
  await approve(handle, '1.1');
  // The journal gives the outcome of the first time, with the process that had it.
  expect(await handle.result()).toMatchObject({ status: 'answered', answer });
  expect(await keysOf('t')).toHaveLength(1);
});

test('what comes after the moment is asked for anew: a person decides again, and the rest runs again', async () => {
  const worker = await fixture.addHere({ heartbeat: '8s' });
  const handle = await fixture.startSteps(calls('put:p', 'look:l'), calls('note:n'), calls('pay:d'));
  await fixture.effectsOf('l', 1);
  await takeBackup();
  for (const tag of ['p', 'l', 'd']) await fixture.open(tag);
  await approve(handle, '3.1');
  await handle.result();
  await worker.stop();
  await restore();
  await fixture.addHere();
  await waitFor(handle, '3.1');
  await decide(handle, { callId: '3.1', decision: 'denied', ...(await seenOf(handle, '3.1')) });
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { denied: 1 } });
  const [pure, again, unsafe, denied] = await Promise.all(['l', 'p', 'n', 'd'].map(keysOf));
  expect(pure?.length).toBeGreaterThanOrEqual(2);
  expect(again?.length).toBeGreaterThanOrEqual(2);
  // The old key, by which the other system knows that it is the same.
  expect(new Set(again)).toHaveProperty('size', 1);
  expect(new Set(unsafe)).toHaveProperty('size', 2);
  expect(denied).toHaveLength(1);
});

test('a pause that is set before the workers start keeps everything with an effect from starting', async () => {
  const worker = await fixture.addHere({ heartbeat: '8s' });
  const handle = await fixture.startSteps(calls('look:l'), calls('note:n'));
  await fixture.effectsOf('l', 1);
  await takeBackup();
  await fixture.open('l');
  await handle.result();
  await worker.stop();
  await restore();
  await fixture.addHere({ ...fixture.otherMachine(), taskQueue: `${fixture.taskQueue}-pauses` });
  const by = 'ann';
  await client.pause({ reason: 'restored to an earlier moment', by });
  await fixture.addHere();
  await until('the call to be held', async () =>
    (await client.timeline(handle.workflowId)).some(({ type }) => type === 'call_held'),
  );
  await client.cancel(handle.workflowId, 'it ran before the restore');
  await until('the turn to end', async () => (await client.view(handle.workflowId)).endedAt !== null);
  await client.resume({ by });
  expect(await keysOf('n')).toHaveLength(1);
});
