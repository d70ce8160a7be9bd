import { connect, viewOf } from '../../src/client';
import { waitForEnd } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { decide, waitFor } from '../support/turns';

/** A turn that has noted and paid, looks, and notes once more at its end. */
const paid = async (fixture: Fixture): Promise<TurnHandle> => {
  for (const tag of ['t', 'look']) await fixture.open(tag);
  const handle = await fixture.startSteps(calls('note:t', 'pay:t'), calls('look:look', 'note:t', 'put:t'));
  await waitFor(handle, '1.2');
  await decide(handle, { callId: '1.2', decision: 'approved' });
  await handle.result();
  return handle;
};

test('a worker that is killed again and again in the middle of a dry fork executes nothing', async () => {
  const fixture = await startFixture();
  const first = await fixture.addHere();
  const handle = await paid(fixture);
  await first.stop();
  const before = await fixture.effects('t');
  const client = await connect({ client: fixture.client });
  const { turn } = await client.fork({ turn: handle.workflowId, at: '1.1' });
  for (let round = 0; round < 4; round++) {
    const worker = fixture.spawn();
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2000));
    await worker.kill();
  }
  await fixture.addHere();
  const view = await waitForEnd(client, turn, { timeoutMs: 60_000 });
  expect(view.status).toBe('answered');
  expect(view.calls.map(({ callId, result }) => [callId, result?.metadata.dry])).toEqual([
    ['1.1', 'would_run'],
    ['1.2', 'would_ask'],
    ['2.1', undefined],
    ['2.2', 'would_run'],
    ['2.3', 'would_run'],
  ]);
  expect(await fixture.effects('t')).toEqual(before);
});

describe('a turn that continued as new', () => {
  const effects = useEffects();
  const book = scriptBook();
  const look = { toolCalls: [{ name: 'look', arguments: { tag: 'long' } }] };
  const note = { toolCalls: [{ name: 'note', arguments: { tag: 'long' } }] };

  test('is forked in its first run and in its last; the fork stays dry when it continues as new', async () => {
    const ownServer = { dynamicConfig: ['limit.historyCount.suggestContinueAsNew=5'] };
    const tools = [
      recordTool(effects, { name: 'look' }),
      recordTool(effects, { name: 'note', safety: 'cautious', effect: 'unsafe' }),
    ];
    const agents = [defineAgent({ name: 'long', instructions: 'do', model: book.model, tools })];
    const fixture = await startFixture({ ownServer, agents });
    const client = await connect({ client: fixture.client });
    const handle = await fixture.start('long', book.add(look, note, look, note, { text: 'done' }));
    await handle.result();
    for (const [at, dry] of [
      ['1.1', ['2.1', '4.1']],
      ['2.1', ['2.1', '4.1']],
      ['4.1', ['4.1']],
    ] as const) {
      const { turn } = await client.fork({ turn: handle.workflowId, at });
      const view = await waitForEnd(client, turn);
      expect(view).toMatchObject({
        status: 'answered',
        answer: 'done',
        prompt: expect.stringMatching(/^follow /),
      });
      const unrun = view.calls.filter(({ result }) => result?.metadata.dry !== undefined);
      expect(unrun.map(({ callId }) => callId)).toEqual(dry);
      expect(viewOf(await client.timeline(turn)).fork).toMatchObject({ from: at, world: 'dry' });
    }
    expect(await effects.lines('note')).toHaveLength(2);
  });
});
