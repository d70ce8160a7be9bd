import { defineAgent, defineTool, openaiCompatible } from 'countersign';
import { z } from 'zod';
import { openMemory } from './memory';
import { clerkScript } from './script';

const {
  MODEL,
  MODEL_URL = 'https://api.openai.com/v1',
  DATABASE_URL = 'postgres://localhost/countersign',
} = process.env;

const memory = openMemory(DATABASE_URL);

/** Whose memory it is. Without a name there is nobody to remember. */
const personOf = (requester: string | undefined): string => {
  if (requester === undefined) throw new Error('the turn was started without a requester');
  return requester;
};

const oneFact = z.object({ fact: z.string().min(1).max(500).describe('One sentence') });

/** Cautious: it runs without asking. Idempotent: a fact is kept once, so a lost attempt may run again. */
const remember = defineTool({
  name: 'remember',
  description: 'Keeps one fact about the person who asks, for later conversations.',
  parameters: oneFact,
  safety: 'cautious',
  effect: 'idempotent',
  handler: async ({ fact }, { requester }) => {
    await memory.keep(personOf(requester), fact);
    return 'I will remember it.';
  },
});

/** Dangerous: what is forgotten does not come back, so a person decides. */
const forget = defineTool({
  name: 'forget',
  description: 'Deletes one fact about the person who asks. Give it word for word.',
  parameters: oneFact,
  safety: 'dangerous',
  effect: 'idempotent',
  preview: ({ fact }, { requester }) => `No later conversation of ${personOf(requester)} will know: ${fact}`,
  handler: async ({ fact }, { requester }) =>
    (await memory.forget(personOf(requester), fact)) ? 'I forgot it.' : 'I did not know it.',
});

export default defineAgent({
  name: 'clerk',
  instructions: 'You help one person. Keep what you will need again with remember.',
  model: MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : clerkScript,
  tools: [remember, forget],
  // Asked once a turn; what it says is recorded with the first reply.
  context: async ({ requester }) => {
    const facts = requester === undefined ? [] : await memory.factsOf(requester);
    return facts.map((fact) => `- ${fact}`).join('\n');
  },
});
