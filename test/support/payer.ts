import { defineAgent } from '../../src/tools/define-agent';
import type { Tool } from '../../src/tools/types';
import { useAgent, type AgentBench } from './agent-bench';
import { recordTool, type Effects } from './effects';
import type { ScriptBook } from './script-book';
import { startBench, type TestBench, type TurnHandle } from './worker';

/** An agent that can only pay. */
export interface Payer extends AgentBench {
  /** A turn that waits with one request, 1.1. */
  waiting(tag: string): Promise<TurnHandle>;
}

/** One with a worker, for the test file that calls this. */
export function usePayer(): Payer {
  const agent = useAgent('payer', payTools);
  return {
    ...agent,
    waiting: (tag) => agent.start([{ toolCalls: [{ name: 'pay', arguments: { tag } }] }]),
  };
}

/** One on a queue of its own with no worker yet; workers come and go as the test says. */
export function startLonePayer(effects: Effects, { model }: Pick<ScriptBook, 'model'>): Promise<TestBench> {
  const tools = payTools(effects);
  return startBench({
    workers: 0,
    agents: [defineAgent({ name: 'payer', instructions: 'do', model, tools })],
  });
}

function payTools(effects: Effects): Tool[] {
  return [recordTool(effects, { name: 'pay', safety: 'dangerous' })];
}
