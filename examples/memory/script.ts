import { scriptedModel, type ModelRequest } from 'countersign';

const lastOf = ({ messages }: ModelRequest, role: 'user' | 'tool'): string =>
  messages.findLast((message) => message.role === role)?.content ?? '';

/** What stands between the line that says what the context is and the end of the instructions. */
const known = ({ instructions }: ModelRequest): string[] =>
  instructions.split('\n').filter((line) => line.startsWith('- '));

/** Takes the place of a language model: it understands `remember that …`, `forget that …`, and answers anything else with what it knows. */
export const clerkScript = scriptedModel(
  [
    (request) => {
      const [, verb, fact] = /^(remember|forget) that (.+)$/s.exec(lastOf(request, 'user')) ?? [];
      if (verb !== undefined && fact !== undefined)
        return { toolCalls: [{ name: verb, arguments: { fact } }] };
      const facts = known(request);
      if (facts.length === 0) return { text: 'I know nothing about you.' };
      return { text: `I know about you:\n${facts.join('\n')}` };
    },
    (request) => ({ text: lastOf(request, 'tool') }),
  ],
  { id: 'clerk-script' },
);
