import type { JsonObject } from '../../../src/contract/json';
import type { ModelMessage, ModelRequest } from '../../../src/models/model';
import { offlineModel } from '../../../src/models/offline/offline-model';

export const ALL_TOOLS = [
  'read_file',
  'list_directory',
  'directory_tree',
  'get_file_info',
  'search_files',
  'write_file',
  'edit_file',
  'create_file',
  'insert_at_line',
  'move_file',
  'delete_file',
  'propose_file_edit',
  'run_command',
  'describe_symbol',
  'eval_form',
];

export type Call = [tool: string, args: JsonObject];

export interface Talk {
  /** The calls of each step. */
  steps: Call[][];
  answer: string;
}

/** Asks one model after another, each a new one, until there is an answer; `execute` gives each call's result. */
export async function talk(
  words: string,
  execute: (tool: string, args: JsonObject) => string,
  tools: readonly string[] = ALL_TOOLS,
): Promise<Talk> {
  const messages: ModelMessage[] = [{ role: 'user', content: words }];
  const steps: Call[][] = [];
  for (;;) {
    const reply = await offlineModel().generate(requestOf(messages, tools));
    if (reply.toolCalls.length === 0) return { steps, answer: reply.text };
    if (steps.length > 30) throw new Error('it does not end');
    const calls = reply.toolCalls.map(({ name, arguments: raw }): Call => [
      name,
      JSON.parse(raw) as JsonObject,
    ]);
    steps.push(calls);
    messages.push({ role: 'assistant', content: reply.text, toolCalls: reply.toolCalls });
    for (const [index, [tool, args]] of calls.entries()) {
      const toolCallId = reply.toolCalls[index]?.id ?? '';
      messages.push({ role: 'tool', toolCallId, toolName: tool, content: execute(tool, args) });
    }
  }
}

export function requestOf(messages: ModelMessage[], tools: readonly string[] = ALL_TOOLS): ModelRequest {
  return {
    instructions: '',
    messages,
    tools: tools.map((name) => ({
      type: 'function',
      function: { name, description: name, parameters: { type: 'object' } },
    })),
    signal: new AbortController().signal,
  };
}

/** The calls of the first step. */
export async function firstStep(words: string, tools: readonly string[] = ALL_TOOLS): Promise<Call[]> {
  const reply = await offlineModel().generate(requestOf([{ role: 'user', content: words }], tools));
  return reply.toolCalls.map(({ name, arguments: raw }) => [name, JSON.parse(raw) as JsonObject]);
}
