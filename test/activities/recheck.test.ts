import { DefaultLogger } from '@temporalio/worker';
import { z } from 'zod';
import { recheck } from '../../src/activities/recheck';
import type { CallInput } from '../../src/contract/call';
import { digestJson } from '../../src/contract/digest';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import type { Policy } from '../../src/tools/types';

const tool = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ amount: z.number().refine((n) => n !== 13, 'not thirteen') }),
  safety: 'dangerous',
  handler: () => '',
});

const input = (change: Partial<CallInput> = {}): CallInput => {
  const args = change.arguments ?? { amount: 1 };
  return {
    callId: '1.1',
    id: 'm',
    tool: 'pay',
    agent: 'a',
    callKey: 'k:1.1',
    generation: 0,
    arguments: args,
    argsDigest: digestJson(args),
    toolDigest: tool.digest,
    effect: 'unsafe',
    timeoutMs: 1000,
    decision: { decisionId: 'd', decision: 'approved', approver: 'ann' },
    originalRunId: 'r',
    ...change,
  };
};

const check = (one: CallInput, policy?: Policy) =>
  recheck(
    {
      tool,
      log: new DefaultLogger('ERROR'),
      agent: defineAgent({
        name: 'a',
        instructions: 'x',
        model: scriptedModel([]),
        tools: [tool],
        ...(policy && { policy }),
      }),
    },
    one,
  );

it('lets through what was approved', async () => {
  expect(await check(input())).toEqual({ ok: true, value: { amount: 1 } });
});

const undecided = (): CallInput => {
  const { decision: _, ...rest } = input();
  return rest;
};

it.each<[string, CallInput, Policy | undefined, string]>([
  ['a tool that changed', input({ toolDigest: 'other' }), undefined, 'refused'],
  ['arguments that are not those approved', input({ argsDigest: 'other' }), undefined, 'refused'],
  ['no decision', undecided(), undefined, 'refused'],
  ['arguments that do not fit a refinement', input({ arguments: { amount: 13 } }), undefined, 'validation'],
  ['a policy that says no by now', input(), () => 'refuse', 'refused'],
  ['an effect in a dry world', input({ dry: true }), undefined, 'refused'],
  ['an effect in a dry world, undecided', { ...undecided(), dry: true }, undefined, 'refused'],
  ['a policy that throws', input(), () => Promise.reject(new Error('down')), 'refused'],
])('stops %s', async (_, one, policy, code) => {
  expect(await check(one, policy)).toMatchObject({ ok: false, failure: { code } });
});
