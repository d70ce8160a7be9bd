import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import {
  bundleWorkflowCode,
  DefaultLogger,
  Runtime,
  Worker,
  type InjectedSinks,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { DeterminismViolationError, type WorkflowInfo } from '@temporalio/workflow';
import { makeDecode } from '../src/history/decode/decode';
import { foldEvent } from '../src/history/fold/fold';
import { makeState } from '../src/history/fold/state';
import { createView } from '../src/history/view';
import { type CallState, leaveOf, resultOf } from '../src/lifecycle/state';
import { bundleWorkflows } from '../src/worker/bundle-workflows';
import type { HeldCalls } from './fixtures/held-calls';
import { ensureBuilt, lib } from './support/build';

const folder = join(__dirname, 'histories');
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));

const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

const replay = (
  json: string,
  workflowBundle: WorkflowBundleOption = { codePath: lib('workflow-bundle.js') },
  sinks?: InjectedSinks<HeldCalls>,
): Promise<void> => {
  const history = historyFromJSON(JSON.parse(json));
  // The ids of child turns begin with that of their turn.
  const turn = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? 'turn';
  return Worker.runReplayHistory({ workflowBundle, sinks }, history, turn);
};

/** What a workflow task cannot bring about. */
const OUTSIDE: readonly string[] = [
  ...['activity_started', 'activity_completed', 'activity_failed', 'activity_canceled'],
  ...['signaled', 'task_scheduled', 'task_started', 'child_started', 'child_ended'],
];

beforeAll(() => {
  ensureBuilt();
  Runtime.install({ logger: new DefaultLogger('ERROR') });
});

it('has one of each kind of turn', () => {
  const kinds = new Set(files.map((name) => name.replace(/\.json$/, '')));
  expect(kinds).toEqual(
    new Set([
      'plain',
      'child',
      'gate',
      'granted',
      'approved',
      'edited',
      'denied',
      'expired',
      'in-doubt',
      'cancelled',
      'reset',
      'forked',
      'continuing',
      'continued',
      'many',
      'replanned',
      'expired-cancelled',
      'lost',
      'late',
      'abandoned',
      'terminated',
      'step-limit',
      'failed',
      'reapplied',
      'asked',
      'stateful',
      'state-lost',
      // Two things in one workflow task: the order of what follows is what a replay may get wrong.
      'ended-cancelled',
      'ended-denied',
      'ended-approved-twice',
      'ended-approved-cancelled',
      'refused-ended',
      'two-ended-cancelled',
      'lane-cancelled',
      'prepared-cancelled',
      'void-cancelled',
    ]),
  );
});

it.each(files)('%s replays', async (file) => {
  await expect(replay(read(file))).resolves.toBeUndefined();
});

/** What a call has, in the workflow and in the fold of its history. */
const factsOf = (state: CallState): object => ({
  ...{ callId: state.call.callId, phase: state.phase, generation: state.generation },
  ...{ effective: state.effective, note: state.note, votes: state.votes.map(({ voter }) => voter) },
  leave: leaveOf(state)?.by,
  failure: resultOf(state)?.error?.code,
});

describe('after each workflow task, the fold has the calls that the workflow holds:', () => {
  let bundle: WorkflowBundleOption;
  beforeAll(async () => {
    const workflowInterceptorModules = [require.resolve('./fixtures/held-calls')];
    bundle = await bundleWorkflows({ workflowInterceptorModules, logger: new DefaultLogger('ERROR') });
  });

  it.each(files)('%s', async (file) => {
    const held = new Map<number, CallState[]>();
    const fn = ({ historyLength }: WorkflowInfo, calls: CallState[]): void =>
      void held.set(historyLength, calls);
    await replay(read(file), bundle, { calls: { held: { fn, callDuringReplay: true } } });
    const state = makeState();
    const live = createView();
    const decode = makeDecode();
    // A task that failed is not replayed.
    let then: CallState[] | undefined;
    for (const event of historyFromJSON(JSON.parse(read(file))).events ?? []) {
      const decoded = await decode(event);
      if (then !== undefined && OUTSIDE.includes(decoded.kind)) {
        // The fold also has calls that the workflow has not opened yet, or that wait for more budget.
        const now = then.map(({ call }) => state.approvals.calls.get(call.callId));
        expect(now.map((one) => one && factsOf(one))).toEqual(then.map(factsOf));
        // The page has the same phases.
        const shown = live.current().calls;
        const phases = then.map(({ call }) => shown.find(({ callId }) => callId === call.callId)?.phase);
        expect(phases).toEqual(then.map(({ phase }) => phase));
        then = undefined;
      }
      for (const told of foldEvent(state, decoded)) live.push(told);
      if (decoded.kind === 'task_started') then = held.get(decoded.eventId);
    }
    expect(held.size).toBeGreaterThan(1);
  });
});

it.each(['session', 'steered'])('%s replays, of a conversation', async (name) => {
  const json = readFileSync(join(__dirname, 'session-histories', `${name}.json`), 'utf8');
  const history = historyFromJSON(JSON.parse(json));
  const options = { workflowBundle: { codePath: lib('workflow-bundle.js') } };
  // A session names its turns after itself.
  await expect(Worker.runReplayHistory(options, history, 'session-1')).resolves.toBeUndefined();
});

it.each(['paused', 'resumed', 'grant'])('%s replays, of what holds pauses and grants', async (name) => {
  await expect(replayControl(name)).resolves.toBeUndefined();
});

const replayControl = (name: string, bundle?: WorkflowBundleOption): Promise<void> => {
  const json = readFileSync(join(__dirname, 'control-histories', `${name}.json`), 'utf8');
  return replay(json, bundle);
};

it.each([
  ['another tool', (json: string) => json.replaceAll('"name": "pay"', '"name": "give"')],
  [
    'a timer that nobody set',
    (json: string) => json.replaceAll('EVENT_TYPE_ACTIVITY_TASK_SCHEDULED', 'EVENT_TYPE_TIMER_STARTED'),
  ],
])('a history with %s does not', async (_, change) => {
  const original = read('approved.json');
  const changed = change(original);
  expect(changed).not.toBe(original);
  await expect(replay(changed)).rejects.toThrow();
});

it('says that the code does not match', async () => {
  const changed = read('approved.json').replaceAll('"name": "pay"', '"name": "give"');
  await expect(replay(changed)).rejects.toThrow(DeterminismViolationError);
});

describe('a change to the workflow', () => {
  const bundleOf = (name: string): Promise<WorkflowBundleOption> =>
    bundleWorkflowCode({
      workflowsPath: join(__dirname, 'fixtures', name),
      logger: new DefaultLogger('ERROR'),
    });

  it('replays turns from before behind patched()', async () => {
    await expect(replay(read('approved.json'), await bundleOf('patched-turn.ts'))).resolves.toBeUndefined();
  });

  it('with one more command does not replay what holds pauses', async () => {
    const replayed = replayControl('paused', await bundleOf('changed-control.ts'));
    await expect(replayed).rejects.toThrow(DeterminismViolationError);
  });

  it('does not replay them without', async () => {
    await expect(replay(read('approved.json'), await bundleOf('unpatched-turn.ts'))).rejects.toThrow(
      DeterminismViolationError,
    );
  });
});
