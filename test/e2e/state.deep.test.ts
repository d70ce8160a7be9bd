import type { TurnResult } from '../../src/contract/turn';
import { useFaultProxies } from '../support/fault-proxy';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { attemptsOf, decide, eventsOf, waitFor } from '../support/turns';

const newProxy = useFaultProxies();

const LOST = '[The state that earlier calls had made is lost. This call began without it.]';

/** Two workers that share a machine, its journal too. */
const twoWorkers = async () => {
  const fixture = await startFixture();
  const workers = await Promise.all([fixture.addProcess(), fixture.addProcess()]);
  const holderOf = async (tag: string) => {
    const [effect] = await fixture.effectsOf(tag, 1);
    const holder = workers.find(({ pid }) => pid === effect?.pid);
    if (holder === undefined) throw new Error(`no worker did ${tag}`);
    return { holder, other: workers.find((one) => one !== holder)?.pid };
  };
  return { fixture, holderOf };
};

/** Two machines, which only the test's own process has. */
const twoHere = async (): Promise<Fixture> => {
  const fixture = await startFixture();
  await Promise.all([fixture.addHere(), fixture.addHere(fixture.otherMachine())]);
  return fixture;
};

/** What the tools said, in their order. */
const saidIn = async (handle: TurnHandle): Promise<string[]> => {
  const { answer }: TurnResult = await handle.result();
  return answer.split(' | ');
};

const byLength = (one: string, other: string): number => other.length - one.length;

const approve = (handle: TurnHandle, callId: string) => decide(handle, { callId, decision: 'approved' });

/** A turn whose first step began state, and that waits with a dangerous call for a decision. */
const turnWithState = async () => {
  const { fixture, holderOf } = await twoWorkers();
  const handle = await fixture.startSteps(calls('recall:a'), calls('commit:b'), calls('recall:c'));
  await waitFor(handle, '2.1');
  return { fixture, handle, ...(await holderOf('a')) };
};

describe('calls that share state', () => {
  test.concurrent('go to one worker of two, and no other turn sees what is there', async () => {
    const fixture = await twoHere();
    const turns = await Promise.all(
      ['x', 'y', 'z'].map(async (tag) => {
        const handle = await fixture.startSteps(
          calls(`recall:${tag}1`, `recall:${tag}2`, `jot:${tag}3`, `recall:${tag}4`),
          calls(`recall:${tag}5`, `jot:${tag}6`),
        );
        const said = await saidIn(handle);
        const ran = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => fixture.effects(`${tag}${n}`)));
        return { tag, said, pids: ran.flat().map(({ pid }) => pid) };
      }),
    );
    for (const { tag, said, pids } of turns) {
      expect(pids).toHaveLength(6);
      expect(new Set(pids).size).toBe(1);
      const [longest] = said.toSorted(byLength);
      const tags = longest?.split(' ')[0]?.split('+');
      expect(tags?.toSorted()).toEqual([1, 2, 3, 4, 5, 6].map((n) => `${tag}${n}`));
      expect(said.join(' ')).not.toContain('lost');
    }
  });

  test.concurrent('of a worker see what every turn left there', async () => {
    const fixture = await startFixture();
    const { pid } = await fixture.addHere();
    const first = await fixture.startSteps(calls('share:a'));
    expect((await first.result()).answer).toBe(`a in ${pid}`);
    const second = await fixture.startSteps(calls('share:b'));
    expect((await second.result()).answer).toBe(`a+b in ${pid}`);
  });

  test.concurrent(
    'begin anew where their worker was killed while a person decided; the approved one runs once',
    async () => {
      const { fixture, handle, holder, other } = await turnWithState();
      await holder.kill();
      await approve(handle, '2.1');
      const { answer, counts } = await handle.result();
      expect(counts).toMatchObject({ calls: 3, failed: 0, inDoubt: 0 });
      const [before, approved, after] = answer.split(' | ');
      expect(before).toBe(`a in ${holder.pid}`);
      expect(approved).toContain(LOST);
      expect(approved).toMatch(new RegExp(`\\n\\nb in ${other}, lost$`));
      expect(after).toBe(`b+c in ${other}`);
      expect(await fixture.effects('b')).toMatchObject([{ pid: other }]);
      expect(await attemptsOf(handle, 'commit')).toEqual({ scheduled: 2, pending: 0 });
    },
  );

  test.concurrent('do not run on a frozen worker that comes back, once they went elsewhere', async () => {
    const fixture = await startFixture();
    const proxy = await newProxy();
    const holder = await fixture.addProcess({ address: proxy.address, heartbeat: '20s' });
    const handle = await fixture.startSteps(calls('recall:a'), calls('commit:b'));
    await waitFor(handle, '2.1');
    holder.signal('SIGSTOP');
    await holder.stopped();
    proxy.cut();
    const other = await fixture.addHere({ heartbeat: '20s', ...fixture.otherMachine() });
    await approve(handle, '2.1');
    expect(await fixture.effectsOf('b', 1)).toMatchObject([{ pid: other.pid }]);
    holder.signal('SIGCONT');
    expect((await handle.result()).answer).toContain(LOST);
    // When it has drained, it has taken all that there was for it.
    holder.signal('SIGTERM');
    await holder.gone;
    expect(await fixture.effects('b')).toHaveLength(1);
  });

  test.concurrent('that were waiting together for a lost worker meet at one', async () => {
    const { fixture, holderOf } = await twoWorkers();
    const tags = ['b', 'c', 'd', 'e', 'f'];
    const handle = await fixture.startSteps(
      calls('recall:a'),
      calls('pay:gate'),
      calls(...tags.map((tag) => `recall:${tag}`)),
    );
    await fixture.open('gate');
    await waitFor(handle, '2.1');
    const { holder, other } = await holderOf('a');
    await holder.kill();
    await approve(handle, '2.1');
    const said = (await saidIn(handle)).slice(2);
    const ran = (await Promise.all(tags.map((tag) => fixture.effects(tag)))).flat();
    expect(ran.map(({ pid }) => pid)).toEqual(tags.map(() => other));
    // One of them tells of the loss: the one that the others waited for.
    expect(said.filter((one) => one.includes(LOST))).toHaveLength(1);
    const all = said.flatMap((one) => /([a-z+]+) in \d+/.exec(one)?.[1]?.split('+') ?? []);
    expect(new Set(all)).toEqual(new Set(tags));
    expect(said.some((one) => one.split(' ')[0]?.split('+').length === tags.length)).toBe(true);
  });

  test.concurrent(
    'find another worker after the one that began their state was killed in the middle',
    async () => {
      const { fixture, holderOf } = await twoWorkers();
      const handle = await fixture.startSteps(calls('ponder:a'), calls('recall:b'));
      const { holder, other } = await holderOf('a');
      await holder.kill();
      await fixture.open('a');
      expect((await handle.result()).answer).toBe(`a in ${other} | a+b in ${other}`);
    },
  );

  test.concurrent(
    'an unsafe call that was on its worker when that was killed is in doubt, as any other',
    async () => {
      const fixture = await startFixture();
      const trap = { at: 'handler', tag: 'b', signal: 'SIGKILL' } as const;
      const holder = await fixture.addProcess({ trap });
      const handle = await fixture.startSteps(calls('recall:a'), calls('jot:b'), calls('recall:c'));
      await holder.gone;
      const next = await fixture.addHere();
      await waitFor(handle, '2.1', 'in_doubt');
      await handle.executeUpdate('resolve', {
        args: [{ callId: '2.1', resolution: 'did-not', approver: 'ann', reason: 'looked' }],
      });
      const { answer } = await handle.result();
      expect(answer).toContain(LOST);
      expect(answer).toContain(`c in ${next.pid}, lost`);
      expect(await fixture.effects('b')).toHaveLength(1);
    },
  );

  test.concurrent('wait for the queue of their worker, and the record names it', async () => {
    const { handle, holder } = await turnWithState();
    await approve(handle, '2.1');
    await handle.result();
    const queues = (await eventsOf(handle)).flatMap((event) => {
      const { activityType, taskQueue } = event.activityTaskScheduledEventAttributes ?? {};
      return activityType?.name === 'commit' ? [taskQueue?.name] : [];
    });
    expect(queues).toEqual([expect.stringContaining(`countersign-worker:${holder.pid}@`)]);
  });
});
