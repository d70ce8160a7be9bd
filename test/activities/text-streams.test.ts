import { MockActivityEnvironment } from '@temporalio/testing';
import { createTextStreams, type TextWriter } from '../../src/activities/text-streams';
import { type SendText, STREAM, type StreamedText } from '../../src/contract/streamed-text';
import { TextStore } from '../../src/server/streamed-text';
import { createSecrets } from '../../src/tools/secrets';
import { until } from '../support/until';

const SECRET = 'hunter2-hunter2';

/** Streams of one worker with a secret, and a way to open one as an attempt does. */
function streamsTo(send?: SendText) {
  const warnings: string[] = [];
  const secrets = createSecrets();
  secrets.keep(SECRET);
  const log = { warn: (message: string) => void warnings.push(message) };
  const streams = createTextStreams({ ...(send === undefined ? {} : { send }), secrets, log });
  const heads: string[] = [];
  const open = async (step = 1, attempt = 1): Promise<TextWriter> => {
    const info = {
      attempt,
      namespace: 'default',
      workflowExecution: { workflowId: 't', runId: 'r' },
      currentAttemptScheduledTimestampMs: 1_000 * attempt,
    };
    let writer: TextWriter | undefined;
    await new MockActivityEnvironment(info).run(async () => {
      writer = streams.open(step, (head) => heads.push(head));
    });
    if (writer === undefined) throw new Error('a writer was opened');
    return writer;
  };
  return { open, warnings, heads };
}

/** Takes pieces as a web inbox does. */
function receiver() {
  const store = new TextStore('default');
  const pieces: StreamedText[] = [];
  const state = { broken: false };
  const send: SendText = async (batch) => {
    if (state.broken) throw new Error('it is gone');
    pieces.push(...batch);
    return store.take(batch);
  };
  const textNow = async (): Promise<string> => {
    const signal = new AbortController();
    for await (const { text } of store.watch('t', signal.signal)) return text;
    return '';
  };
  return { pieces, send, textNow, state, isDone: () => pieces.some(({ done }) => done) };
}

it('sends the first word at once, and then what came in between, in order', async () => {
  const { send, pieces, textNow, isDone } = receiver();
  const writer = await streamsTo(send).open();
  for (const word of ['one ', 'two ', 'three']) writer.add(word);
  writer.finish('one two three');
  await until('the last piece', isDone);
  expect(await textNow()).toBe('one two three');
  expect(pieces[0]).toMatchObject({ turn: 't', runId: 'r', step: 1, attempt: 1, revision: 0, at: 0 });
});

describe('a secret', () => {
  const split = Array.from({ length: SECRET.length - 1 }, (_, index) => index + 1);

  test.each(split)('that is split after %i characters never leaves', async (at) => {
    const { send, pieces, textNow, isDone } = receiver();
    const writer = await streamsTo(send).open();
    writer.add(`it is ${SECRET.slice(0, at)}`);
    await until('the head', () => pieces.length > 0);
    writer.add(`${SECRET.slice(at)} indeed`);
    writer.finish('it is [redacted] indeed');
    await until('the last piece', isDone);
    expect(await textNow()).toBe('it is [redacted] indeed');
    expect(pieces.every(({ revision, text }) => revision === 0 && !text.includes('hunter'))).toBe(true);
  });

  test('letter by letter', async () => {
    const { send, pieces, isDone } = receiver();
    const writer = await streamsTo(send).open();
    for (const letter of `a ${SECRET} b`) writer.add(letter);
    writer.finish('a [redacted] b');
    await until('the last piece', isDone);
    expect(pieces.map(({ text }) => text).join('')).toBe('a [redacted] b');
  });

  test('is in no heartbeat', async () => {
    const { open, heads } = streamsTo();
    const writer = await open();
    for (const letter of `a ${SECRET} b`) writer.add(letter);
    expect(heads.at(-1)).toBe('a [redacted] b');
    expect(heads.filter((head) => head.includes('hunter'))).toEqual([]);
  });
});

it.each<[string, string[], string]>([
  ['is shorter', ['one two'], 'one'],
  ['is another one', ['one', ' two'], 'three'],
  ['is empty', ['one'], ''],
])('begins anew where the reply %s', async (_case, words, reply) => {
  const { send, pieces, textNow, isDone } = receiver();
  const writer = await streamsTo(send).open();
  for (const word of words) writer.add(word);
  await until('the words', () => pieces.length > 0);
  writer.finish(reply);
  await until('the last piece', isDone);
  expect(pieces.at(-1)).toMatchObject({ revision: 1, at: 0 });
  if (reply !== '') expect(await textNow()).toBe(reply);
});

it('sends no half of a character, whatever the pieces are', async () => {
  const { send, pieces, textNow, isDone } = receiver();
  const writer = await streamsTo(send).open();
  for (const half of ['a', '\ud83d', '\ude00', 'b\ud83d', '\ud83d\ude00']) writer.add(half);
  writer.finish('a😀b\ufffd😀');
  await until('the last piece', isDone);
  expect(await textNow()).toBe('a😀b\ufffd😀');
  expect(pieces.filter(({ text }) => /\p{Surrogate}/u.test(text))).toEqual([]);
});

it('streams the head of a text that is too long, and then the text as it was cut', async () => {
  const { send, textNow, pieces, isDone } = receiver();
  const writer = await streamsTo(send).open();
  for (let part = 0; part < 20; part++) writer.add('x'.repeat(50_000));
  const cut = `${'x'.repeat(262_000)}\n[... cut ...]\n${'x'.repeat(100_000)}`;
  writer.finish(cut);
  await until('the last piece', isDone);
  expect(await textNow()).toBe(cut);
  expect(pieces.every(({ text }) => text.length <= STREAM.charactersAtOnce)).toBe(true);
});

it('takes nothing once the attempt is over', async () => {
  const { send, pieces, textNow } = receiver();
  const writer = await streamsTo(send).open();
  writer.add('one');
  writer.end();
  writer.add(' two');
  writer.finish('three');
  await until('the words', () => pieces.length > 0);
  expect(await textNow()).toBe('one');
  expect(pieces).toHaveLength(1);
});

it('sends all of it again to a receiver that has lost it', async () => {
  const first = receiver();
  let current = first;
  const writer = await streamsTo((batch) => current.send(batch)).open();
  writer.add('one ');
  await until('the first word', () => first.pieces.length > 0);
  current = receiver();
  writer.add('two');
  writer.finish('one two');
  await until('the last piece', () => current.isDone());
  await until('all of it', async () => (await current.textNow()) === 'one two');
});

describe('a receiver that is gone', () => {
  it('costs nothing but words, is logged once, and gets the whole text when it is back', async () => {
    const there = receiver();
    there.state.broken = true;
    const { open, warnings } = streamsTo(there.send);
    const writer = await open();
    for (let word = 0; word < 1_000; word++) writer.add(`${word} `);
    await until('the warning', () => warnings.length > 0);
    there.state.broken = false;
    writer.add('end');
    await until('the words', () => there.pieces.length > 0);
    expect(await there.textNow()).toMatch(/^0 1 2 .*998 999 end$/);
    expect(warnings).toEqual(['what models write cannot be streamed to the web inbox: it is gone']);
  });

  it('leaves nothing of finished replies in memory', async () => {
    const there = receiver();
    there.state.broken = true;
    const { open, warnings } = streamsTo(there.send);
    const first = await open();
    first.add('one');
    await until('the warning', () => warnings.length > 0);
    first.finish('one');
    const second = await open(2, 2);
    second.add('two');
    there.state.broken = false;
    await until('the second text', () => there.pieces.length > 0);
    expect(there.pieces.map(({ step }) => step)).toEqual([2]);
  });
});

it('sends one batch at a time to a receiver that is slow', async () => {
  let open = 0;
  let most = 0;
  const sizes: number[] = [];
  const slow: SendText = async (batch) => {
    most = Math.max(most, ++open);
    sizes.push(batch.length);
    await new Promise((resolve) => setTimeout(resolve, 30));
    open--;
    return [];
  };
  const { open: openStream } = streamsTo(slow);
  const writers = await Promise.all(Array.from({ length: 250 }, (_, step) => openStream(step + 1)));
  for (let word = 0; word < 20; word++) for (const writer of writers) writer.add('word ');
  await until('all to be sent', () => sizes.reduce((sum, size) => sum + size, 0) >= 250);
  expect(most).toBe(1);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(STREAM.piecesAtOnce);
});
