import { useFaultProxies } from '../support/fault-proxy';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { DURABILITIES, type Durability, type ProcessWorker, type Trap } from '../support/process-worker';
import { attemptsOf, decide, resolve, waitFor } from '../support/turns';

const newProxy = useFaultProxies();

/** Tests of workers that kill themselves at each point of a call. */
export const testCrashPoints = (durability: Durability): void => {
  const mode = DURABILITIES[durability];

  /** Runs one call of `tool` in a worker that kills itself, and lets another take over on the same machine. */
  const crashAt = async (tool: string, at: Trap['at']): Promise<[Fixture, TurnHandle]> => {
    const fixture = await startFixture();
    const first = await fixture.addProcess({ ...mode, trap: { at, tag: 't', signal: 'SIGKILL' } });
    await fixture.open('t');
    const handle = await fixture.startSteps(calls(`${tool}:t`));
    if (tool === 'pay') await approve(handle);
    expect(await first.gone).toBe('SIGKILL');
    await fixture.addProcess(mode);
    return [fixture, handle];
  };

  const approve = async (handle: TurnHandle): Promise<void> => {
    await waitFor(handle, '1.1');
    await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
  };

  test.concurrent.each([
    ['before the intent', 'policy', 0],
    ['after the intent, before the handler', 'before', 0],
    ['inside the effect', 'handler', 1],
    ['after the effect, before its outcome is on disk', 'after', 1],
  ] as const)('%s: in doubt, never run again', async (_, at, effects) => {
    const [fixture, handle] = await crashAt('pay', at);
    await waitFor(handle, '1.1', 'in_doubt');
    expect(await attemptsOf(handle, 'pay')).toEqual({ scheduled: 1, pending: 0 });
    await resolve(handle, { callId: '1.1', resolution: 'happened', reason: 'seen', content: 'paid' });
    expect(await handle.result()).toMatchObject({ status: 'answered', counts: { inDoubt: 1 } });
    expect(await fixture.effects('t')).toHaveLength(effects);
  });

  test.concurrent.each([
    ['after the intent, before the handler', 'before', 0, 'the tool found that it did not take effect'],
    ['inside the effect', 'handler', 1, 'found it'],
  ] as const)(
    '%s, by a tool with verify: settled by proof, without a person',
    async (_, at, effects, told) => {
      const [fixture, handle] = await crashAt('wire', at);
      const { answer, counts } = await handle.result();
      expect(answer).toContain(told);
      expect(counts).toMatchObject({ inDoubt: 1 });
      expect(await fixture.effects('t')).toHaveLength(effects);
    },
  );

  /**
   * Runs an approved call through a proxy that strikes at its completion. `heartbeat`: long where the outcome does arrive,
   * so that a busy machine cannot miss a beat of it.
   */
  const completeThrough = async (
    { when, heartbeat }: { when: 'before' | 'after'; heartbeat?: string },
    strike: (worker: ProcessWorker) => void,
  ): Promise<[Fixture, TurnHandle]> => {
    const [fixture, proxy] = [await startFixture(), await newProxy()];
    const worker = await fixture.addProcess({
      ...mode,
      address: proxy.address,
      ...(heartbeat && { heartbeat }),
    });
    await fixture.open('t');
    const handle = await fixture.startSteps(calls('pay:t'));
    const fault = { method: 'RespondActivityTaskCompleted', holding: 'pay did t', when };
    const struck = proxy.arm({ ...fault, strike: () => strike(worker) });
    await approve(handle);
    await struck;
    return [fixture, handle];
  };

  test.concurrent.each([
    ['the outcome is on disk, the server never hears it', { when: 'before' }, 1],
    ['the server took the outcome, the worker never hears it', { when: 'after', heartbeat: '30s' }, 0],
  ] as const)('%s: known after a restart, one effect', async (_, how, inDoubt) => {
    const [fixture, handle] = await completeThrough(how, (worker) => worker.signal('SIGKILL'));
    await fixture.addProcess(mode);
    const { answer, counts } = await handle.result();
    expect(answer).toContain('pay did t');
    expect(counts).toMatchObject({ calls: 1, failed: 0, inDoubt });
    expect(await fixture.effects('t')).toHaveLength(1);
    expect(await attemptsOf(handle, 'pay')).toEqual({ scheduled: 1, pending: 0 });
  });

  test.concurrent(
    'the outcome is on the disk of a machine that does not come back: another worker cannot know it and asks',
    async () => {
      const [fixture, handle] = await completeThrough({ when: 'before' }, (worker) =>
        worker.signal('SIGKILL'),
      );
      await fixture.addProcess({ ...mode, ...fixture.otherMachine() });
      await waitFor(handle, '1.1', 'in_doubt');
      await resolve(handle, { callId: '1.1', resolution: 'did-not', reason: 'looked' });
      await handle.result();
      expect(await fixture.effects('t')).toHaveLength(1);
    },
  );

  test.concurrent.each(['before', 'after'] as const)(
    'the answer to the outcome is lost %s the server took it: no second execution',
    async (when) => {
      const [fixture, handle] = await completeThrough({ when, heartbeat: '30s' }, () => undefined);
      expect(await handle.result()).toMatchObject({ status: 'answered', counts: { failed: 0, inDoubt: 0 } });
      expect(await fixture.effects('t')).toHaveLength(1);
    },
  );
};
