import { type Order, ORDERS } from '../../src/contract/tool';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { decide, eventsOf, scheduledInputs, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const held = new Map<string, () => void>();
let fixture: Fixture;

/** Tools whose handlers end when the test says so. */
const gate = (name: string, safety: 'safe' | 'cautious' | 'dangerous') =>
  recordTool(effects, { name, safety }, async (tag, { callId }) => {
    await new Promise<void>((release) => held.set(`${tag} ${callId}`, release));
    await effects.add(`ended ${tag} ${callId}`);
  });

const release = (tag: string, callId: string): Promise<true> =>
  until(`${callId} to run`, () => {
    const end = held.get(`${tag} ${callId}`);
    end?.();
    return end !== undefined;
  }).then(() => true);

beforeAll(async () => {
  const tools = [gate('look', 'safe'), gate('note', 'cautious'), gate('pay', 'dangerous')];
  fixture = await startFixture({
    agents: ORDERS.map((order) =>
      defineAgent({ name: order, instructions: 'do', model: book.model, tools, order }),
    ),
  });
});

const start = (order: Order, tag: string, names: string[]): Promise<TurnHandle> =>
  fixture.start(
    order,
    book.add({ toolCalls: names.map((name) => ({ name, arguments: { tag } })) }, readBack),
  );

const begun = (tag: string, lines: string[]): Promise<true> =>
  until(`${tag}: ${lines.join()}`, async () => {
    const found = (await effects.lines(` ${tag}`)).filter((line) => !line.startsWith('ended'));
    return (
      found.sort().join() ===
      lines
        .map((line) => `${line} ${tag}`)
        .sort()
        .join()
    );
  }).then(() => true);

/** Calls of a turn that were scheduled so far, in order. */
const scheduled = async (handle: TurnHandle): Promise<string[]> => {
  const events = await eventsOf(handle);
  return events.flatMap(({ activityTaskScheduledEventAttributes: attributes }) => {
    const id = attributes?.activityId ?? '';
    return id.startsWith('call-') ? [id.slice('call-'.length, -2)] : [];
  });
};

test('lane: pure calls at once; effects one at a time, in order; one that waits holds no place', async () => {
  const tag = 'lane';
  const handle = await start('lane', tag, ['pay', 'look', 'note', 'look', 'note']);
  await waitFor(handle, '1.1');
  await begun(tag, ['look', 'look', 'note']);
  expect(await scheduled(handle)).toEqual(expect.arrayContaining(['1.2', '1.3', '1.4']));
  expect(await scheduled(handle)).toHaveLength(3);
  await decide(handle, { callId: '1.1', decision: 'approved' });
  expect(await scheduled(handle)).toHaveLength(3);
  await release(tag, '1.3');
  await begun(tag, ['look', 'look', 'note', 'pay']);
  expect((await scheduled(handle)).at(-1)).toBe('1.1');
  for (const callId of ['1.1', '1.5', '1.2', '1.4']) await release(tag, callId);
  await handle.result();
  expect((await scheduled(handle)).at(-1)).toBe('1.5');
});

test('strict: a call starts only after the one before it has its result', async () => {
  const tag = 'strict';
  const handle = await start('strict', tag, ['look', 'pay', 'look', 'note']);
  await begun(tag, ['look']);
  await decide(handle, { callId: '1.2', decision: 'approved' });
  expect(await scheduled(handle)).toEqual(['1.1']);
  for (const callId of ['1.1', '1.2', '1.3', '1.4']) await release(tag, callId);
  await handle.result();
  expect(await effects.lines(tag)).toEqual(
    ['look', 'pay', 'look', 'note'].flatMap((name, index) => [
      `${name} ${tag}`,
      `ended ${tag} 1.${index + 1}`,
    ]),
  );
});

test('strict: a call that waits for a decision holds those after it', async () => {
  const tag = 'held up';
  const handle = await start('strict', tag, ['pay', 'look']);
  await waitFor(handle, '1.1');
  expect(await scheduled(handle)).toEqual([]);
  await decide(handle, { callId: '1.1', decision: 'denied' });
  await release(tag, '1.2');
  await handle.result();
  expect(await scheduled(handle)).toEqual(['1.2']);
});

test('parallel: every ready call at once, effects too', async () => {
  const tag = 'parallel';
  const handle = await start('parallel', tag, ['note', 'note', 'look', 'pay', 'note']);
  await begun(tag, ['note', 'note', 'look', 'note']);
  await decide(handle, { callId: '1.4', decision: 'approved' });
  await begun(tag, ['note', 'note', 'look', 'note', 'pay']);
  for (const callId of ['1.5', '1.4', '1.3', '1.2', '1.1']) await release(tag, callId);
  await handle.result();
});

test('results come in the order of the calls, whatever the order of their ends', async () => {
  const tag = 'any end';
  const handle = await start('lane', tag, ['look', 'look', 'look']);
  for (const callId of ['1.3', '1.1', '1.2']) await release(tag, callId);
  await handle.result();
  const [, second] = await scheduledInputs(handle, 'countersign.think');
  expect(second?.['results']).toMatchObject([{ callId: '1.1' }, { callId: '1.2' }, { callId: '1.3' }]);
});

test.each(['lane', 'parallel'] as const)(
  '%s: of twenty pure calls at most sixteen run at once',
  async (order) => {
    const tag = `twenty ${order}`;
    const handle = await start(order, tag, Array<string>(20).fill('look'));
    await begun(tag, Array<string>(16).fill('look'));
    expect(await scheduled(handle)).toHaveLength(16);
    await release(tag, '1.1');
    await begun(tag, Array<string>(17).fill('look'));
    expect(await scheduled(handle)).toHaveLength(17);
    for (let n = 2; n <= 20; n++) await release(tag, `1.${n}`);
    expect((await handle.result()).counts).toMatchObject({ calls: 20, failed: 0 });
  },
);
