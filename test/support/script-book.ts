import { randomUUID } from 'node:crypto';
import type { Model, ModelRequest } from '../../src/models/model';
import { scriptedModel, type ScriptedReply, type ScriptedStep } from '../../src/models/scripted';

/** A model that follows one script a prompt, so that the tests of a file can share a worker. */
export interface ScriptBook {
  model: Model;
  /** Adds a script and returns the prompt that starts it. */
  add(...steps: ScriptedStep[]): string;
}

/** An empty book. In a session the last message that begins a script counts, and the replies after it. */
export function scriptBook(): ScriptBook {
  const scripts = new Map<string, readonly ScriptedStep[]>();
  return {
    model: {
      id: 'book',
      generate: (request) => {
        const { messages } = request;
        const at = messages.findLastIndex(({ role, content }) => role === 'user' && scripts.has(content));
        const steps = scripts.get(messages[at]?.content ?? '');
        if (steps === undefined) throw new Error('no script for this prompt');
        const ofAll = steps.map((step) => (typeof step === 'function' ? () => step(request) : step));
        return scriptedModel(ofAll).generate({ ...request, messages: messages.slice(at) });
      },
    },
    add: (...steps) => {
      const prompt = `follow ${randomUUID()}`;
      scripts.set(prompt, steps);
      return prompt;
    },
  };
}

/** What the tools of a conversation answered, in order. */
export function toolTexts({ messages }: Pick<ModelRequest, 'messages'>): string[] {
  return messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}

/** A last step that answers with everything the tools said. */
export const readBack = (request: ModelRequest): ScriptedReply => ({ text: toolTexts(request).join(' | ') });
