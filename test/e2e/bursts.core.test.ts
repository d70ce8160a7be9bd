import { connect, type Countersign } from '../../src/client';
import { TIMES } from '../../src/contract/limits';
import { useAgent } from '../support/agent-fixture';
import { recordTool } from '../support/effects';
import { testAddress } from '../support/server';

const { effects, start, client } = useAgent('burst', (made) => [
  recordTool(made, { name: 'pay', safety: 'dangerous' }),
]);

const APPROVED = { decision: 'approved' } as const;

/** A worker that did not answer in its time is passed over by signal; a decision that goes by signal sooner is wrong. */
const send = async (sender: Countersign, turn: string, callId: string): Promise<string> => {
  const since = performance.now();
  const { status } = await sender.decide(turn, { callId, ...APPROVED });
  const hasWaited = performance.now() - since > TIMES.updateAnswer - 500;
  return status === 'recorded' && hasWaited ? 'accepted' : status;
};

const accepted = (count: number): string[] => Array.from({ length: count }, () => 'accepted');

test('64 decisions in one turn from two clients at once: each is taken, by signal where the server takes no more updates', async () => {
  const other = await connect({ address: testAddress() });
  const names = Array.from({ length: 64 }, (_, n) => `many ${n}`);
  const step = { toolCalls: names.map((tag) => ({ name: 'pay', arguments: { tag } })) };
  const handle = await start([step], '1.1');
  const clients = [client(), other];
  const answers = await Promise.all(
    names.map((_, n) => send(clients[n % 2] ?? client(), handle.workflowId, `1.${n + 1}`)),
  );
  expect(answers.filter((status) => status !== 'accepted' && status !== 'recorded')).toEqual([]);
  await handle.result();
  expect((await effects.lines('many')).length).toBe(64);
  await other.close();
});

test('100 decisions at once in 50 turns: each is accepted, and runs once or says that nothing ran', async () => {
  const two = (n: number) => ({
    toolCalls: ['a', 'b'].map((tag) => ({ name: 'pay', arguments: { tag: `turn ${n}${tag}` } })),
  });
  const handles = await Promise.all(Array.from({ length: 50 }, (_, n) => start([two(n)], '1.2')));
  const answers = await Promise.all(
    handles.flatMap(({ workflowId }) => ['1.1', '1.2'].map((callId) => send(client(), workflowId, callId))),
  );
  expect(answers).toEqual(accepted(100));
  const results = await Promise.all(handles.map((handle) => handle.result()));
  const lines = await effects.lines('turn');
  expect(new Set(lines).size).toBe(lines.length);
  // A worker that stands still for ten seconds gives calls up before they start.
  const notStarted = results.flatMap(({ answer }) => answer.match(/Not started: .* Nothing ran\./g) ?? []);
  expect(lines.length + notStarted.length).toBe(100);
});
