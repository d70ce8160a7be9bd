import { join } from 'node:path';
import { z } from 'zod';
import type { ScriptedReply } from '../../lib/models/scripted';

export const QUEUE = 'bench-chaos';

/** The program that every worker starts: it may be killed beside them. */
export const mcpServers = (ledger: string) => ({
  ledger: { command: process.execPath, args: [join(__dirname, 'mcp-ledger.cjs'), ledger] },
});

const Call = z.object({ name: z.string(), arguments: z.record(z.string(), z.string()) });
const Script = z.array(z.object({ toolCalls: z.array(Call) }));

/** What a prompt asks for, step by step. Undefined for other words. */
export function readScript(prompt: string): ScriptedReply[] | undefined {
  if (!prompt.startsWith('[{')) return undefined;
  const read = Script.safeParse(JSON.parse(prompt));
  return read.success ? read.data : undefined;
}

const TOOLS = ['look', 'put', 'note', 'pay', 'transfer', 'ledger__act'] as const;

const any = <T>(list: readonly [T, ...T[]]): T => list[Math.floor(Math.random() * list.length)] ?? list[0];

/** One or two steps of a few calls, each with a tag of its own; now and then a child turn that does as much. */
export function drawScript(tagOf: () => string, depth = 0): string {
  const call = (): z.infer<typeof Call> => {
    if (depth === 0 && Math.random() < 0.12)
      return { name: 'delegate', arguments: { task: drawScript(tagOf, 1) } };
    return { name: any(TOOLS), arguments: { tag: tagOf() } };
  };
  const few = <T>(make: () => T, most: number): T[] =>
    Array.from({ length: 1 + Math.floor(Math.random() * most) }, make);
  return JSON.stringify(few(() => ({ toolCalls: few(call, 3) }), 2));
}
