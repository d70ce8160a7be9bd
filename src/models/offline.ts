import type { Model, ModelCall, ModelReply } from './model';
import { sinceLastWords } from './offline/outcome';
import type { PlannedCall } from './offline/plan';
import { nextStep } from './offline/work';

/**
 * A planner of fixed rules for the workspace pack; it says in every answer that it is no language model.
 * It understands plain requests (list, read, search, replace, create, write, insert, delete, move, run), several of them
 * joined by "then" or on lines of their own. It needs no key and no network, and the same conversation always gives the
 * same step: everything is worked out anew from the person's last words and the results since.
 * It asks only for tools that the agent has, and for nothing at all where it does not understand every request.
 *
 * @param options.id Shown in the timeline. @default 'offline'
 */
export function offlineModel(options: { id?: string } = {}): Model {
  return {
    id: options.id ?? 'offline',
    async generate({ messages, tools, signal }) {
      signal.throwIfAborted();
      const { words, rounds } = sinceLastWords(messages);
      const step = nextStep(words, rounds, new Set(tools.map((tool) => tool.function.name)));
      return 'answer' in step ? toAnswer(step.answer) : toReply(step.calls, rounds.length + 1);
    },
  };
}

function toAnswer(text: string): ModelReply {
  return { text, toolCalls: [], finishReason: 'stop' };
}

function toReply(calls: readonly PlannedCall[], step: number): ModelReply {
  const toolCalls = calls.map((call, index): ModelCall => {
    return { id: `offline_${step}_${index + 1}`, name: call.tool, arguments: JSON.stringify(call.arguments) };
  });
  return { text: '', toolCalls, finishReason: 'tool-calls' };
}
