import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import fc from 'fast-check';
import { checkTasks } from '../../src/cli/doctor/server';
import { connect, type Countersign } from '../../src/client';
import type { Decision } from '../../src/contract/decision';
import { CountersignError } from '../../src/contract/errors';
import { denyNext, waitForEnd } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import { runCli } from '../cli/run-cli';
import { recordTool, useEffects } from '../support/effects';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { resetRun, resetTurn } from '../support/operator';
import type { ProcessWorker } from '../support/process-worker';
import { runs } from '../support/properties';
import { askedAgain, current, lastTask, laterTask, runOf, running } from '../support/resets';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { decide, eventsOf, openOf, resolve, signalDecision, waitFor } from '../support/turns';
import { until } from '../support/until';

jest.setTimeout(400_000);

const ANN = { decision: 'approved', approver: 'ann' } as const;

const effects = useEffects();
const book = scriptBook();

test.concurrent(
  'reset while the call runs, taken by another machine: the base run tells of the start',
  async () => {
    const fixture = await startFixture();
    const first = await fixture.addProcess();
    const handle = await running(fixture);
    await first.kill();
    await resetTurn(handle, '--type', 'LastWorkflowTask');
    await fixture.addHere(fixture.otherMachine());
    await waitFor(handle, '1.1', 'in_doubt');
    await resolve(handle, { callId: '1.1', resolution: 'did-not', reason: 'seen' });
    await handle.result();
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

const approval = { ...ANN, callId: '1.2' };

const BY = {
  'a signal with an id': (handle: TurnHandle) => signalDecision(handle, { ...approval, decisionId: 'ann-1' }),
  'a signal without an id': (handle: TurnHandle) => signalDecision(handle, approval),
  'an update': (handle: TurnHandle) => decide(handle, { ...approval, decisionId: 'ann-1' }),
} as const;

type By = keyof typeof BY;

/** A turn whose first call runs, and whose second one is approved once and waits for its place. */
const approvedOnce = async (fixture: Fixture, by: By) => {
  const worker = await fixture.addProcess();
  await fixture.open('second');
  const handle = current(fixture, await fixture.startSteps(calls('work:first', 'pay:second')));
  await fixture.effectsOf('first', 1);
  await waitFor(handle, '1.2');
  await BY[by](handle);
  await until('the decision to be taken', async () => (await openOf(handle)) === undefined);
  const taking = await lastTask(handle);
  const inherited = await laterTask(handle);
  await worker.kill();
  return { handle, runId: await runOf(handle), 'applied again': taking, inherited };
};

/** Says of the first call that it happened, then waits until the second one is in doubt. */
const toSecond = async (handle: TurnHandle): Promise<void> => {
  await waitFor(handle, '1.1', 'in_doubt');
  await resolve(handle, { callId: '1.1', resolution: 'happened' });
  await waitFor(handle, '1.2', 'in_doubt');
};

// How it was made matters where it is applied again; one row stands for those that are inherited.
test.concurrent.each([
  ['a signal with an id', 'applied again'],
  ['a signal without an id', 'applied again'],
  ['an update', 'applied again'],
  ['a signal without an id', 'inherited'],
] as const)(
  'approved once, by %s, and %s by two resets of the same run: the call starts in neither without another decision',
  async (by, where) => {
    const fixture = await startFixture();
    const { handle, runId, ...tasks } = await approvedOnce(fixture, by);
    const reset = () => resetTurn(handle, '--run-id', runId, '--event-id', String(tasks[where]));
    await reset();
    const second = await fixture.addHere(fixture.otherMachine());
    await toSecond(handle);
    await resolve(handle, { callId: '1.2', resolution: 'run-again', approver: 'bob' });
    await handle.result();
    expect(await fixture.effects('second')).toHaveLength(1);
    await second.stop();
    await reset();
    await fixture.addHere(fixture.otherMachine());
    await toSecond(handle);
    await resolve(handle, { callId: '1.2', resolution: 'happened' });
    expect(await handle.result()).toMatchObject({ counts: { calls: 2, inDoubt: 2 } });
    expect(await fixture.effects('second')).toHaveLength(1);
  },
);

test.concurrent(
  'where the run before the reset was deleted, a call of a later reply runs and one of an earlier reply is in doubt',
  async () => {
    const fixture = await startFixture();
    await fixture.addHere();
    for (const tag of ['t', 'u']) await fixture.open(tag);
    const handle = current(fixture, await fixture.startSteps(calls('pay:t'), calls('pay:u')));
    const { workflowId } = handle;
    await waitFor(handle, '1.1');
    const runId = await runOf(handle);
    await resetRun(fixture.client, { workflowId, runId, eventId: await lastTask(handle) });
    const { namespace } = fixture.client.options;
    await fixture.client.workflowService.deleteWorkflowExecution({
      namespace,
      workflowExecution: { workflowId, runId },
    });
    const base = fixture.client.workflow.getHandle(workflowId, runId);
    const isGone = (): Promise<boolean> =>
      base.describe().then(
        () => false,
        () => true,
      );
    // The server deletes some half a minute later.
    await until('the run to be gone', isGone, 90);
    await waitFor(handle, '1.1');
    await decide(handle, { ...ANN, callId: '1.1' });
    await waitFor(handle, '1.1', 'in_doubt');
    await resolve(handle, { callId: '1.1', resolution: 'run-again' });
    await waitFor(handle, '2.1');
    await decide(handle, { ...ANN, callId: '2.1' });
    expect(await handle.result()).toMatchObject({ status: 'answered' });
    expect(await fixture.effects('t')).toHaveLength(1);
    expect(await fixture.effects('u')).toHaveLength(1);
  },
);

test.concurrent(
  'a decision made in a run that a reset made does not hold in the run that comes of it',
  async () => {
    const fixture = await startFixture();
    const first = await fixture.addProcess();
    for (const tag of ['t', 'u']) await fixture.open(tag);
    const handle = current(fixture, await fixture.startSteps(calls('work:first', 'pay:t', 'save:u')));
    const { workflowId } = handle;
    await waitFor(handle, '1.3');
    const eventId = await laterTask(handle);
    await first.kill();
    await resetRun(fixture.client, { workflowId, runId: await runOf(handle), eventId });
    const other = await fixture.addHere(fixture.otherMachine());
    await waitFor(handle, '1.1', 'in_doubt');
    for (const callId of ['1.2', '1.3']) await decide(handle, { ...ANN, callId });
    const later = await laterTask(handle);
    const second = await runOf(handle);
    await resolve(handle, { callId: '1.1', resolution: 'happened' });
    expect(await handle.result()).toMatchObject({ counts: { calls: 3, failed: 0, inDoubt: 1 } });
    expect(await fixture.effects('t')).toHaveLength(1);
    await other.stop();
    await resetRun(fixture.client, { workflowId, runId: second, eventId: later });
    await fixture.addHere(fixture.otherMachine());
    await waitFor(handle, '1.2', 'in_doubt');
    await resolve(handle, { callId: '1.2', resolution: 'happened' });
    await askedAgain(handle, '1.3');
    await decide(handle, { ...ANN, callId: '1.3' });
    await handle.result();
    expect(await fixture.effects('t')).toHaveLength(1);
    expect(await fixture.effects('u')).toHaveLength(2);
  },
);

test('a reset of an earlier run of a chain: what was decided there does not hold, what is decided after it does', async () => {
  const ownServer = { dynamicConfig: ['limit.historyCount.suggestContinueAsNew=5'] };
  const fixture = await startFixture({ ownServer });
  const first = await fixture.addHere();
  for (const tag of ['a', 'b', 'c']) await fixture.open(tag);
  const handle = current(fixture, await fixture.startSteps(calls('pay:a', 'save:b'), calls('pay:c')));
  const { workflowId } = handle;
  await waitFor(handle, '1.2');
  const earlier = await runOf(handle);
  for (const callId of ['1.1', '1.2']) await decide(handle, { ...ANN, callId });
  const run = fixture.client.workflow.getHandle(workflowId, earlier);
  await waitFor(handle, '2.1');
  expect(await runOf(handle)).not.toBe(earlier);
  const history = (await run.fetchHistory()).events ?? [];
  const save = history.find(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'save',
  );
  const eventId = Number(save?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId);
  await first.stop();
  await resetRun(fixture.client, { workflowId, runId: earlier, eventId });
  await fixture.addHere(fixture.otherMachine());
  await askedAgain(handle, '1.2');
  await decide(handle, { ...ANN, callId: '1.2' });
  await waitFor(handle, '2.1');
  await decide(handle, { ...ANN, callId: '2.1' });
  expect(await handle.result()).toMatchObject({ counts: { inDoubt: 0 } });
  expect(await fixture.effects('a')).toHaveLength(1);
  expect(await fixture.effects('b')).toHaveLength(2);
  expect(await fixture.effects('c')).toHaveLength(1);
});

/** Plans again where the turn still does something, as the refusal says; gives the id of the new run. */
const resetOnceSettled = (client: Countersign, turn: string): Promise<string> =>
  until('a turn that does nothing more', async () => {
    try {
      return (await client.reset(await client.planReset(turn, '1.1'), { reason: 'corrected' })).runId;
    } catch (error) {
      if (error instanceof CountersignError && error.code === 'refused') return undefined;
      throw error;
    }
  });

test.concurrent(
  'before a call whose tool was corrected since it started: in doubt, never "nothing ran"',
  async () => {
    const fixture = await startFixture();
    const first = await fixture.addProcess();
    const handle = current(fixture, await fixture.startSteps(calls('work:t')));
    await fixture.effectsOf('t', 1);
    await first.kill();
    await fixture.addHere({ description: 'Says it better.' });
    await waitFor(handle, '1.1', 'in_doubt');
    const client = await connect({ client: fixture.client });
    await until('the end of the check', async () =>
      (await client.timeline(handle.workflowId)).some(({ type }) => type === 'verified'),
    );
    const next: TurnHandle = fixture.client.workflow.getHandle(
      handle.workflowId,
      await resetOnceSettled(client, handle.workflowId),
    );
    await waitFor(next, '1.1', 'in_doubt');
    await resolve(next, { callId: '1.1', resolution: 'happened', approver: 'ann' });
    const { answer, counts } = await next.result();
    expect(answer).toContain('ann found that it did take effect');
    expect(counts).toMatchObject({ calls: 1, inDoubt: 1, failed: 0 });
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

describe('a turn that continued as new', () => {
  test('a call of an earlier run is refused with the way out; one of the last run is reset', async () => {
    const ownServer = { dynamicConfig: ['limit.historyCount.suggestContinueAsNew=5'] };
    const look = { toolCalls: [{ name: 'look', arguments: { tag: 'long' } }] };
    const tools = [recordTool(effects, { name: 'look' })];
    const agents = [defineAgent({ name: 'long', instructions: 'do', model: book.model, tools })];
    const fixture = await startFixture({ ownServer, agents });
    const client = await connect({ client: fixture.client });
    const { workflowId: turn } = await fixture.start('long', book.add(look, look, look, { text: 'done' }));
    const { calls: all, steps } = await waitForEnd(client, turn);
    expect(all).toHaveLength(3);
    await expect(client.planReset(turn, '1.1')).rejects.toMatchObject({
      code: 'refused',
      hint: `Fork it instead: countersign fork ${turn} --at 1.1`,
    });
    expect(steps).toHaveLength(4);
  });
});

describe('a turn whose workflow task fails', () => {
  let directory: string;
  let broken: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'countersign-stuck-'));
    broken = join(directory, 'workflows.js');
    const workflowsPath = join(__dirname, '..', 'fixtures', 'broken-workflows.ts');
    const { code } = await bundleWorkflowCode({
      workflowsPath,
      logger: new DefaultLogger('ERROR', () => {}),
    });
    await writeFile(broken, code);
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  /** A turn that has paid once, and whose workflow task fails since then. */
  const stuck = async (fixture: Fixture) => {
    const pay = (tag: string) => ({ toolCalls: [{ name: 'pay', arguments: { tag } }] });
    const good = await fixture.addWorker();
    const prompt = book.add(pay('stuck'), pay('later'), { text: 'done' });
    const handle = current(fixture, await fixture.start('payer', prompt, { workflowTaskTimeout: '2s' }));
    await waitFor(handle, '1.1');
    await decide(handle, { callId: '1.1', decision: 'approved' });
    await waitFor(handle, '2.1');
    await good.stop();
    const bad = await fixture.addWorker({ workflowBundle: broken });
    await signalDecision(handle, { callId: 'any' });
    await until('a third attempt', async () => {
      const { pendingWorkflowTask: task } = (await handle.describe()).raw;
      return (task?.attempt ?? 0) >= 3;
    });
    return { handle, bad };
  };

  test('show says why a workflow task fails, and doctor names the turn', async () => {
    const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous', effect: 'idempotent' })];
    const agents = [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools })];
    const fixture = await startFixture({ agents, workers: 0 });
    const { handle } = await stuck(fixture);
    const turn = handle.workflowId;
    const address = ['--address', testAddress()];
    const line = /right now:\n {2}its workflow task fails \(attempt \d+\): \S.*\n/;
    expect((await runCli(['show', turn, ...address])).out).toMatch(line);
    const shown: unknown = JSON.parse((await runCli(['show', turn, '--json', ...address])).out);
    expect(shown).toMatchObject({
      pending: { failingTask: { attempt: expect.any(Number), reason: expect.any(String) } },
    });
    const client = await connect({ client: fixture.client });
    // It reports the fifth attempt; of those after the first one, each times out.
    const finding = await until(
      'the server to report it',
      async () => {
        const found = await checkTasks(client);
        return found.state === 'warning' && found.detail.includes(turn) && found;
      },
      60,
    );
    expect(finding).toMatchObject({
      detail: expect.stringContaining('fail again and again in '),
      todo: expect.stringContaining('countersign show'),
    });
    await handle.terminate();
    await fixture.stop();
  });

  test.each([
    ['with a worker that fails it', true],
    ['with no worker', false],
  ])('a turn whose workflow task keeps failing is reset, %s', async (_, stays) => {
    const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous', effect: 'idempotent' })];
    const agents = [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools })];
    const fixture = await startFixture({ agents, workers: 0 });
    const { handle, bad } = await stuck(fixture);
    if (!stays) await bad.stop();
    const client = await connect({ client: fixture.client });
    const turn = handle.workflowId;
    const plan = await client.planReset(turn, '1.1');
    expect(plan.calls).toMatchObject([{ callId: '1.1', outcome: 'asked_again', ran: true }]);
    // The record that a plan was made from ends with a workflow task that is only tried; what ends it is not kept.
    expect(plan.lastEventId).toBeLessThan(Number((await eventsOf(handle)).at(-1)?.eventId));
    const { runId } = await client.reset(plan, { approver: 'bob' });
    if (stays) await bad.stop();
    await fixture.addWorker();
    await denyNext(client, turn, { reason: 'not twice' });
    await denyNext(client, turn, { reason: 'no more' });
    expect(await waitForEnd(client, turn)).toMatchObject({ status: 'answered', runId });
  });
});

describe('sequences of resets, decisions and restarts', () => {
  const index = fc.nat({ max: 1000 });
  const by = fc.constantFrom('update', 'signal');

  /** What approvers say. Numbers choose among what is there then. */
  const message = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ op: fc.constant('decide'), by, named: fc.boolean(), which: index } as const),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('resend'), by, which: index } as const) },
  );
  const resolution = fc.record({
    op: fc.constant('resolve'),
    how: fc.constantFrom('happened', 'happened', 'run-again'),
  } as const);

  /** Any run, rather the first one; any task of it, rather a late one; then a worker of a machine. */
  const reset = fc.record({
    op: fc.constant('reset'),
    run: fc.oneof(fc.constant(0), index),
    back: fc.oneof(fc.nat({ max: 3 }), index),
    isBare: fc.constantFrom(false, false, true),
    machine: fc.constantFrom(0, 1, 2, undefined),
  } as const);

  const round = fc
    .tuple(fc.array(message, { maxLength: 3 }), reset, fc.array(resolution, { minLength: 1, maxLength: 4 }))
    .map(([messages, one, resolutions]) => [...messages, one, ...resolutions]);

  type Operation = (typeof round extends fc.Arbitrary<infer T> ? T : never)[number];
  type Op<K extends Operation['op']> = Extract<Operation, { op: K }>;

  /** A message of a person as it reached a run. */
  interface Sent {
    runId: string;
    callKey: string;
    /** Made up where the message carried none: each of those is another decision. */
    id: string;
  }

  /** One turn, and what was done to it, as somebody outside keeps it. */
  class World {
    readonly runs: string[] = [];
    /** The run that each was reset from. */
    private readonly bases = new Map<string, string>();
    readonly sent: Sent[] = [];
    private readonly decisions: Decision[] = [];

    private constructor(
      private readonly fixture: Fixture,
      readonly handle: TurnHandle,
      private worker: ProcessWorker,
    ) {}

    static async make(fixture: Fixture): Promise<World> {
      const worker = await fixture.addProcess();
      for (const tag of ['a', 'b', 'd']) await fixture.open(tag);
      // The first call holds the lane in its run; what is decided there waits, and runs are made of that.
      const { workflowId } = await fixture.startSteps(
        calls('work:c', 'pay:a', 'pay:b', 'note:a'),
        calls('pay:d'),
      );
      const world = new World(fixture, fixture.client.workflow.getHandle(workflowId), worker);
      await waitFor(world.handle, '1.3');
      await fixture.effectsOf('c', 1);
      world.runs.push((await world.handle.describe()).runId);
      return world;
    }

    apply(operation: Operation): Promise<void> {
      switch (operation.op) {
        case 'decide':
          return this.decide(operation);
        case 'resend':
          return this.resend(operation);
        case 'resolve':
          return this.resolve(operation);
        case 'reset':
          return this.reset(operation);
      }
    }

    private get runId(): string {
      return this.runs.at(-1) ?? '';
    }

    private async decide({ by, named, which }: Op<'decide'>): Promise<void> {
      const open = await openOf(this.handle);
      const requests = (open?.items ?? []).filter(({ kind }) => kind === 'request');
      const item = requests[which % requests.length];
      if (open === undefined || item === undefined) return;
      const id = named ? { decisionId: randomUUID() } : {};
      const callKey = `${open.key}:${item.callId}`;
      const decision: Decision = {
        callId: item.callId,
        callKey,
        decision: 'approved',
        approver: 'ann',
        ...id,
      };
      this.decisions.push(decision);
      await this.send(decision, by);
    }

    private async resend({ by, which }: Op<'resend'>): Promise<void> {
      const decision = this.decisions[which % this.decisions.length];
      if (decision !== undefined) await this.send(decision, by);
    }

    private async send(decision: Decision, by: 'update' | 'signal'): Promise<void> {
      this.note(decision.callKey ?? '', decision.decisionId);
      if (by === 'signal') await signalDecision(this.handle, decision).catch(() => undefined);
      else await soon(decide(this.handle, decision, decision.decisionId));
    }

    private async resolve({ how }: Op<'resolve'>): Promise<void> {
      const open = await openOf(this.handle);
      const item = open?.items.find(({ kind }) => kind === 'in_doubt');
      if (open === undefined || item === undefined) return;
      const callKey = `${open.key}:${item.callId}`;
      if (how === 'run-again') this.note(callKey, undefined);
      await soon(resolve(this.handle, { callId: item.callId, callKey, resolution: how }));
    }

    private note(callKey: string, id: string = randomUUID()): void {
      this.sent.push({ runId: this.runId, callKey, id });
    }

    private async reset({ run, back, isBare, machine }: Op<'reset'>): Promise<void> {
      const { client } = this.fixture;
      const { workflowId } = this.handle;
      const runId = this.runs[run % this.runs.length] ?? '';
      const events = await eventsOf(client.workflow.getHandle(workflowId, runId));
      // Before the first reply there is no call yet.
      const tasks = events.filter((event) => event.workflowTaskCompletedEventAttributes).slice(1);
      const eventId = Number(tasks.at(-1 - (back % tasks.length))?.eventId);
      if (machine !== undefined) await this.worker.kill();
      const made = await resetRun(client, { workflowId, runId, eventId, isBare });
      this.bases.set(made, runId);
      this.runs.push(made);
      if (machine === undefined) return;
      this.worker = await this.fixture.addProcess({
        stateDir: join(this.fixture.directory, `machine-${machine}`),
      });
    }

    /** How often people allowed a call: one that was sent again to a run, or to one that comes of it, counts once. */
    allowed(callKey: string): number {
      const ofCall = this.sent.filter((one) => one.callKey === callKey);
      const isRepeat = (one: Sent, before: readonly Sent[]): boolean =>
        before.some(({ id, runId }) => id === one.id && this.lineage(one.runId).includes(runId));
      return ofCall.filter((one, at) => !isRepeat(one, ofCall.slice(0, at))).length;
    }

    private lineage(runId: string): string[] {
      const base = this.bases.get(runId);
      return base === undefined ? [runId] : [runId, ...this.lineage(base)];
    }

    /** Every start there was, as the tools wrote it down: tool and key of the call, without its generation. */
    async starts(): Promise<{ tool: string; callKey: string }[]> {
      const effects = (
        await Promise.all(['a', 'b', 'c', 'd'].map((tag) => this.fixture.effects(tag)))
      ).flat();
      return effects.map(({ tool, key }) => ({ tool, callKey: key.slice(0, key.lastIndexOf(':')) }));
    }

    async end(): Promise<void> {
      await pause(1500);
      await this.worker.kill();
    }
  }

  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  /** A message that nobody answers, because its run is over or its worker gone, is on its way all the same. */
  const soon = (answer: Promise<unknown>): Promise<unknown> =>
    Promise.race([answer.catch(() => undefined), pause(5000)]);

  const RUNS = runs(5);
  const sequences = fc.sample(fc.array(round, { minLength: 2, maxLength: 4 }), RUNS);
  let starts = 0;
  let resets = 0;

  // Most of the time each waits for the turn to answer what was done to it, so several run side by side.
  test.concurrent.each(sequences.map((rounds, number) => ({ number, rounds })))(
    'sequence $number: no unsafe call starts more often than people allowed it',
    async ({ rounds }) => {
      const fixture = await startFixture();
      const world = await World.make(fixture);
      for (const one of rounds.flat()) {
        await world.apply(one);
        await pause(one.op === 'decide' || one.op === 'resend' ? 100 : 500);
      }
      await world.end();
      const all = await world.starts();
      starts += all.length;
      resets += world.runs.length - 1;
      for (const { tool, callKey } of all) {
        const times = all.filter((one) => one.callKey === callKey).length;
        const free = tool === 'pay' ? 0 : 1;
        expect({ rounds, callKey, times, ok: times <= free + world.allowed(callKey) }).toMatchObject({
          ok: true,
        });
      }
      await fixture.stop();
    },
  );

  test('the sequences start calls and reset turns', () => {
    // Each starts the call that needs nobody; on a slow machine hardly more.
    expect(starts).toBeGreaterThanOrEqual(RUNS);
    expect(resets).toBeGreaterThan(RUNS);
  });
});
