import { randomUUID } from 'node:crypto';
import { connect, type Countersign } from '../../src/client';
import { ModelError } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { until } from '../support/until';

const HOUR = 3_600_000;
const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  const tools = [recordTool(effects, { name: 'pay', effect: 'unsafe' })];
  const limits = { modelRetryFor: 60_000 };
  fixture = await startFixture({
    agents: [defineAgent({ name: 'talker', instructions: 'do', model: book.model, tools, limits })],
  });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

/** Sets the clock of this process, which is that of the worker and of the client. Timers run on. */
const jump = (ms: number): void => {
  const now = Date.now() + ms;
  jest.useFakeTimers({ advanceTimers: true, now, doNotFake: REAL });
};
const REAL = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
];
afterEach(() => jest.useRealTimers());

test.each([
  ['ahead', HOUR],
  ['back', -HOUR],
])(
  'a clock that is set %s an hour loses nothing of a conversation, and does nothing twice',
  async (_, ms) => {
    const { taskQueue } = fixture;
    const session = client.session(`s-${randomUUID()}`, { agent: 'talker', taskQueue });
    const tag = `clock ${ms}`;
    const answers = ['paid', 'second', 'third'];
    let asked = 0;
    const first = book.add(
      () => {
        asked += 1;
        if (asked > 1) return { toolCalls: [{ name: 'pay', arguments: { tag } }] };
        jump(ms);
        throw new ModelError('server', 'busy', { retryable: true });
      },
      { text: 'paid' },
    );
    await session.send(first);
    await until('the jump', () => asked > 0);
    jest.useRealTimers();
    await until('the answer', async () => (await session.history()).turns[0]?.status === 'answered');
    const second = { text: book.add({ text: 'second' }), messageId: 'm2' };
    const sending = session.send(second);
    jump(ms);
    await sending;
    await session.send({ text: book.add({ text: 'third' }), messageId: 'm3' });
    await session.send(second);
    jest.useRealTimers();
    const { turns } = await until('three answers', async () => {
      const view = await session.history();
      return view.turns.length === 3 && view.turns.every(({ status }) => status !== 'running') && view;
    });
    expect(turns.map(({ status, answer }) => [status, answer])).toEqual(
      answers.map((text) => ['answered', text]),
    );
    expect(await effects.lines(tag)).toEqual([`pay ${tag}`]);
  },
);
