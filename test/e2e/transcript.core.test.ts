import { MEMO } from '../../src/contract/names';
import { DROPPED_OUTPUT, type TranscriptPage } from '../../src/contract/transcript';
import { ModelError, type ModelMessage, type ModelRequest } from '../../src/models/model';
import type { ScriptedReply } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { decide, eventsOf, scheduledInputs, transcriptOf, waitFor } from '../support/turns';

const effects = useEffects();
const book = scriptBook();
const KIB = 1024;

/** What history may take for a step of 8 KB: 1.2 MB for a hundred. Sending a text twice would take 20 KB. */
const STEP_BYTES = 12_000;

/** 8 KiB that differ with each call. */
const page = (tag: string, callId: string): string => `${tag} ${callId} `.padEnd(8 * KIB, callId);

const tools = [
  recordTool(effects, { name: 'read' }, (tag, { callId }) => page(tag, callId)),
  recordTool(effects, { name: 'pay', safety: 'dangerous' }),
  recordTool(effects, { name: 'bulk' }, (tag, { callId }) => `${tag} ${callId} `.padEnd(64 * KIB, callId)),
  recordTool(effects, { name: 'huge', outputLimit: KIB * KIB }, (tag) => `${tag} `.padEnd(KIB * KIB, '\0')),
];

let fixture: Fixture;
beforeEach(async () => {
  fixture = await startFixture({
    workers: 0,
    agents: [defineAgent({ name: 'reader', instructions: 'do', model: book.model, tools })],
  });
});
afterEach(() => fixture.stop());

/** A script of `steps` reads that keeps what the model was sent at each step. */
const reading = (tag: string, steps: number, seen: ModelMessage[][], tool = 'read'): string => {
  const keep = (reply: ScriptedReply) => (request: ModelRequest) => {
    seen.push(request.messages);
    return reply;
  };
  const one = { toolCalls: [{ name: tool, arguments: { tag } }] };
  return book.add(...Array.from({ length: steps }, () => keep(one)), keep({ text: 'done' }));
};

/** Each step is sent what the step before was sent, and what is new: nothing lost, nothing twice. */
const expectGrowing = (seen: readonly ModelMessage[][]): void => {
  for (const [index, messages] of seen.entries()) {
    expect(messages).toHaveLength(1 + 2 * index);
    expect(messages.slice(0, -2)).toEqual(seen[index - 1] ?? []);
  }
};

test('history holds each text once: 30 steps of 8 KiB, and the model sees every one of them', async () => {
  await fixture.addWorker();
  const seen: ModelMessage[][] = [];
  const handle = await fixture.start('reader', reading('linear', 30, seen));
  await handle.result();
  const description = await handle.describe();
  expect(description.historySize).toBeLessThan(30 * STEP_BYTES);
  expect(seen).toHaveLength(31);
  expect(seen.slice(1).map((messages) => messages.length)).toEqual(
    Array.from({ length: 30 }, (_, index) => 3 + 2 * index),
  );
  expect(seen.at(-1)?.at(-1)).toMatchObject({ content: page('linear', '30.1') });
  const inputs = await scheduledInputs(handle, 'countersign.think');
  for (const input of inputs) expect(JSON.stringify(input).length).toBeLessThan(KIB);
});

test('a worker that was started anew between steps reads the conversation; the model sees the same', async () => {
  const seen: ModelMessage[][] = [];
  let worker = await fixture.addWorker();
  const handle = await fixture.start('reader', reading('restarted', 3, seen, 'pay'));
  for (let step = 1; step <= 3; step++) {
    await waitFor(handle, `${step}.1`);
    await worker.stop();
    worker = await fixture.addWorker();
    await decide(handle, { callId: `${step}.1`, decision: 'approved', reason: `step ${step}` });
  }
  await handle.result();
  expect(seen).toHaveLength(4);
  expectGrowing(seen);
  expect(seen.at(-1)?.at(-1)?.content).toContain('somebody approved this call. Reason: step 3');
  expect(await effects.lines('restarted')).toHaveLength(3);
});

test.each([
  ['a cache of one workflow', 1, { maxCachedWorkflows: 1 }],
  ['no cache', 1, { maxCachedWorkflows: 0 }],
  ['two workers on one queue', 2, {}],
])('%s: many turns at once see their own conversations', async (what, workers, extra) => {
  for (let n = 0; n < workers; n++) await fixture.addWorker(extra);
  const turns = Array.from({ length: 6 }, (_, index) => ({
    tag: `${what} ${index}`,
    seen: [] as ModelMessage[][],
  }));
  const handles = await Promise.all(
    turns.map(({ tag, seen }) => fixture.start('reader', reading(tag, 4, seen))),
  );
  await Promise.all(handles.map((handle) => handle.result()));
  for (const [index, { tag, seen }] of turns.entries()) {
    expect(seen).toHaveLength(5);
    expectOwn(seen, tag);
    const handle = handles[index];
    expect(handle && (await transcriptOf(handle))).toHaveLength(10);
  }
});

const expectOwn = (seen: readonly ModelMessage[][], tag: string): void => {
  expectGrowing(seen);
  const last = seen.at(-1) ?? [];
  const contents = last.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
  expect(contents).toEqual([1, 2, 3, 4].map((step) => page(tag, `${step}.1`)));
};

test('outputs that the model has no room for stay out of later steps, and the request says so', async () => {
  await fixture.addWorker();
  let asked = 0;
  const narrow = (reply: ScriptedReply) => (request: ModelRequest) => {
    asked += 1;
    const whole = request.messages.filter(
      ({ role, content }) => role === 'tool' && content !== DROPPED_OUTPUT,
    );
    if (whole.length <= 2) return reply;
    throw new ModelError('request', 'maximum context length is 8192 tokens', { retryable: false });
  };
  const read = narrow({ toolCalls: [{ name: 'read', arguments: { tag: 'narrow' } }] });
  const pay = narrow({ toolCalls: [{ name: 'pay', arguments: { tag: 'narrow' } }] });
  const handle = await fixture.start('reader', book.add(read, read, read, pay, narrow({ text: 'done' })));
  await waitFor(handle, '4.1');
  expect((await handle.describe()).memo?.[MEMO.open]).toMatchObject({
    by: { model: 'book', notes: ['shortened'] },
  });
  await decide(handle, { callId: '4.1', decision: 'approved' });
  await handle.result();
  // Only the fourth step is asked twice.
  expect(asked).toBe(6);
  const inputs = await scheduledInputs(handle, 'countersign.think');
  expect(inputs.map((input) => Reflect.get(Object(input), 'droppedBefore'))).toEqual([0, 0, 0, 0, 5]);
});

test('the query answers from the start for 0 and less; past the end there is nothing', async () => {
  await fixture.addWorker();
  const handle = await fixture.start('reader', reading('query', 1, []));
  await handle.result();
  for (const from of [-1, -1e12, 0]) {
    const page = await handle.query<TranscriptPage, [unknown]>('transcript', { from });
    expect(page).toMatchObject({ from: 0, next: null });
    expect(page.entries).toHaveLength(4);
  }
  expect(await handle.query('transcript', { from: 99 })).toMatchObject({ entries: [], next: null });
});

test('over its limit the transcript drops its oldest outputs, with a mark, and the turn goes on', async () => {
  await fixture.addWorker();
  const seen: ModelMessage[][] = [];
  const many = Array.from({ length: 24 }, () => ({ name: 'read', arguments: { tag: 'dropped' } }));
  const step = ({ messages }: ModelRequest): ScriptedReply => {
    seen.push(messages);
    return { toolCalls: many };
  };
  const handle = await fixture.start(
    'reader',
    book.add(...Array.from({ length: 10 }, () => step), { text: 'done' }),
  );
  expect(await handle.result()).toMatchObject({ status: 'answered', steps: 11 });
  const last = seen.at(-1) ?? [];
  const bytes = JSON.stringify(last).length;
  expect(bytes).toBeLessThan(1_600_000);
  const tooled = last.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
  expect(tooled).toHaveLength(9 * 24);
  expect(tooled[0]).toContain('older output dropped');
  expect(tooled.at(-1)).toBe(page('dropped', '9.24'));
  const events = await eventsOf(handle);
  expect(events.some((event) => event.workflowTaskFailedEventAttributes)).toBe(false);
});

/** Contents of the tools' messages. */
const outputsOf = (messages: readonly ModelMessage[] = []): string[] =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));

test.each([
  ['bulk', 64],
  ['huge', 2],
])(
  'outputs of %s, %d in one step, are cut to fit; a worker with and one without memory give the same',
  async (name, count) => {
    const seen: ModelMessage[][] = [];
    const keep = (reply: ScriptedReply) => (request: ModelRequest) => {
      seen.push(request.messages);
      return reply;
    };
    const calls = Array.from({ length: count }, () => ({ name, arguments: { tag: `cut ${name}` } }));
    const pay = { toolCalls: [{ name: 'pay', arguments: { tag: 'pay' } }] };
    const prompt = book.add(keep({ toolCalls: calls }), keep(pay), keep({ text: 'done' }));
    const first = await fixture.addWorker();
    const handle = await fixture.start('reader', prompt);
    await waitFor(handle, '2.1');
    const outputs = outputsOf(seen[1]);
    expect(outputs).toHaveLength(count);
    for (const output of outputs)
      expect(output).toMatch(new RegExp(`^cut ${name} [^]*left out to keep within the limit`));
    await first.stop();
    await fixture.addWorker();
    await decide(handle, { callId: '2.1', decision: 'approved' });
    expect(await handle.result()).toMatchObject({
      status: 'answered',
      counts: { calls: count + 1, failed: 0 },
    });
    const after = outputsOf(seen[2]);
    const entries = (await transcriptOf(handle)).flatMap((entry) =>
      entry.kind === 'result' ? [entry.content] : [],
    );
    expect(after).toEqual(entries);
    // The oldest give way to what came after them.
    const kept = after.slice(0, count).map((output, index) => output === outputs[index]);
    expect(kept.at(-1)).toBe(true);
    expect(
      after.filter((_, index) => kept[index] === false).every((output) => output === DROPPED_OUTPUT),
    ).toBe(true);
  },
);
