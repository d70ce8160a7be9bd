import type { Verdict } from '../../src/contract/decision';
import { useAgent } from '../support/agent-fixture';
import { recordTool } from '../support/effects';
import { startFixture, type TurnHandle } from '../support/fixture';
import { readBack } from '../support/script-book';
import { decide, signalDecision, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const { effects, book, agent, start } = useAgent('payer', (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
]);

const PAY = (tag: string) => ({ name: 'pay', arguments: { tag } });

/** A turn whose first call waits; a second request keeps the turn open until the test is done with it. */
const waiting = (tag: string): Promise<TurnHandle> =>
  start([{ toolCalls: [PAY(tag), PAY(`${tag} last`)] }], '1.2');

const finish = async (handle: TurnHandle): Promise<void> => {
  await decide(handle, { callId: '1.2', decision: 'denied' });
  await handle.result();
};

/** The server takes ten updates of one turn at a time; a client that is told so tries again, as ours does. */
const patiently = (ask: () => Promise<Verdict>): Promise<Verdict> =>
  until('an answer', () =>
    ask().catch((error: unknown) => (isBusy(error) ? undefined : Promise.reject(error))),
  );

const isBusy = (error: unknown): boolean =>
  error instanceof Error && /limit/.test(JSON.stringify(error) + error.message);

const fifty = Array.from({ length: 50 }, (_, index) => index);

test('fifty parallel updates of one decision, same id: one execution, everybody hears the same', async () => {
  const handle = await waiting('same id');
  const decision = { callId: '1.1', decision: 'approved', approver: 'ann', decisionId: 'same' } as const;
  const verdicts = await Promise.all(fifty.map(() => patiently(() => decide(handle, decision, 'same'))));
  expect(new Set(verdicts.map((verdict) => JSON.stringify(verdict))).size).toBe(1);
  expect(verdicts[0]).toMatchObject({ accepted: true, approver: 'ann' });
  await finish(handle);
  expect(await effects.lines('same id')).toEqual(['pay same id']);
});

test('fifty parallel updates, different ids: one wins, the others hear who was first and when', async () => {
  const handle = await waiting('other ids');
  const verdicts = await Promise.all(
    fifty.map((index) =>
      patiently(() =>
        decide(handle, {
          callId: '1.1',
          decision: 'approved',
          approver: `p${index}`,
          decisionId: `d${index}`,
        }),
      ),
    ),
  );
  const winners = verdicts.flatMap((verdict) => (verdict.accepted ? [verdict] : []));
  const losers = verdicts.flatMap((verdict) => (verdict.accepted ? [] : [verdict]));
  expect(winners).toHaveLength(1);
  expect(losers).toHaveLength(49);
  const [{ approver, at } = { approver: '', at: '' }] = winners;
  for (const loser of losers) {
    expect(loser).toMatchObject({
      code: 'already_decided',
      standing: { decision: 'approved', approver, at },
    });
    expect(loser.message).toContain(`by ${approver} at ${at}`);
  }
  await finish(handle);
  expect(await effects.lines('other ids')).toEqual(['pay other ids']);
});

test('fifty parallel signals and updates together: one execution', async () => {
  const handle = await waiting('both doors');
  const sent = fifty.map((index) => {
    const decision = { callId: '1.1', decision: 'approved', decisionId: `d${index % 25}` } as const;
    if (index % 2 === 0) return signalDecision(handle, decision);
    return patiently(() => decide(handle, decision));
  });
  await Promise.all(sent);
  await until('the verdicts', async () => (await verdictsOf(handle)).length >= 15);
  await finish(handle);
  expect(await effects.lines('both doors')).toEqual(['pay both doors']);
});

test('the same approval three times, then again after a restart of the worker: one execution', async () => {
  const own = await startFixture({ workers: 0, agents: [agent()] });
  const worker = await own.addWorker();
  const calls = [PAY('thrice'), PAY('thrice last')];
  const handle = await own.start('payer', book.add({ toolCalls: calls }, readBack));
  await waitFor(handle, '1.2');
  const decision = { callId: '1.1', decision: 'approved', decisionId: 'thrice' } as const;
  for (let n = 0; n < 3; n++) await signalDecision(handle, decision);
  const first = await decide(handle, decision);
  await until('the effect', async () => (await effects.lines('thrice')).length > 0);
  await worker.stop();
  await signalDecision(handle, decision);
  await own.addWorker();
  expect(await decide(handle, decision)).toEqual(first);
  expect(await decide(handle, { ...decision, approver: 'eve' })).toMatchObject({ code: 'malformed' });
  await finish(handle);
  expect((await verdictsOf(handle)).map(({ verdict }) => verdict)).toEqual(Array(4).fill('accepted'));
  expect(await effects.lines('thrice')).toEqual(['pay thrice']);
});

/** A race of one seed: which doors, and in which order they are knocked at. */
const race = (seed: number) => ({
  seed,
  approve: seed & 1 ? 'update' : 'signal',
  deny: seed & 2 ? 'update' : 'signal',
  approveFirst: (seed & 4) !== 0,
});

const knock = (handle: TurnHandle, door: string, decision: 'approved' | 'denied'): Promise<unknown> => {
  const message = { callId: '1.1', decision, decisionId: decision } as const;
  return door === 'update' ? decide(handle, message) : signalDecision(handle, message);
};

test('approve and deny race at both doors: exactly one stands, and what ran is what stands', async () => {
  for (const { seed, approve, deny, approveFirst } of Array.from({ length: 32 }, (_, seed) => race(seed))) {
    const tag = `race ${seed}.`;
    const handle = await waiting(tag);
    const yes = () => knock(handle, approve, 'approved');
    const no = () => knock(handle, deny, 'denied');
    await Promise.all(approveFirst ? [yes(), no()] : [no(), yes()]);
    const [a, b] = await Promise.all([
      decide(handle, { callId: '1.1', decision: 'approved', decisionId: 'approved' }),
      decide(handle, { callId: '1.1', decision: 'denied', decisionId: 'denied' }),
    ]);
    expect([a.accepted, b.accepted].sort()).toEqual([false, true]);
    await finish(handle);
    expect(await effects.lines(tag)).toHaveLength(a.accepted ? 1 : 0);
  }
});
