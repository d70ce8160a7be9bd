import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { askRules } from '../../src/authority/rules/worker-verdict';
import type { GrantsReader } from '../../src/authority/grants/worker-claim';
import type { ActivityDeps } from '../../src/activities/deps';
import type { Journal } from '../../src/activities/journal';
import { runTool } from '../../src/activities/run-tool';
import { parseApprovers } from '../../src/authority/rules/approvers-file';
import { statementOf, statementText } from '../../src/authority/signatures/statement';
import type { CallInput, CallOutput } from '../../src/contract/call';
import type { GrantShown } from '../../src/authority/grants/grant';
import { digestJson, previewDigests, seenDigestOf } from '../../src/contract/digest';
import type { Preview } from '../../src/contract/plan';
import type { Effect } from '../../src/contract/tool';
import type { HistoryEvent } from '../../src/history/decode/decode';
import { defined } from '../../src/contract/defined';
import { defineTool, inPlace } from '../../src/tools/define-tool';
import { PAY_INPUT } from '../support/calls';
import { newSigner } from '../support/ssh';
import { clientWith, EMPTY_JOURNAL, workerWith } from './fake-worker';

const ARGS = { n: 1 };
const SEEN = seenDigestOf({ argsDigest: digestJson(ARGS) });

const toolOf = (effect: Effect, starts: string[], preview?: () => Preview) =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    safety: 'dangerous',
    effect,
    ...(preview && { preview }),
    handler: (_, { idempotencyKey }) => {
      starts.push(idempotencyKey);
      return 'paid';
    },
  });

type PayTool = ReturnType<typeof toolOf>;

interface Run {
  effect: Effect;
  isPlaced?: boolean;
  preview?: () => Preview;
  /** What the worker has, beside the tool. */
  deps?: (tool: PayTool) => Partial<ActivityDeps>;
  input?: (tool: PayTool) => Partial<CallInput> | Promise<Partial<CallInput>>;
  runId?: string;
  histories?: Record<string, HistoryEvent[]>;
}

const decided = (): Partial<CallInput> => ({
  decision: { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: SEEN },
});

/** How a call ends that a person approved, and whether its handler was started. */
const run = async ({
  effect,
  isPlaced,
  preview,
  deps,
  input = decided,
  runId = 'run-1',
  histories = {},
}: Run) => {
  const starts: string[] = [];
  const own = toolOf(effect, starts, preview);
  const tool = isPlaced === true ? inPlace(own, {}) : own;
  const worker = workerWith({ tools: [tool] }, deps?.(tool));
  const call: CallInput = {
    ...PAY_INPUT,
    ...{ arguments: ARGS, argsDigest: digestJson(ARGS), toolDigest: tool.digest, effect },
    ...(await input(tool)),
  };
  const environment = new MockActivityEnvironment(
    {
      ...{ workflowExecution: { workflowId: 'turn', runId }, namespace: 'default' },
      ...{ startToCloseTimeoutMs: 60_000, heartbeatTimeoutMs: 10_000 },
    },
    { client: clientWith({ histories }), logger: worker.log },
  );
  const output: CallOutput = await environment.run(() => runTool(worker, call));
  return { output, isStarted: starts.length > 0 };
};

const PAID = { output: { result: { success: true, content: 'paid' } }, isStarted: true };

it.each<Effect>(['unsafe', 'idempotent'])('a call that nothing forbids is started: %s', async (effect) => {
  expect(await run({ effect })).toMatchObject(PAID);
});

describe('a call whose preview only binds it to files', () => {
  const PLAN = { path: '.', baseHash: 'b', targetHash: '', encoding: 'utf8' as const, hunks: [] };
  const TARGET = { ...PLAN, targetHash: 't' };
  const OTHER = { ...PLAN, targetHash: 'o' };
  const shown = (preview: Preview) => (): Partial<CallInput> => {
    const { previewDigest, ...rest } = previewDigests(preview);
    const seenDigest = seenDigestOf({ argsDigest: digestJson(ARGS), ...defined({ previewDigest }), ...rest });
    const decision = { decisionId: 'd', decision: 'approved' as const, approver: 'ann', seenDigest };
    return { decision: { ...decision, ...defined({ previewDigest }) }, ...defined({ plan: preview.plan }) };
  };
  const gone = (): Preview => {
    throw new Error('the file is gone');
  };

  it.each<[string, Preview, () => Preview]>([
    ['the preview is the same', { text: 'runs A', plan: PLAN }, () => ({ text: 'runs A', plan: PLAN })],
    ['the plan has a target, whose hunks are shown', { text: 'A', plan: TARGET }, gone],
    ['it has another target now', { text: 'A', plan: TARGET }, () => ({ text: 'B', plan: OTHER })],
    ['there is no plan, and the text may differ', { text: '10 EUR of 20' }, () => ({ text: '10 EUR of 30' })],
  ])('is started if %s', async (_case, before, preview) => {
    for (const effect of ['unsafe', 'idempotent'] as const)
      expect(await run({ effect, preview, input: shown(before) })).toMatchObject(PAID);
  });

  const runsA = { text: 'runs A', plan: PLAN };
  const runsB = (): Preview => ({ text: 'runs B', plan: PLAN });

  it.each<[string, () => Preview, string, Preview]>([
    ['says something else', runsB, 'It is now:\nruns B', runsA],
    ['cannot be made', gone, 'Ask for it anew. the file is gone', runsA],
    [
      'has a target in the input alone, whose hunks hid the text',
      runsB,
      'runs B',
      { text: 'runs B', plan: TARGET },
    ],
    [
      'has a target that the input hid behind a text',
      () => ({ text: 'writes B', plan: TARGET }),
      'writes B',
      { text: 'writes B', plan: PLAN },
    ],
  ])('is not started if the preview %s', async (_case, preview, why, before) => {
    const { output, isStarted } = await run({
      ...{ effect: 'unsafe', preview, input: shown(before) },
    });
    expect(isStarted).toBe(false);
    expect(output).toMatchObject({
      result: { success: false, error: { code: 'conflict', message: expect.stringContaining(why) } },
    });
  });

  it('is not started in a place where its arguments make other bytes of the same file', async () => {
    const call = { effect: 'idempotent' as const, isPlaced: true, input: shown({ text: 'A', plan: TARGET }) };
    expect(await run({ ...call, preview: () => ({ text: 'A', plan: TARGET }) })).toMatchObject(PAID);
    const changed = { ...OTHER, baseHash: 'c' };
    expect(await run({ ...call, preview: () => ({ text: 'A', plan: changed }) })).toMatchObject(PAID);
    const { isStarted } = await run({ ...call, preview: () => ({ text: 'A', plan: OTHER }) });
    expect(isStarted).toBe(false);
  });
});

it('an unsafe call that another attempt on this machine begins at the same time is not started', async () => {
  const journal = { ...EMPTY_JOURNAL, begin: async () => false };
  expect(await run({ effect: 'unsafe', deps: () => ({ journal }) })).toEqual({
    output: { inDoubt: { message: 'another attempt on this machine had started it' } },
    isStarted: false,
  });
});

it.each<[string, Partial<Journal>]>([
  ['cannot be read', { read: () => Promise.reject(new Error('EIO')) }],
  ['failed before and still fails', { fault: async () => 'EIO' }],
  ['takes no intent', { begin: () => Promise.reject(new Error('EIO')) }],
])(
  'an unsafe call on a worker whose journal %s is left to another, with its decision',
  async (_what, broken) => {
    const journal = { ...EMPTY_JOURNAL, ...broken };
    expect(await run({ effect: 'unsafe', deps: () => ({ journal }) })).toEqual({
      output: { notHere: 'the worker that took this cannot use its journal (EIO)' },
      isStarted: false,
    });
    expect(await run({ effect: 'idempotent', deps: () => ({ journal }) })).toMatchObject(PAID);
  },
);

type NoGrant = Exclude<Awaited<ReturnType<GrantsReader['look']>>, GrantShown>;

/** What a reader of grants answers: a refusal for each look, and to the claim. */
interface Answers {
  looks?: (NoGrant | undefined)[];
  claim?: NoGrant;
}

/** Pauses of which each question gets the next answer. */
const pausesOf = (...answers: (string | undefined)[]) => ({ whyHeld: async () => answers.shift() });

it.each<Effect>(['unsafe', 'idempotent'])('a paused call is not started: %s', async (effect) => {
  const deps = () => ({ pauses: pausesOf('ann paused it') });
  expect(await run({ effect, deps })).toEqual({ output: { paused: 'ann paused it' }, isStarted: false });
});

describe('a call by a grant', () => {
  const grantFor = (tool: PayTool): GrantShown => ({
    ...{ id: '00000000-0000-4000-8000-000000000001', agent: 'a', tool: 'pay', toolDigest: tool.digest },
    ...{ ruleDigest: '', policyDigest: '', narrowing: { n: { is: 'range', max: 100 } }, times: 3 },
    ...{ at: '2026-01-01T00:00:00.000Z', until: '9999-01-01T00:00:00.000Z', by: 'ann' },
    takenAt: '2026-01-01T00:00:00.000Z',
  });
  const input = (tool: PayTool) => {
    const { id, by, until, times } = grantFor(tool);
    return { grant: { id, by, until, times } };
  };
  const grantsOf = (tool: PayTool, { looks: [...looks] = [], claim }: Answers): GrantsReader => ({
    list: async () => [],
    look: async () => looks.shift() ?? grantFor(tool),
    claim: async () => claim ?? { use: 1 },
  });
  const REVOKED: NoGrant = { refused: 'it was revoked' };
  const SILENT: NoGrant = { unknown: 'no worker answered' };
  const askAgain = { output: { askAgain: expect.stringContaining('it was revoked') }, isStarted: false };
  const givenBack = { output: { notHere: 'no worker answered' }, isStarted: false };

  it.each<[string, Answers, object]>([
    ['is started', {}, PAID],
    ['goes to a person if the grant was revoked before', { looks: [REVOKED] }, askAgain],
    ['goes to a person if its claim is refused', { claim: REVOKED }, askAgain],
    ['goes to a person if the grant is revoked meanwhile', { looks: [undefined, REVOKED] }, askAgain],
    ['is tried again if the grant cannot be read', { looks: [SILENT] }, givenBack],
    ['is tried again if nobody answers its claim', { claim: SILENT }, givenBack],
    ['is tried again if the last look fails', { looks: [undefined, SILENT] }, givenBack],
  ])('%s', async (_, answers, expected) => {
    const deps = (tool: PayTool) => ({ grants: grantsOf(tool, answers) });
    expect(await run({ effect: 'unsafe', input, deps })).toMatchObject(expected);
  });

  it.each([
    ['before its use is claimed', ['ann paused it']],
    ['while its use is claimed', [undefined, 'ann paused it']],
  ])('is not started if it is paused %s', async (_, answers) => {
    const deps = (tool: PayTool) => ({ grants: grantsOf(tool, {}), pauses: pausesOf(...answers) });
    expect(await run({ effect: 'unsafe', input, deps })).toEqual({
      output: { paused: 'ann paused it' },
      isStarted: false,
    });
  });
});

const event = (eventId: number, more: object = {}): HistoryEvent =>
  temporal.api.history.v1.HistoryEvent.fromObject({ eventId, ...more });
const scheduled = (eventId: number, activityId: string): HistoryEvent =>
  event(eventId, {
    activityTaskScheduledEventAttributes: {
      activityId,
      input: { payloads: [defaultPayloadConverter.toPayload({ callKey: 'key:1.1', generation: 0 })] },
    },
  });
const cause = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;

describe('a call in a run that a reset made', () => {
  const histories = {
    'run-1': [event(1), scheduled(2, 'test')],
    'run-2': [
      event(1),
      event(2, { workflowTaskFailedEventAttributes: { cause, baseRunId: 'run-1' } }),
      event(3, { workflowTaskScheduledEventAttributes: {} }),
      scheduled(4, 'test'),
    ],
  };

  it.each<[Effect, object, object]>([
    ['unsafe', { inDoubt: { message: 'it was scheduled in the run that this one was reset from' } }, PAID],
    ['idempotent', { askAgain: 'decided before the turn was reset', mayHaveRun: true }, PAID],
  ])('is not started twice: %s', async (effect, output, elsewhere) => {
    expect(await run({ effect, histories, runId: 'run-2' })).toEqual({ output, isStarted: false });
    expect(await run({ effect, histories, runId: 'run-1' })).toMatchObject(elsewhere);
  });
});

describe('a call that signatures allow', () => {
  const signer = newSigner('ssh-ed25519');
  const file = parseApprovers(
    `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  ann: { keys: ['${signer.line}'] }
rules:
  - name: default
    then: ask
    approvers: { any: [ann] }
    assurance: signed_ssh
`,
    'approvers.yaml',
  );
  const now = Date.now();
  const times = { at: new Date(now).toISOString(), notAfter: new Date(now + 60_000).toISOString() };
  const approvers = { current: async () => file };
  const input = async (tool: PayTool): Promise<Partial<CallInput>> => {
    const asked = { tool, args: ARGS, requesters: [] };
    const { authority } = await askRules({ agent: 'a', policy: undefined, approvers }, asked);
    const facts = {
      ...{ installation: file.installation, namespace: 'default', workflowId: 'turn' },
      ...{ runId: 'run-1', callKey: 'key:1.1', generation: 0, agent: 'a', tool: 'pay' },
      ...{ toolDigest: tool.digest, seenDigest: SEEN, effectiveDigest: digestJson(ARGS) },
      ...{ ruleDigest: authority?.ruleDigest ?? '', requesters: [] },
    };
    const statement = statementOf(facts, {
      ...{ decisionId: 'd', decision: 'approved', approver: 'ann' },
      ...times,
    });
    if (statement === undefined) throw new Error('nothing to sign');
    const signature = { kind: 'ssh' as const, armored: signer.sign(statementText(statement)), ...times };
    const vote = { voter: 'ann', decision: 'approved' as const, decisionId: 'd', at: times.at };
    return {
      decision: {
        ...{ decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: SEEN },
        votes: [{ ...vote, seenDigest: SEEN, signature }],
      },
    };
  };
  const deps = () => ({ approvers });

  it.each<[string, HistoryEvent[], object]>([
    ['is started', [], PAID],
    [
      'is not started if another activity of its run was scheduled by the same signatures',
      [scheduled(2, 'other')],
      {
        output: { inDoubt: { message: 'it was scheduled before, and nothing proves that it did not start' } },
        isStarted: false,
      },
    ],
  ])('%s', async (_, before, expected) => {
    const histories = { 'run-1': [...before, scheduled(3, 'test')] };
    expect(await run({ effect: 'idempotent', input, deps, histories })).toMatchObject(expected);
  });
});
