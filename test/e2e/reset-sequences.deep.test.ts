import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Decision } from '../../src/contract/decision';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { resetRun } from '../support/operator';
import type { ProcessWorker } from '../support/process-worker';
import { decide, eventsOf, openOf, resolve, signalDecision, waitFor } from '../support/turns';
import { runs } from '../support/properties';

jest.setTimeout(400_000);

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
    const decision: Decision = { callId: item.callId, callKey, decision: 'approved', approver: 'ann', ...id };
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
    const effects = (await Promise.all(['a', 'b', 'c', 'd'].map((tag) => this.fixture.effects(tag)))).flat();
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
  'sequence $number of resets, decisions and restarts: no unsafe call starts more often than people allowed it',
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
