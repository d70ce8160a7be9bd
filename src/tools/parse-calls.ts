import { CountersignError } from '../contract/errors';
import { isObject } from '../contract/json';

/** One call as a model asked for it. */
export interface ToolCall {
  /** Some providers give none. */
  id?: string;
  name: string;
  /** JSON text as the model wrote it; see parseArguments. */
  arguments: string;
}

/**
 * The tool calls of an OpenAI chat completion: of the whole response (`choices[0].message`) or of its message.
 * An entry that is not well formed stays in the list, so that the model gets an error result for it:
 * without a name its name is empty, without arguments they are `''`, and arguments that are no text are written as JSON.
 *
 * @throws CountersignError `no_tool_calls` where there are none.
 */
export function parseToolCalls(reply: unknown): ToolCall[] {
  const calls = toMessage(reply)?.['tool_calls'];
  if (Array.isArray(calls) && calls.length > 0) return calls.map(toCall);
  throw new CountersignError('no_tool_calls', 'the reply asks for no tool calls', {
    hint: 'Take its text as the answer; a reply with calls has choices[0].message.tool_calls.',
  });
}

/** Ids that are unique in their step: where a call has none, or that of an earlier one, one is made up from its place. */
export function uniqueIds(calls: readonly { id?: string | undefined }[]): string[] {
  const given = new Set(calls.map(({ id }) => id));
  const taken = new Set<string>();
  return calls.map(({ id }, index) => {
    const isFirst = id !== undefined && id !== '' && !taken.has(id);
    const unique = isFirst
      ? id
      : freeId(`call_${index + 1}`, (wanted) => taken.has(wanted) || given.has(wanted));
    taken.add(unique);
    return unique;
  });
}

function freeId(wanted: string, isTaken: (id: string) => boolean): string {
  let free = wanted;
  for (let n = 1; isTaken(free); n++) free = `${wanted}_${n}`;
  return free;
}

function toMessage(reply: unknown): Record<string, unknown> | undefined {
  if (!isObject(reply)) return undefined;
  const choice: unknown = Array.isArray(reply['choices']) ? reply['choices'][0] : reply;
  if (!isObject(choice)) return undefined;
  return isObject(choice['message']) ? choice['message'] : choice;
}

function toCall(entry: unknown): ToolCall {
  const call = isObject(entry) ? entry : {};
  const asked = isObject(call['function']) ? call['function'] : {};
  const { name, arguments: args } = asked;
  return {
    ...(typeof call['id'] === 'string' && call['id'] !== '' ? { id: call['id'] } : {}),
    name: typeof name === 'string' ? name : '',
    arguments: typeof args === 'string' ? args : (JSON.stringify(args) ?? ''),
  };
}
