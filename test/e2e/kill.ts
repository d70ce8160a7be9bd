import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { DURABILITIES, type Durability } from '../support/process-worker';
import { attemptsOf, decide, openOf, resolve, scheduledInputs, waitFor } from '../support/turns';
import { until } from '../support/until';
import type { WorkerHere } from '../support/worker-here';

/** Up to the time a worker needs to start, so that a kill comes before, while and after it replays the turn. */
const randomMoment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.random() * 2500));

const expectInInbox = async ({ client }: Fixture, { workflowId }: TurnHandle): Promise<void> => {
  const query = `WorkflowId = '${workflowId}' AND CountersignState = 'in_doubt' AND CountersignPending = 1`;
  await until('the inbox to show it', async () => {
    for await (const listed of client.workflow.list({ query })) return listed.workflowId === workflowId;
    return false;
  });
};

/** Tests of workers that are killed from outside. Without `all`, of those that are killed in a call that may run again. */
export const testKills = (durability: Durability, which: 'all' | 'both' | 'one'): void => {
  const mode = DURABILITIES[durability];

  /** Starts a turn of one call, kills its worker after the effect, and starts another. */
  const killedInside = async (fixture: Fixture, call: string): Promise<[TurnHandle, WorkerHere]> => {
    const worker = await fixture.addProcess(mode);
    const handle = await fixture.startSteps(calls(call));
    await fixture.effectsOf('t', 1);
    await worker.kill();
    return [handle, await fixture.addHere(mode)];
  };

  /** A burst that is lost takes the reply with it that asked for a pure call. Then another reply asks for it. */
  const isReplyLost = (tool: string): boolean => tool === 'look' && mode.durability !== undefined;

  test.concurrent.each(which === 'one' ? ['put'] : ['look', 'put'])(
    'killed inside %s: it runs again with the key of its reply, one result',
    async (tool) => {
      const fixture = await startFixture();
      const [handle, second] = await killedInside(fixture, `${tool}:t`);
      const [before, after] = await fixture.effectsOf('t', 2);
      await fixture.open('t');
      expect(await handle.result()).toMatchObject({ counts: { calls: 1, failed: 0, inDoubt: 0 } });
      expect((await handle.result()).answer).toBe(`${tool} did t in ${second.pid}`);
      expect(after?.key === before?.key).toBe(!isReplyLost(tool));
      expect(await fixture.effects('t')).toHaveLength(2);
    },
  );

  if (which !== 'all') return;

  test.concurrent('killed again and again while it waits: the same request, approved once', async () => {
    const fixture = await startFixture();
    const first = await fixture.addProcess({ ...mode, maxCachedWorkflows: 10 });
    const handle = await fixture.startSteps(calls('pay:waits'));
    await waitFor(handle, '1.1');
    const before = await openOf(handle);
    await first.kill();
    for (let round = 0; round < 5; round++) {
      const worker = fixture.spawn(mode);
      await randomMoment();
      await worker.kill();
      expect(await openOf(handle)).toEqual(before);
    }
    await fixture.addHere(mode);
    const seen = { callKey: `${before?.key}:1.1`, seenDigest: before?.items[0]?.seenDigest ?? '' };
    const verdict = await decide(handle, { callId: '1.1', decision: 'approved', ...seen });
    expect(verdict).toMatchObject({ accepted: true });
    await fixture.open('waits');
    expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 1, requests: 1 } });
    expect(await fixture.effects('waits')).toHaveLength(1);
    const { callKey, seenDigest } = seen;
    expect(await scheduledInputs(handle, 'pay')).toMatchObject([{ callKey, decision: { seenDigest } }]);
  });

  /** Three turns inside an approved unsafe call; the worker that ran them is killed and others come and go. */
  const threeInDoubt = async (fixture: Fixture): Promise<TurnHandle[]> => {
    const worker = await fixture.addProcess(mode);
    const handles = await Promise.all(['a', 'b', 'c'].map((tag) => fixture.startSteps(calls(`pay:${tag}`))));
    for (const handle of handles) {
      await waitFor(handle, '1.1');
      await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
    }
    await Promise.all(['a', 'b', 'c'].map((tag) => fixture.effectsOf(tag, 1)));
    await worker.kill();
    await fixture.addProcess(mode).then((second) => second.kill());
    await fixture.addHere(mode);
    await Promise.all(handles.map((handle) => waitFor(handle, '1.1', 'in_doubt')));
    return handles;
  };

  test.concurrent(
    'killed inside an unsafe call: in doubt, nothing runs it again, a person resolves',
    async () => {
      const fixture = await startFixture();
      const [a, b, c] = await threeInDoubt(fixture);
      if (a === undefined || b === undefined || c === undefined) throw new Error('there are three turns');
      for (const handle of [a, b, c]) await expectInInbox(fixture, handle);
      // Nothing of ours is scheduled that could start it again, however long anybody waits.
      for (const handle of [a, b, c])
        expect(await attemptsOf(handle, 'pay')).toEqual({ scheduled: 1, pending: 0 });
      const happened = { callId: '1.1', resolution: 'happened', reason: 'bank', content: 'paid 5' } as const;
      expect(await resolve(a, happened)).toMatchObject({ accepted: true });
      expect(await resolve(b, { callId: '1.1', resolution: 'did-not', reason: 'no entry' })).toMatchObject({
        accepted: true,
      });
      expect((await a.result()).answer).toContain('paid 5');
      expect((await b.result()).answer).toContain('did not take effect. Reason: no entry');
      const again = { callId: '1.1', resolution: 'run-again', reason: 'sure', approver: 'bob' } as const;
      expect(await resolve(c, again)).toMatchObject({ accepted: true });
      const [first, second] = await fixture.effectsOf('c', 2);
      expect([first?.key, second?.key]).toEqual([expect.stringMatching(/:0$/), expect.stringMatching(/:1$/)]);
      await fixture.open('c');
      expect((await c.result()).answer).toContain('pay did c');
      const counted = await Promise.all(
        ['a', 'b', 'c'].map(async (tag) => (await fixture.effects(tag)).length),
      );
      expect(counted).toEqual([1, 1, 2]);
    },
  );
};
