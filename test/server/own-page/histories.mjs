/**
 * Writes recorded histories as the doors would, and reads them with the official clients: what was cut at any event, or
 * broke in the middle of a stream, and what a model writes meanwhile. Prints how many looks there were, or fails.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { AbstractAgent } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { readUIMessageStream, uiMessageChunkSchema } from 'ai';
import { from } from 'rxjs';

const root = join(import.meta.dirname, '..', '..', '..');
const require = createRequire(import.meta.url);
const lib = (name) => require(join(root, 'lib', name));
const { AG_UI_INPUT, agUi, recordOf } = lib('server/own-page/ag-ui.js');
const { UI_INPUT, aiSdk } = lib('server/own-page/ai-sdk.js');
const { threadEnd, askedItems, stepsOf } = lib('server/own-page/thread.js');
const { turnEventsOfJson } = lib('history/exported.js');
const { viewOf } = lib('history/view.js');

const [seedGiven = '1', runsGiven = '10'] = process.argv.slice(2);
const who = { user: 'ann', isApprover: true, inbox: 'http://inbox' };
const THREAD = 'thread';
const REFUSED = {
  id: 'turn/1.1',
  status: 'refused',
  code: 'stale_args',
  message: 'changed',
  link: 'http://inbox',
};
const FAILURE = { code: 'not_ready', message: 'the web inbox closes' };

/** The same numbers on every run of a seed. */
const randomOf = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
};

const threadAt = (events, cut, random) => {
  const view = viewOf(events.slice(0, cut));
  const { turn, prompt, status, answer, endedAt } = view;
  const messages = [{ messageId: 'words', text: prompt, mode: 'queue', at: '' }];
  const turns = [
    { turn, status: endedAt === null ? 'running' : status, messageId: 'words', prompt, took: [], answer },
  ];
  const step = Math.max(0, ...view.steps.map((one) => one.step)) + 1;
  const text = ['', 'I', 'I wr', 'I write this', 'Again'][Math.floor(random() * 5)];
  const words = text === '' || random() < 0.5 ? undefined : { turn, step, text };
  return {
    session: { turns, messages, waiting: [], state: 'open' },
    turns: new Map([[turn, view]]),
    words,
    step,
  };
};

/** The moments at which a look writes, up to a last one. */
const cutsOf = (events, first, random) => {
  const cuts = [];
  for (let at = first; at < events.length; at += 1 + Math.floor(random() * 4)) cuts.push(at);
  const isLast = cuts.length === 0 || random() < 0.4;
  return [...cuts.slice(0, 1 + Math.floor(random() * 5)), ...(isLast ? [events.length] : [])];
};

const endingOf = (writer, thread) => {
  const end = threadEnd(thread);
  if (end !== undefined) return writer.ended(end);
  const items = askedItems(thread, who);
  return items.length > 0 ? writer.waits(items) : undefined;
};

class Replay extends AbstractAgent {
  run() {
    return from(this.events);
  }
}

const bare = ({ id, role, content, toolCalls = [], toolCallId }) => ({
  ...{ id, role, content: content ?? '', toolCallId },
  calls: toolCalls.map((call) => [call.id, call.function.name, call.function.arguments]),
});

const readByAgUi = async (events, random) => {
  const agent = new Replay({ threadId: THREAD });
  let looks = 0;
  for (let at = 1; at <= events.length; looks += 1) {
    const cuts = cutsOf(events, at, random);
    const input = AG_UI_INPUT.parse({ threadId: THREAD, runId: `r${looks}`, messages: agent.messages });
    const writer = agUi(input).writer(who);
    const written = [...writer.begin(), writer.said(REFUSED)];
    let thread;
    for (const cut of cuts) written.push(...writer.write((thread = threadAt(events, cut, random))));
    const ending = random() < 0.8 ? endingOf(writer, { ...thread, words: undefined }) : undefined;
    const isWhole = ending !== undefined;
    agent.events = JSON.parse(JSON.stringify([...written, ...(ending ?? [])])).slice(
      0,
      isWhole ? undefined : 1 + Math.floor(random() * written.length),
    );
    for (const event of [...agent.events, ...writer.failed(FAILURE)]) EventSchemas.parse(event);
    const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' }));
    const run = agent.runAgent({ runId: `r${looks}`, resume });
    // A stream that ends before anything was said is an error of the client.
    await (isWhole ? run : run.catch(() => undefined));
    if (isWhole) {
      // Outcomes stand in the order in which they came.
      const sorted = (messages) => messages.map(bare).sort((one, other) => (one.id < other.id ? -1 : 1));
      assert.deepEqual(sorted(agent.messages), sorted(JSON.parse(JSON.stringify(recordOf(thread)))));
    }
    if (agent.events.at(-1)?.type === 'RUN_FINISHED') {
      const items = threadEnd(thread) === undefined ? askedItems(thread, who) : [];
      const ids = (all) => all.map(({ id }) => id);
      assert.deepEqual(ids(agent.pendingInterrupts), ids(items));
    }
    at = (cuts.at(-1) ?? at) + 1;
  }
  return looks;
};

const streamOf = (chunks) =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

const readByAiSdk = async (events, random) => {
  const user = { id: 'words', role: 'user', parts: [{ type: 'text', text: 'words' }] };
  let message;
  let looks = 0;
  for (let at = 1; at <= events.length; looks += 1) {
    const cuts = cutsOf(events, at, random);
    const messages = message === undefined ? [user] : [user, message];
    const writer = aiSdk(UI_INPUT.parse(JSON.parse(JSON.stringify({ id: THREAD, messages })))).writer(who);
    let thread;
    let words;
    const chunks = cuts.flatMap((cut) => {
      thread = threadAt(events, cut, random);
      // What a model has written goes only when its reply is there, or when it begins anew.
      if (thread.words === undefined && words?.step === thread.step) thread.words = words;
      words = thread.words;
      return writer.write({ ...thread });
    });
    thread.words = undefined;
    const ending = endingOf(writer, thread);
    const said = chunks.length > 0 ? [writer.said(REFUSED)] : [];
    // A page reloads a stream that broke from its beginning, so a part of one is read and forgotten.
    const isWhole = ending !== undefined && ending[0]?.type !== 'error';
    const sent = JSON.parse(JSON.stringify([...chunks, ...said, ...(ending ?? [])]));
    const schema = uiMessageChunkSchema();
    for (const chunk of [...sent, ...writer.failed(FAILURE)])
      assert.equal((await schema.validate(chunk)).success, true, JSON.stringify(chunk));
    let read = message && structuredClone(message);
    const errors = [];
    const onError = (error) => void errors.push(error);
    for await (const one of readUIMessageStream({ message: read, stream: streamOf(sent), onError }))
      read = one;
    if (ending?.[0]?.type !== 'error') assert.deepEqual(errors, []);
    if (isWhole && read !== undefined) {
      message = read;
      const shown = stepsOf(thread, [...thread.turns.keys()][0]);
      const texts = read.parts.filter(({ type }) => type === 'text').map(({ text }) => text);
      const kept = texts.filter((text) => !['I', 'I wr', 'I write this', 'Again'].includes(text));
      assert.deepEqual(
        kept,
        shown.map(({ text }) => text).filter((text) => text !== ''),
      );
      const tools = read.parts.filter(({ type }) => type === 'dynamic-tool').map((one) => one.toolCallId);
      assert.deepEqual(
        tools,
        shown.flatMap(({ calls }) => calls.map(({ id }) => id)),
      );
    }
    at = (cuts.at(-1) ?? at) + 1;
  }
  return looks;
};

console.warn = () => undefined;
let looks = 0;
const folder = join(root, 'test', 'histories');
for (const name of readdirSync(folder)) {
  const events = await turnEventsOfJson(readFileSync(join(folder, name), 'utf8'));
  if (events[0]?.type !== 'turn_started') continue;
  for (let run = 0; run < Number(runsGiven); run += 1) {
    const seed = Number(seedGiven) * 1_000 + run;
    try {
      looks += await readByAgUi(events, randomOf(seed));
      // A message of the AI SDK cannot take back the steps that a reset undid.
      if (events.every(({ type }) => type !== 'reset')) looks += await readByAiSdk(events, randomOf(seed));
    } catch (error) {
      process.stderr.write(`${name}, seed ${seed}\n`);
      throw error;
    }
  }
}
process.stdout.write(`${looks} looks\n`);
