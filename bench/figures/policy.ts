import { parsePolicy } from '../../lib/authority/rules/policy-file';
import { createComparison } from '../../lib/cli/policy-test/compare';
import type { PastCall } from '../../lib/cli/policy-test/past';
import { offlineModel } from '../../lib/models/offline';
import { defineAgent } from '../../lib/tools/define-agent';
import { defineTool } from '../../lib/tools/define-tool';
import { absolute, median, timed, type Measurement } from '../figure';

const ROUNDS = 9;
const CALLS = 5_000;
const RULES = 50;
const MS_PER_S = 1_000;

/** How many past calls `policy test` holds against a policy in a second, once their histories are read. */
export const policy: Measurement = {
  name: 'policy',
  async run(bench) {
    const rules = parsePolicy(policyText(), 'policy.yaml');
    const calls = Array.from({ length: CALLS }, (_, n) => pastCall(n));
    const round = async (): Promise<void> => {
      const comparison = createComparison({ agents, rules, approvers: undefined });
      for (const call of calls) await comparison.add(call);
      const { same, otherwise } = comparison.test({ turns: CALLS, forks: 0 });
      if (same + otherwise.length !== CALLS) throw new Error('calls were left out');
    };
    await round();
    bench.say(`${CALLS} past calls against ${RULES} rules`);
    const samples: number[] = [];
    for (let at = 0; at < ROUNDS; at++) samples.push(await timed(round));
    const each = (CALLS * MS_PER_S) / median(samples);
    return [absolute('policy test, calls already read', each, { least: 5_000, unit: 'calls/s' })];
  },
};

const refund = defineTool({
  name: 'refund_order',
  description: 'Refunds an order.',
  parameters: {
    type: 'object',
    properties: { order: { type: 'string' }, cents: { type: 'integer' }, reason: { type: 'string' } },
    required: ['order', 'cents'],
    additionalProperties: false,
  },
  safety: 'dangerous',
  handler: () => 'refunded',
});
const agents = [defineAgent({ name: 'clerk', instructions: 'x', model: offlineModel(), tools: [refund] })];

/** Each rule is about the tool, and most do not fit, so all of them are looked at. */
function policyText(): string {
  const rules = Array.from({ length: RULES }, (_, n) => ({
    name: `rule ${n}`,
    tools: ['refund_order'],
    when: `args.cents > ${100_000 - n} && args.order.matches("^A[0-9]+$")`,
    then: 'refuse',
  }));
  return JSON.stringify({ rules });
}

function pastCall(n: number): PastCall {
  return {
    ...{
      turn: `turn-${n}`,
      callId: '1.1',
      agent: 'clerk',
      tool: 'refund_order',
      was: 'ask',
      outcome: 'done',
    },
    args: { order: `A${n}`, cents: (n * 37) % 110_000, reason: 'broken on arrival' },
  };
}
