import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { statementOf, statementText } from '../../src/authority/signatures/statement';
import { factsToSign, signatureOf, timesToSign } from '../../src/authority/signatures/facts-to-sign';
import { connect, type Countersign } from '../../src/client';
import type { Decision } from '../../src/contract/decision';
import { defined } from '../../src/contract/defined';
import type { Effect } from '../../src/contract/tool';
import type { CallView } from '../../src/history/view';
import type { RunningServer } from '../../src/engine/server-launch';
import { waitForEnd } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import { drawKey } from '../encryption/ring';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture, type TurnHandle } from '../support/fixture';
import { resetRun } from '../support/operator';
import { current, lastTask, laterTask, runOf } from '../support/resets';
import { scriptBook } from '../support/script-book';
import { startOwnServer, testAddress } from '../support/server';
import { newSigner } from '../support/ssh';
import { decide, eventsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const ann = newSigner('ssh-ed25519');
const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';
const approversOf = (tool: string): string => `
installation: '${INSTALLATION}'
people: { ann: { keys: ['${ann.line}'] } }
rules:
  - { name: own key, tools: [${tool}], then: ask, approvers: { any: [ann] }, assurance: signed_ssh }
  - { name: default, then: by_safety }
`;

/** `reset n`: of the n-th run that waited. `same`: the last message. `copy`: the last message under another id. */
type Step = 'approve' | 'same' | 'copy' | 'move' | 'elsewhere' | `reset ${0 | 1}`;

const HISTORIES: [string, Step[]][] = [
  [
    'two resets of one run',
    ['approve', 'elsewhere', 'reset 0', 'same', 'copy', 'elsewhere', 'reset 0', 'copy'],
  ],
  ['a reset, then a move', ['approve', 'elsewhere', 'reset 0', 'move', 'copy', 'approve']],
  ['a move, then a reset of the run before it', ['move', 'approve', 'elsewhere', 'reset 0', 'same', 'copy']],
  ['a reset behind a continuation', ['move', 'approve', 'elsewhere', 'reset 1', 'copy', 'approve']],
  ['a reset of a run that a reset made', ['reset 0', 'approve', 'elsewhere', 'reset 1', 'same', 'copy']],
];

const KINDS = (['claimed', 'signed'] as const).flatMap((by) =>
  (['unsafe', 'idempotent'] as const).map((effect) => [by, effect] as const),
);

interface Parts {
  fixture: Fixture;
  client: Countersign;
  handle: TurnHandle;
  /** Of each worker. */
  config: NonNullable<Parameters<Fixture['addWorker']>[1]>;
}

/** What ann sends to approve the call of a turn, signed if its rule wants that. */
async function approvalOf(client: Countersign, turn: string) {
  const view = await client.view(turn);
  const [call] = view.calls;
  const { seenDigest, callKey } = call?.request ?? {};
  const decisionId = randomUUID();
  const said = { callId: '1.1', decision: 'approved', approver: 'ann', decisionId } as const;
  const facts = call && factsToSign(view, call, { installation: INSTALLATION, ...client.placeOf(view) });
  const times = timesToSign(call ?? {}, Date.now());
  const statement = facts && statementOf(facts, { ...said, ...times });
  const text = statement && statementText(statement);
  const signature = text && signatureOf('ssh', ann.sign(text), { text, ...times });
  return { ...said, ...defined({ seenDigest, callKey, signature: signature || undefined }) };
}

/** One turn with one call, and what was said about it, as somebody outside keeps it. */
class World {
  readonly points: { runId: string; eventId: number }[] = [];
  readonly pairs = new Set<string>();
  readonly signatures = new Set<string>();
  last: Decision | undefined;

  constructor(private readonly of: Parts) {}

  async call(): Promise<CallView> {
    const [call] = (await this.of.client.view(this.of.handle.workflowId)).calls;
    if (call === undefined) throw new Error('no call');
    return call;
  }

  /** Waits until nothing happens without a person. */
  settled(): Promise<CallView> {
    return until('the call to wait or to end', async () => {
      const {
        endedAt,
        calls: [call],
      } = await this.of.client.view(this.of.handle.workflowId);
      const isWaiting = call?.phase === 'request' || call?.phase === 'in_doubt';
      return call !== undefined && (endedAt !== null || isWaiting) && call;
    });
  }

  /** Keeps the place to which the run can be reset, if the call waits in it. */
  async waits(): Promise<void> {
    // A run that continues another one lists the call before its own first task.
    await until('a task of the run', async () => (await lastTask(this.of.handle)) > 0);
    await waitFor(this.of.handle, '1.1');
    await this.settled();
    const eventId = await laterTask(this.of.handle);
    this.points.push({ runId: await runOf(this.of.handle), eventId });
  }

  async send(decision: Decision): Promise<void> {
    const runId = await runOf(this.of.handle);
    const verdict = await decide(this.of.handle, decision);
    this.last = decision;
    if (verdict.accepted) this.pairs.add(`${runId}/${verdict.decisionId}`);
    if (decision.signature !== undefined) this.signatures.add(decision.signature.armored);
  }

  async approve(): Promise<void> {
    await this.send(await approvalOf(this.of.client, this.of.handle.workflowId));
  }

  async take(step: Step): Promise<void> {
    const { fixture, handle, config } = this.of;
    if (step === 'elsewhere') {
      await Promise.all(fixture.workers.map((worker) => worker.stop().catch(() => undefined)));
      await fixture.addWorker(fixture.otherMachine(), config);
      return;
    }
    const { phase } = await this.settled();
    if (step === 'reset 0' || step === 'reset 1') {
      const point = this.points[Number(step.slice(-1))];
      if (point === undefined) throw new Error('no run to reset');
      await resetRun(fixture.client, { workflowId: handle.workflowId, ...point, isBare: true });
      return this.waits();
    }
    if (phase !== 'request') return;
    if (step === 'approve') return this.approve();
    if (step !== 'move') {
      const decisionId = step === 'copy' ? randomUUID() : this.last?.decisionId;
      return this.last && this.send({ ...this.last, ...defined({ decisionId }) });
    }
    const runId = await runOf(handle);
    const moved = await handle.executeUpdate('move').then(
      () => true,
      (error: Error) => !String(error.cause).includes('a reset made this run'),
    );
    expect(moved).toBe(!this.points.some((_, at) => at > 0));
    if (!moved) return;
    await until('the next run', async () => (await runOf(handle)) !== runId);
    await this.waits();
  }
}

describe.each(KINDS)('a call that is %s and %s', (by, effect) => {
  test.concurrent.each(HISTORIES)('starts only by decisions of its run: %s', async (name, steps) => {
    const fixture = await startFixture({ workers: 0 });
    const approvers = join(fixture.directory, 'approvers.yaml');
    const tool = `${by}_${effect}`;
    await writeFile(approvers, approversOf(tool));
    const tools = [recordTool(effects, { name: tool, safety: 'dangerous', effect: effect satisfies Effect })];
    const agents = [defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools })];
    const config = { agents, ...(by === 'signed' ? { approvers } : {}) };
    await fixture.addWorker({}, config);
    const client = await connect({ address: testAddress() });
    const tag = `${tool}/${name.replaceAll(' ', '-')}`;
    const prompt = book.add({ toolCalls: [{ name: tool, arguments: { tag } }] }, { text: 'done' });
    const handle = current(fixture, await fixture.start('clerk', prompt));
    const world = new World({ fixture, client, handle, config });
    await world.waits();
    for (const step of steps) await world.take(step);
    await world.settled();
    const starts = (await effects.lines(tag)).length;
    expect(starts).toBeGreaterThan(0);
    expect(starts).toBeLessThanOrEqual(world.pairs.size);
    if (by === 'signed') expect(starts).toBeLessThanOrEqual(world.signatures.size);
    if (effect === 'unsafe' && name.startsWith('a reset, then')) {
      expect(starts).toBe(1);
      expect((await world.call()).phase).toBe('in_doubt');
    }
    await client.close();
    await fixture.stop();
  });
});

/** Without keys nobody can read an inbox in which an encrypted turn waits. It ends after the workers of this file. */
let server: RunningServer;
beforeAll(async () => {
  server = await startOwnServer();
});
afterAll(() => server.stop());

describe('a call that was given back', () => {
  const agentWith = (...names: string[]) => {
    const stays = (_: unknown, { signal }: { signal: AbortSignal }): Promise<string> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'), { once: true }));
    const tools = names.map((name) =>
      recordTool(
        effects,
        { name, safety: 'dangerous', effect: 'unsafe' },
        name === 'hold' ? stays : undefined,
      ),
    );
    return [defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools })];
  };

  const KEYS: string[] = [drawKey('k1')];
  const ROWS = (['claimed', 'signed'] as const).flatMap((by) =>
    ([[], KEYS] as const).map((keys) => [by, keys.length === 0 ? 'without' : 'with', keys] as const),
  );

  /** A turn whose approved call a worker gave back that lacks the tool. That worker is still there. */
  async function givenBack(tool: 'give' | 'hold', by: 'claimed' | 'signed', keys: readonly string[]) {
    const encryption = keys.length === 0 ? undefined : { keys: [...keys], required: false };
    const worker = { maxConcurrentActivityTaskExecutions: 1 };
    const fixture = await startFixture({
      workers: 0,
      worker: defined({ encryption }),
      address: server.address,
    });
    const approvers = join(fixture.directory, 'approvers.yaml');
    await writeFile(approvers, approversOf(tool));
    const client = await connect({ address: server.address, ...defined({ encryption }) });
    const config = { agents: agentWith(tool), ...(by === 'signed' ? { approvers } : {}) };
    const add = () => fixture.addWorker({ ...fixture.otherMachine(), worker }, config);
    const first = await add();
    const tag = `${tool} ${by} ${keys.length}`;
    const prompt = book.add({ toolCalls: [{ name: tool, arguments: { tag } }] }, { text: 'done' });
    const handle = await fixture.start('clerk', prompt);
    const { workflowId } = handle;
    const callOf = async () => (await client.view(workflowId)).calls[0];
    await until('the request', async () => (await callOf())?.phase === 'request');
    await first.stop();
    const lacking = await fixture.addWorker(fixture.otherMachine(), { agents: agentWith('other') });
    await client.decide(workflowId, await approvalOf(client, workflowId));
    await until('it to be given back', async () =>
      (await client.timeline(workflowId)).some(({ type }) => type === 'call_waits'),
    );
    return { fixture, client, add, handle, lacking, tag };
  }

  test.each(ROWS)('honestly, starts once: %s, by workers %s keys', async (by, _, keys) => {
    const { client, add, handle, lacking, tag } = await givenBack('give', by, keys);
    await add();
    await lacking.stop();
    expect(await waitForEnd(client, handle.workflowId)).toMatchObject({ status: 'answered' });
    expect(await effects.lines(tag)).toEqual([`give ${tag}`]);
    await client.close();
  });

  test.each(ROWS)(
    'and runs, then given back by somebody else: %s, by workers %s keys',
    async (by, _, keys) => {
      const { fixture, client, add, handle, lacking, tag } = await givenBack('hold', by, keys);
      await add();
      await lacking.stop();
      await until('the call', async () => (await effects.lines(tag)).length > 0);
      await add();
      const execution = { workflowId: handle.workflowId };
      const { namespace } = fixture.client.options;
      const { pendingActivities } = await fixture.client.workflowService.describeWorkflowExecution({
        ...{ namespace, execution },
      });
      const [pending] = pendingActivities ?? [];
      // Whoever reads the history can send the first answer once more, word for word, and claim the name of a worker.
      const completed = (await eventsOf(handle)).flatMap(
        ({ activityTaskCompletedEventAttributes: of }) => of ?? [],
      );
      await fixture.client.workflowService.respondActivityTaskCompletedById({
        ...{ namespace, ...execution },
        ...{ activityId: pending?.activityId ?? '', identity: pending?.lastWorkerIdentity ?? '' },
        result: completed.at(-1)?.result ?? null,
      });
      const startsOf = async () => (await effects.lines(tag)).length;
      // Without keys, nothing proves that it did not start.
      const most = keys.length === 0 ? 2 : 1;
      await until('what comes of it', async () => {
        const isLost = (await client.timeline(handle.workflowId)).some(({ type }) => type === 'call_lost');
        return (await startsOf()) === 2 || (most === 1 && isLost);
      });
      expect(await startsOf()).toBe(most);
      await client.close();
    },
  );
});
