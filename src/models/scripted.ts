import { setTimeout as delay } from 'node:timers/promises';
import { isObject, type JsonObject } from '../contract/json';
import type { Usage } from '../contract/spending/usage';
import type { Model, ModelCall, ModelReply, ModelRequest } from './model';
import { ownCallId } from '../contract/names';

/** A call of a script. */
export interface ScriptedCall {
  name: string;
  /** An object, or raw text for arguments that are not a JSON object. @default {} */
  arguments?: JsonObject | string;
  /** @default `call_<step>_<n>`. Null stands for a provider that gives no id. */
  id?: string | null;
}

/** A reply of a script. A reply without calls is the answer. */
export interface ScriptedReply {
  text?: string;
  toolCalls?: readonly ScriptedCall[];
  /** @default `tool-calls` if there are calls, otherwise `stop` */
  finishReason?: string;
  usage?: Usage;
}

/**
 * One step of a script: a reply, a function that makes a reply from the request (or throws), or an Error that every
 * attempt of the step throws.
 */
export type ScriptedStep =
  ScriptedReply | Error | ((request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>);

/**
 * A model that follows a script, for tests and examples. It keeps no state: the step is the number of replies in the
 * conversation, so a retried step and a restarted worker give the same reply. In a session the replies of earlier turns
 * also count.
 *
 * Its words are streamed one by one, unless a function of the script has called `onText` itself.
 *
 * @param options.id Shown in the timeline. @default 'scripted'
 * @param options.wordMs Milliseconds before each word. @default 0
 * @param options.takes Media types of files that it takes. @default none
 * @example
 * scriptedModel([{ toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] }, { text: 'Done.' }])
 */
export function scriptedModel(
  steps: readonly ScriptedStep[],
  options: { id?: string; wordMs?: number; takes?: readonly string[] } = {},
): Model {
  return {
    id: options.id ?? 'scripted',
    takes: options.takes,
    async generate(request) {
      request.signal.throwIfAborted();
      const index = request.messages.filter(({ role }) => role === 'assistant').length;
      const step = steps[index];
      if (step === undefined) return outOfSteps(index, steps.length);
      let streamed = false;
      const onText = (text: string) => {
        streamed = true;
        request.onText?.(text);
      };
      const asked = request.onText === undefined ? request : { ...request, onText };
      const reply = toReply(await perform(step, asked), index + 1);
      if (!streamed) await streamWords(reply.text, request, options.wordMs);
      return reply;
    },
  };
}

/** Passes the words of a text one by one to `onText`. */
export async function streamWords(text: string, { onText, signal }: ModelRequest, wordMs = 0): Promise<void> {
  if (onText === undefined) return;
  for (const word of text.match(/\s*\S+|\s+$/g) ?? []) {
    if (wordMs > 0) await delay(wordMs, undefined, { signal });
    onText(word);
  }
}

function perform(step: ScriptedStep, request: ModelRequest) {
  if (step instanceof Error) throw step;
  return typeof step === 'function' ? step(request) : step;
}

function outOfSteps(index: number, length: number): ModelReply {
  const text = `The script is over: it has ${length} steps, and this is step ${index + 1}.`;
  return { text, toolCalls: [], finishReason: 'stop' };
}

function toReply(reply: ScriptedReply, step: number): ModelReply {
  const toolCalls = (reply.toolCalls ?? []).map((call, index) => toCall(call, ownCallId(step, index)));
  return {
    text: reply.text ?? '',
    toolCalls,
    finishReason: reply.finishReason ?? (toolCalls.length > 0 ? 'tool-calls' : 'stop'),
    usage: reply.usage,
  };
}

function toCall({ id, name, arguments: args = {} }: ScriptedCall, madeUp: string): ModelCall {
  const text = isObject(args) ? JSON.stringify(args) : args;
  return { id: id === null ? undefined : (id ?? madeUp), name, arguments: text };
}
