import { CancelledFailure, defaultPayloadConverter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { gateInterceptor } from '../../../src/activities/gate/gated-call';
import type { GateTarget } from '../../../src/activities/gate/gated-tools';
import type { Journal } from '../../../src/activities/journal';
import { digestJson, seenDigestOf } from '../../../src/contract/digest';
import { GATE_HEADER } from '../../../src/contract/gate';
import type { Effect } from '../../../src/contract/tool';
import { defineTool } from '../../../src/tools/define-tool';
import type { Tool } from '../../../src/tools/types';
import { clientWith, EMPTY_JOURNAL, plainOf, workerWith } from '../fake-worker';

const ARGS = { cents: 1 };
const argsDigest = digestJson(ARGS);
const refundWith = (effect: Effect): Tool =>
  defineTool({
    name: 'refund',
    description: 'Pays back.',
    parameters: { type: 'object', properties: { cents: { type: 'number' } } },
    safety: 'dangerous',
    effect,
    handler: () => undefined,
  });

interface Attempt {
  /** The code of the activity. */
  run: () => Promise<unknown>;
  journal?: Partial<Journal>;
  timeoutMs?: number;
  /** The workflow has cancelled it before it begins. */
  cancel?: boolean;
  effect?: Effect;
}

/** One attempt of an activity that a person allowed. */
async function attempt({
  run,
  journal,
  timeoutMs = 60_000,
  cancel = false,
  effect = 'unsafe',
}: Attempt): Promise<unknown> {
  const tool = refundWith(effect);
  const gated = new Map<string, GateTarget>([
    ['refund', { caller: 'code', toolFor: () => tool, hasSchema: true }],
  ]);
  const deps = workerWith({ tools: [tool] }, { journal: { ...EMPTY_JOURNAL, ...journal } });
  const decision = { decisionId: 'd', decision: 'approved', approver: 'ann' };
  const header = {
    ...{ callId: '1.1', id: '1.1', tool: 'refund', agent: 'pays', callKey: 'k:1.1', generation: 0 },
    ...{ argsDigest, toolDigest: tool.digest, effect, timeoutMs, originalRunId: 'run-1' },
    ...{ secret: 's', gated: 'refund', decision: { ...decision, seenDigest: seenDigestOf({ argsDigest }) } },
  };
  const environment = new MockActivityEnvironment(
    {
      ...{ activityType: 'refund', workflowType: 'pays', inWorkflow: true, isLocal: false },
      ...{ workflowExecution: { workflowId: 'w', runId: 'run-1' }, namespace: 'default' },
      ...{ startToCloseTimeoutMs: timeoutMs, heartbeatTimeoutMs: 0 },
    },
    { client: clientWith({}), logger: deps.log },
  );
  return environment.run(async () => {
    if (cancel) environment.cancel('CANCELLED');
    const { inbound } = gateInterceptor({ deps, gated })(environment.context);
    const headers = { [GATE_HEADER]: defaultPayloadConverter.toPayload(header) };
    return inbound?.execute?.({ args: [ARGS], headers }, run);
  });
}

it('an allowed call runs, and its value is what the activity returned', async () => {
  expect(await attempt({ run: async () => 'paid' })).toBe('paid');
});

it.each<[string, () => unknown]>([
  ['no JSON can hold', () => ({ cents: 1n })],
  [
    'refers to itself',
    () => {
      const value: Record<string, unknown> = {};
      value['self'] = value;
      return value;
    },
  ],
])(
  'a value that %s is given to the converter of the worker, and the call did not fail here',
  async (_, make) => {
    const value = make();
    expect(await attempt({ run: async () => value })).toBe(value);
  },
);

const late: Partial<Journal> = {
  begin: async () => {
    await new Promise((resolve) => setTimeout(resolve, 150));
    return true;
  },
};

it.each<[string, Partial<Attempt>, string]>([
  ['time was over', { journal: late, timeoutMs: 100 }, 'transport'],
  ['workflow cancelled it', { cancel: true }, 'cancelled'],
])('a call whose %s before it began does not start, and says so', async (_, how, code) => {
  const run = jest.fn();
  const ended: unknown[] = [];
  const journal = { ...how.journal, end: async (_key: string, result: unknown) => void ended.push(result) };
  const said = await attempt({ ...how, journal, run });
  expect(run).not.toHaveBeenCalled();
  const result = { success: false, error: { code, message: expect.stringContaining('Nothing ran.') } };
  expect(plainOf(said)).toMatchObject({ secret: 's', result });
  expect(ended).toMatchObject([result]);
});

it.each(['pure', 'idempotent'] as const)(
  'a %s call that was cancelled before it began does not start',
  async (effect) => {
    const run = jest.fn();
    await expect(attempt({ run, effect, cancel: true })).rejects.toBeInstanceOf(CancelledFailure);
    expect(run).not.toHaveBeenCalled();
  },
);
