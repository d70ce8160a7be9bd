import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, type Effects } from './effects';
import type { scriptBook } from './script-book';
import { startBench, type TestBench } from './worker';

/** A queue of its own with no worker yet, for an agent that can only pay; workers come and go as the test says. */
export function startLonePayer(
  effects: Effects,
  { model }: Pick<ReturnType<typeof scriptBook>, 'model'>,
): Promise<TestBench> {
  const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous' })];
  return startBench({
    workers: 0,
    agents: [defineAgent({ name: 'payer', instructions: 'do', model, tools })],
  });
}
