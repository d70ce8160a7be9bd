import { z } from 'zod';
import { asApproved, noteRules } from '../../../src/activities/start-checks/as-approved';
import { allowedOf, startingCall } from '../../../src/activities/start-checks/starting-call';
import type { CallInput } from '../../../src/contract/call';
import { digestJson, previewDigests, seenDigestOf } from '../../../src/contract/digest';
import type { JsonObject } from '../../../src/contract/json';
import { defineTool } from '../../../src/tools/define-tool';
import type { Policy } from '../../../src/tools/types';
import { PAY_INPUT, PLAN } from '../../support/calls';
import { workerWith } from '../fake-worker';

describe('the last look before the handler', () => {
  const tool = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({
      amount: z.number().refine((n) => n !== 13, 'not thirteen'),
      tip: z.union([z.object({ cents: z.number().default(100_000) }), z.null()]).optional(),
    }),
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
      decision: approvedAs({ argsDigest: digestJson(args) }),
      originalRunId: 'r',
      ...change,
    };
  };

  const approvedAs = (shown: Parameters<typeof seenDigestOf>[0]): NonNullable<CallInput['decision']> => {
    const { previewDigest } = shown;
    const seen = { seenDigest: seenDigestOf(shown), ...(previewDigest !== undefined && { previewDigest }) };
    return { decisionId: 'd', decision: 'approved', approver: 'ann', ...seen };
  };

  /** Approved with a preview and its plan. */
  const planned = (change: Partial<CallInput> = {}): CallInput => {
    const shown = { argsDigest: digestJson({ amount: 1 }), ...previewDigests({ text: 'diff', plan: PLAN }) };
    return input({ decision: approvedAs(shown), plan: PLAN, ...change });
  };

  const check = async (one: CallInput, policy?: Policy) => {
    const worker = workerWith({ tools: [tool], policy });
    const call = startingCall(worker, one);
    await noteRules(call, worker);
    return call.asked;
  };

  it.each([
    ['arguments', input()],
    ['a preview and its plan', planned()],
  ])('lets through what was approved: %s', async (_, one) => {
    expect(await check(one)).toEqual({ value: { amount: 1 }, isSigned: false });
  });

  const otherPlan = { ...PLAN, hunks: PLAN.hunks.map((hunk) => ({ ...hunk, lines: ['-a', '+EVIL'] })) };
  const { plan: _plan, ...planless } = planned();

  /** Both digests of the arguments agree, but they are not those of the decision. */
  const seenBefore = (args: JsonObject): CallInput =>
    input({ arguments: args, decision: approvedAs({ argsDigest: digestJson({ amount: 1 }) }) });

  it('stops what the tool fills in and nobody was shown, and lets it through where it was shown', async () => {
    expect(await check(input({ arguments: { amount: 1, tip: {} } }))).toEqual({
      failure: {
        code: 'refused',
        message:
          'Refused before it ran: the tool fills in /tip/cents, which nobody was shown; give it with the arguments.',
      },
    });
    const args = { amount: 1, tip: { cents: 1 } };
    expect(await check(input({ arguments: args }))).toEqual({ value: args, isSigned: false });
  });

  const undecided = (): CallInput => {
    const { decision: _, ...rest } = input();
    return rest;
  };

  it('says which arguments were changed: those of the call, before what the approver saw', async () => {
    const message = 'Refused before it ran: the arguments are not those that were approved.';
    expect(await check(input({ argsDigest: 'other' }))).toEqual({ failure: { code: 'refused', message } });
  });

  it.each<[string, CallInput, Policy | undefined, string]>([
    ['a tool that changed', input({ toolDigest: 'other' }), undefined, 'refused'],
    ['a call that was prepared with another effect', input({ effect: 'pure' }), undefined, 'refused'],
    ['arguments that are not those approved', input({ argsDigest: 'other' }), undefined, 'refused'],
    ['arguments that were never shown', seenBefore({ amount: 2 }), undefined, 'refused'],
    ['another plan than the one shown', planned({ plan: otherPlan }), undefined, 'refused'],
    ['no plan where one was shown', planless, undefined, 'refused'],
    ['a plan where none was shown', input({ plan: PLAN }), undefined, 'refused'],
    ['no decision', undecided(), undefined, 'refused'],
    ['arguments that do not fit a refinement', input({ arguments: { amount: 13 } }), undefined, 'validation'],
    ['a policy that says no by now', input(), () => 'refuse', 'refused'],
    ['an effect in a dry world', input({ dry: true }), undefined, 'refused'],
    ['an effect in a dry world, undecided', { ...undecided(), dry: true }, undefined, 'refused'],
    ['a policy that throws', input(), () => Promise.reject(new Error('down')), 'refused'],
  ])('stops %s', async (_, one, policy, code) => {
    expect(await check(one, policy)).toMatchObject({ failure: { code } });
  });
});

it('lets no check count on what the rules allow before they have allowed it', async () => {
  const handler = (): string => '';
  const other = defineTool({
    name: 'other',
    description: 'x',
    safety: 'safe',
    parameters: { type: 'object' },
    handler,
  });
  const call = startingCall(workerWith({ tools: [other] }), PAY_INPUT);
  expect(() => allowedOf(call)).toThrow('the rules have not allowed this call');
  expect(await asApproved(call)).toEqual({ lack: expect.stringContaining('no worker with') });
  expect(() => allowedOf({ ...call, asked: { lack: 'x' } })).toThrow('the rules have not allowed this call');
});
