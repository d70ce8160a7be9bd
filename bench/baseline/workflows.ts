import {
  condition,
  defineSignal,
  defineUpdate,
  executeChild,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';

/** A message of the conversation, as model APIs take it. */
export type Message =
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls: ToolCall[] }
  | { role: 'tool'; toolCallId: string; content: string };

interface ToolCall {
  id: string;
  name: string;
  arguments: { n: number };
}

/** A model that asks for one call in each of `steps` steps and then answers. */
interface BaselineActivities {
  model(input: { messages: readonly Message[]; steps: number }): Promise<Message & { role: 'assistant' }>;
  bareModel(input: { step: number; steps: number; last: string }): Promise<{ text: string }>;
  tool(input: { n: number }): Promise<string>;
  bareTool(input: { text: string }): Promise<string>;
}

const { model, tool, bareModel, bareTool } = proxyActivities<BaselineActivities>({
  startToCloseTimeout: '1 minute',
});

/**
 * What a careful person writes by hand: a model and a tool, each an activity. A model knows only what it is sent, so each
 * step sends it the conversation, as the loops of Temporal's own samples and plugins do.
 */
export async function handWrittenLoop(steps: number): Promise<string> {
  const messages: Message[] = [{ role: 'user', content: 'go' }];
  for (;;) {
    const reply = await model({ messages, steps });
    messages.push(reply);
    if (reply.toolCalls.length === 0) return reply.content;
    for (const call of reply.toolCalls) {
      const content = await tool(call.arguments);
      messages.push({ role: 'tool', toolCallId: call.id, content });
    }
  }
}

/** The same activities without a conversation: the least that a step can cost, and no agent. */
export async function bareLoop(steps: number): Promise<number> {
  let last = '';
  for (let step = 0; ; step++) {
    const { text } = await bareModel({ step, steps, last });
    if (text === 'done') return step;
    last = await bareTool({ text });
  }
}

export const goSignal = defineSignal('go');

/** Waits for a signal, then runs the tool: the least that a decision can cost. */
export async function rawSignal(): Promise<string> {
  let go = false;
  setHandler(goSignal, () => {
    go = true;
  });
  await condition(() => go);
  return bareTool({ text: 'go' });
}

export const decideUpdate = defineUpdate<boolean>('decide');

/** Waits for an update and answers it: the least that a turn which waits can be. */
export async function rawDecision(): Promise<void> {
  let decided = false;
  setHandler(decideUpdate, () => {
    decided = true;
    return decided;
  });
  await condition(() => decided);
}

/** One activity after the other, as many as asked for. */
export async function callsInARow(activity: string, times: number): Promise<void> {
  const all = proxyActivities<Record<string, (input: { n: number }) => Promise<string>>>({
    startToCloseTimeout: '1 minute',
  });
  for (let n = 0; n < times; n++) await all[activity]?.({ n });
}

/** One activity that tells that it runs. */
export async function oneCall(text: string): Promise<string> {
  return bareTool({ text });
}

/** Waits for an update, then runs the tool and asks the model again: the least that follows from a decision. */
export async function rawDecidedStep(): Promise<string> {
  await rawDecision();
  const last = await bareTool({ text: 'go' });
  const { text } = await bareModel({ step: 1, steps: 1, last });
  return text;
}

export const countSignal = defineSignal<[unknown]>('count');

/** Counts signals until a signal ends it. */
export async function countSignals(): Promise<number> {
  let count = 0;
  let ended = false;
  setHandler(countSignal, () => {
    count += 1;
  });
  setHandler(goSignal, () => {
    ended = true;
  });
  await condition(() => ended);
  return count;
}

export const sayUpdate = defineUpdate<void, [string]>('say');

/** A turn of the session below. */
export async function bareTurn(text: string): Promise<string> {
  return bareTool({ text });
}

/** Takes messages by update, and asks a model about each in a child workflow: the least that a session can be. */
export async function bareSession(): Promise<never> {
  const waiting: string[] = [];
  setHandler(sayUpdate, (text) => {
    waiting.push(text);
  });
  for (;;) {
    await condition(() => waiting.length > 0);
    await executeChild(bareTurn, { args: [waiting.shift() ?? ''] });
  }
}
