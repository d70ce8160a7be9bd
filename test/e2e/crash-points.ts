import { useFaultProxies } from '../support/fault-proxy';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { DURABILITIES, type Durability, type Trap } from '../support/process-worker';
import { attemptsOf, decide, resolve, waitFor } from '../support/turns';

const newProxy = useFaultProxies();

/**
 * Tests of workers that kill themselves at each point of a call; the next one works in the process of the test. `few`
 * takes the last row of each table.
 */
export const testCrashPoints = (durability: Durability, which: 'all' | 'few'): void => {
  const mode = DURABILITIES[durability];
  const rows = <T>(all: readonly T[]): readonly T[] => (which === 'all' ? all : all.slice(-1));

  /** Runs one call of `tool` in a worker that kills itself, and lets another take over on the same machine. */
  const crashAt = async (tool: string, at: Trap['at']): Promise<[Fixture, TurnHandle]> => {
    const fixture = await startFixture();
    const trap: Trap = { at, tag: 't', signal: 'SIGKILL' };
    const first = await fixture.addProcess({ ...mode, trap, threads: which === 'few' });
    await fixture.open('t');
    const handle = await fixture.startSteps(calls(`${tool}:t`));
    if (tool === 'pay') await approve(handle);
    expect(await first.gone).toBe('SIGKILL');
    await fixture.addHere(mode);
    return [fixture, handle];
  };

  const approve = async (handle: TurnHandle): Promise<void> => {
    await waitFor(handle, '1.1');
    await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
  };

  test.concurrent.each(
    rows([
      ['before the intent', 'policy', 0],
      ['after the intent, before the handler', 'before', 0],
      ['inside the effect', 'handler', 1],
      ['after the effect, before its outcome is on disk', 'after', 1],
    ] as const),
  )('%s: in doubt, never run again', async (_, at, effects) => {
    const [fixture, handle] = await crashAt('pay', at);
    await waitFor(handle, '1.1', 'in_doubt');
    expect(await attemptsOf(handle, 'pay')).toEqual({ scheduled: 1, pending: 0 });
    await resolve(handle, { callId: '1.1', resolution: 'happened', reason: 'seen', content: 'paid' });
    expect(await handle.result()).toMatchObject({ status: 'answered', counts: { inDoubt: 1 } });
    expect(await fixture.effects('t')).toHaveLength(effects);
  });

  test.concurrent.each(
    rows([
      ['after the intent, before the handler', 'before', 0, 'the tool found that it did not take effect'],
      ['inside the effect', 'handler', 1, 'found it'],
    ] as const),
  )('%s, by a tool with verify: settled by proof, without a person', async (_, at, effects, told) => {
    const [fixture, handle] = await crashAt('wire', at);
    const { answer, counts } = await handle.result();
    expect(answer).toContain(told);
    expect(counts).toMatchObject({ inDoubt: 1 });
    expect(await fixture.effects('t')).toHaveLength(effects);
  });

  /**
   * Runs an approved call through a proxy that strikes at its completion. `end` is what becomes of the worker then.
   * `heartbeat`: long where the outcome does arrive, so that a busy machine cannot miss a beat of it.
   */
  const completeThrough = async (
    { when, heartbeat }: { when: 'before' | 'after'; heartbeat?: string },
    end: 'killed' | 'goes on',
  ): Promise<[Fixture, TurnHandle]> => {
    const [fixture, proxy] = [await startFixture(), await newProxy()];
    const settings = { ...mode, address: proxy.address, ...(heartbeat && { heartbeat }) };
    const worker = end === 'killed' ? await fixture.addProcess(settings) : undefined;
    if (worker === undefined) await fixture.addHere(settings);
    await fixture.open('t');
    const handle = await fixture.startSteps(calls('pay:t'));
    const fault = { method: 'RespondActivityTaskCompleted', holding: 'pay did t', when };
    const struck = proxy.arm({ ...fault, strike: () => worker?.signal('SIGKILL') });
    await approve(handle);
    await struck;
    return [fixture, handle];
  };

  test.concurrent.each(
    rows([
      ['the server took the outcome, the worker never hears it', { when: 'after', heartbeat: '30s' }, 0],
      ['the outcome is on disk, the server never hears it', { when: 'before' }, 1],
    ] as const),
  )('%s: known after a restart, one effect', async (_, how, inDoubt) => {
    const [fixture, handle] = await completeThrough(how, 'killed');
    await fixture.addHere(mode);
    const { answer, counts } = await handle.result();
    expect(answer).toContain('pay did t');
    expect(counts).toMatchObject({ calls: 1, failed: 0, inDoubt });
    expect(await fixture.effects('t')).toHaveLength(1);
    expect(await attemptsOf(handle, 'pay')).toEqual({ scheduled: 1, pending: 0 });
  });

  test.concurrent.each(rows(['before', 'after'] as const))(
    'the answer to the outcome is lost %s the server took it: no second execution',
    async (when) => {
      const [fixture, handle] = await completeThrough({ when, heartbeat: '30s' }, 'goes on');
      expect(await handle.result()).toMatchObject({ status: 'answered', counts: { failed: 0, inDoubt: 0 } });
      expect(await fixture.effects('t')).toHaveLength(1);
    },
  );

  if (which === 'few') return;

  test.concurrent(
    'the outcome is on the disk of a machine that does not come back: another worker cannot know it and asks',
    async () => {
      const [fixture, handle] = await completeThrough({ when: 'before' }, 'killed');
      await fixture.addHere({ ...mode, ...fixture.otherMachine() });
      await waitFor(handle, '1.1', 'in_doubt');
      await resolve(handle, { callId: '1.1', resolution: 'did-not', reason: 'looked' });
      await handle.result();
      expect(await fixture.effects('t')).toHaveLength(1);
    },
  );
};
