import { defineAgent, defineTool, scriptedModel, type Agent } from '../../lib/index';

/** Most turns are of this agent, a tenth of the other, which has a tool of its own. */
export const USUAL = { agent: 'usual', tool: 'pay' } as const;
export const RARE = { agent: 'rare', tool: 'refund' } as const;

/** Seconds between two times after which requests expire: so far apart are the deadlines of those that expire at once. */
export const SLICE_S = 5;
const LONGEST_S = 1200;

/** The name of the agent whose requests expire after so long. */
export function expiringAgent(seconds: number): string {
  return `expiring-${seconds}`;
}

/** How long a request may live that expires at some time, in seconds; undefined where that is too far away, or past. */
export function lifeUntil(ms: number): number | undefined {
  const seconds = Math.ceil(ms / 1000 / SLICE_S) * SLICE_S;
  return seconds >= SLICE_S && seconds <= LONGEST_S ? seconds : undefined;
}

/** Every agent of the bench. `ledger`: where a call says that it had its effect. */
export function agentsOf(ledger: string): Agent[] {
  const lives = Array.from({ length: LONGEST_S / SLICE_S }, (_, index) => (index + 1) * SLICE_S);
  return [
    asking(USUAL, ledger),
    asking(RARE, ledger),
    ...lives.map((seconds) => asking({ agent: expiringAgent(seconds), tool: 'expire', seconds }, ledger)),
  ];
}

/** An agent that makes one call a person decides about, and answers. */
function asking(
  { agent, tool, seconds }: { agent: string; tool: string; seconds?: number },
  ledger: string,
): Agent {
  const go = defineTool({
    name: tool,
    description: 'Writes a key into the ledger.',
    parameters: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] },
    safety: 'dangerous',
    effect: 'idempotent',
    ...(seconds === undefined ? {} : { requestExpires: `${seconds}s` }),
    handler: async ({ key }, { idempotencyKey }) => {
      await fetch(ledger, { method: 'POST', body: `${String(key)} ${idempotencyKey}` });
      return 'done';
    },
  });
  const model = scriptedModel([
    ({ messages: [first] }) => {
      const key = first?.role === 'user' ? first.content : '';
      return { toolCalls: [{ name: tool, arguments: { key } }] };
    },
    { text: 'done' },
  ]);
  return defineAgent({ name: agent, instructions: 'Do it.', model, tools: [go] });
}
