import { randomUUID } from 'node:crypto';
import type { Model, ModelRequest } from '../../src/models/model';
import { scriptedModel, type ScriptedReply, type ScriptedStep } from '../../src/models/scripted';

/** A model that follows one script a prompt, so that the tests of a file can share a worker. */
export interface ScriptBook {
  model: Model;
  /** Adds a script and returns the prompt that starts it. */
  add(...steps: ScriptedStep[]): string;
}

/** An empty book. */
export function scriptBook(): ScriptBook {
  const scripts = new Map<string, Model>();
  return {
    model: {
      id: 'book',
      generate: (request) => {
        const script = scripts.get(request.messages[0]?.content ?? '');
        if (script === undefined) throw new Error('no script for this prompt');
        return script.generate(request);
      },
    },
    add: (...steps) => {
      const prompt = `follow ${randomUUID()}`;
      scripts.set(prompt, scriptedModel(steps));
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
