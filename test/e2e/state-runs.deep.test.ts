import { connect, type Countersign } from '../../src/client';
import type { TurnResult } from '../../src/contract/turn';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { startFixture, type Fixture, type FixtureOptions, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { decide, eventsOf, waitFor } from '../support/turns';

/** A server that suggests to continue as new after a few events. */
const SUGGEST = 'limit.historyCount.suggestContinueAsNew=5';

const memory = new Map<string, string[]>();
const memorizing = (name: string, safety: 'safe' | 'dangerous') =>
  defineTool({
    name,
    description: 'Remembers tags.',
    parameters: { type: 'object', properties: { tag: { type: 'string' } }, required: ['tag'] },
    safety,
    state: 'turn',
    stateGroup: 'memory',
    handler: ({ tag }, { state = { key: '', lost: false } }) => {
      const tags = [...(memory.get(state.key) ?? []), String(tag)];
      memory.set(state.key, tags);
      return tags.join('+');
    },
  });

const book = scriptBook();
const agents = [
  defineAgent({
    name: 'a',
    instructions: 'do',
    model: book.model,
    tools: [memorizing('recall', 'safe'), memorizing('commit', 'dangerous')],
  }),
];

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture({ agents });
});

const call = (name: string, tag: string) => ({ toolCalls: [{ name, arguments: { tag } }] });

/** What the tools said, the first line of each: a result without its state says so there. */
const saidIn = async (handle: TurnHandle): Promise<string[]> => {
  const { answer }: TurnResult = await handle.result();
  return answer.split(' | ');
};

const LOST = /^\[The state that earlier calls had made is lost\. [^\n]*\]\n\n/;

test('state stays with a turn that continues as new', async () => {
  const options: FixtureOptions = { ownServer: { dynamicConfig: [SUGGEST] }, agents };
  const own = await startFixture(options);
  const prompt = book.add(call('recall', 'a'), call('recall', 'b'), call('recall', 'c'), readBack);
  const handle = await own.start('a', prompt);
  expect(await saidIn(handle)).toEqual(['a', 'a+b', 'a+b+c']);
  const [started] = await eventsOf(handle);
  expect(started?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId).toBeTruthy();
});

describe('a turn that goes another way begins anew, and says so', () => {
  let client: Countersign;
  beforeAll(async () => {
    client = await connect({ client: fixture.client });
  });

  /** It remembers a and b, and a person has approved c. */
  const finished = async (): Promise<TurnHandle> => {
    const prompt = book.add(call('recall', 'a'), call('recall', 'b'), call('commit', 'c'), readBack);
    const handle = await fixture.start('a', prompt);
    await waitFor(handle, '3.1');
    await decide(handle, { callId: '3.1', decision: 'approved' });
    expect(await saidIn(handle)).toEqual(['a', 'a+b', 'a+b+c']);
    return handle;
  };

  test('after a reset', async () => {
    const { workflowId } = await finished();
    await client.reset(await client.planReset(workflowId, '2.1'));
    const handle: TurnHandle = fixture.client.workflow.getHandle(workflowId);
    await waitFor(handle, '3.1');
    await decide(handle, { callId: '3.1', decision: 'approved' });
    const [before, first, second] = await saidIn(handle);
    expect(before).toBe('a');
    expect(first).toMatch(LOST);
    expect(first?.replace(LOST, '')).toBe('b');
    expect(second).toBe('b+c');
  });

  test('in a fork', async () => {
    const { workflowId } = await finished();
    const { turn } = await client.fork({ turn: workflowId, at: '2.1' });
    const forked: TurnHandle = fixture.client.workflow.getHandle(turn);
    const [, again] = await saidIn(forked);
    expect(again).toMatch(LOST);
    expect(again?.replace(LOST, '')).toBe('b');
  });
});

test('the record shows that a call began without its state', async () => {
  const client = await connect({ client: fixture.client });
  const prompt = book.add(call('recall', 'a'), call('recall', 'b'), readBack);
  const { workflowId } = await fixture.start('a', prompt);
  await fixture.client.workflow.getHandle(workflowId).result();
  const { turn } = await client.fork({ turn: workflowId, at: '2' });
  await fixture.client.workflow.getHandle(turn).result();
  const { calls } = await client.view(turn);
  expect(calls.map(({ result }) => LOST.test(result?.content ?? ''))).toEqual([true]);
});
