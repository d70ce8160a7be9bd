import { MockActivityEnvironment } from '@temporalio/testing';
import { type HeldState, heldState } from '../../src/activities/held-state';
import { withStart } from '../../src/activities/run-tool';
import type { CallInput, CallOutput } from '../../src/contract/call';
import type { PlacedState, StateHolder } from '../../src/contract/tool';
import type { ToolOptions } from '../../src/tools/define-tool';
import { defined } from '../../src/contract/defined';
import { result } from '../history/script';
import { makeTool } from '../tools/support';

const HERE = 'countersign-worker:1@here:a';
const THERE = 'countersign-worker:2@there:b';

interface At {
  queue?: string;
  turn?: string;
  /** The run that executes the call, and the one that its history began with. */
  runId?: string;
  originalRunId?: string;
  key?: string;
  tool?: Partial<ToolOptions>;
}

const shared: Partial<ToolOptions> = { state: 'worker', shared: true };

/** The state of a call of which the turn says this. */
async function stateOf(state: PlacedState, at: At = {}): Promise<HeldState> {
  const { queue = HERE, turn = 't', runId = 'r1', originalRunId = runId, key = 'k:1.1:0', tool } = at;
  const input: CallInput = {
    ...{ callId: '1.1', id: 'm', tool: 'recall', agent: 'a', callKey: 'k:1.1', generation: 0 },
    ...{ arguments: {}, argsDigest: '', toolDigest: '', effect: 'pure', timeoutMs: 1000 },
    ...{ originalRunId, state },
  };
  const environment = new MockActivityEnvironment({ workflowExecution: { workflowId: turn, runId } });
  const made = makeTool({ name: 'recall', state: 'turn', ...tool });
  let found: HeldState | undefined;
  await environment.run(async () => {
    found = heldState({ holderQueue: queue }, made, { input, idempotencyKey: key });
  });
  if (found === undefined) throw new Error('no state');
  return found;
}

const known = (state: HeldState | undefined) => ({ ...state, given: { ...state?.given, declareLost: null } });

const holder = (change: Partial<StateHolder> = {}): StateHolder => ({
  queue: HERE,
  begunBy: 'k:1.1:0',
  runId: 'r1',
  ...change,
});

it('is not made for a tool that keeps none', async () => {
  await expect(stateOf({}, { tool: { state: 'call' } })).rejects.toThrow('no state');
});

it('begins with the first call, and is there for the calls that come to the same worker', async () => {
  const first = await stateOf({});
  expect(first).toMatchObject({ given: { lost: false }, holder: holder(), isUsed: false });
  const next = await stateOf({ holder: first.holder }, { key: 'k:2.1:0' });
  expect(known(next)).toEqual(known(first));
  const continued = await stateOf({ holder: first.holder }, { key: 'k:2.2:0', runId: 'r2' });
  expect(known(continued)).toEqual(known(first));
});

describe('of a session', () => {
  const tool: At['tool'] = { state: 'session' };
  const of = (holder?: StateHolder): PlacedState => ({ session: 's', ...defined({ holder }) });

  it('is there for its later turns', async () => {
    const first = await stateOf(of(), { tool, turn: 's.t1' });
    const next = await stateOf(of(first.holder), { tool, turn: 's.t2', runId: 'r2', key: 'k:2.1:0' });
    expect(known(next)).toEqual(known(first));
  });

  it.each<[string, PlacedState, At]>([
    ['a turn that no session started', { holder: holder() }, { turn: 's.t2' }],
    ['another session', { session: 'u', holder: holder() }, { turn: 'u.t1' }],
    ['a turn whose id is not of that session', of(holder()), { turn: 'u.t1' }],
    ['a turn whose id only begins like it', of(holder()), { turn: 's.t1.t1' }],
    ['a tool whose state is of a turn', of(holder()), { turn: 's.t2', tool: { state: 'turn' } }],
    [
      'a turn that a reset sent another way',
      of(holder()),
      { turn: 's.t2', runId: 'r3', originalRunId: 'r2' },
    ],
  ])('is not that of %s', async (_, state, at) => {
    const first = await stateOf(of(), { tool, turn: 's.t1' });
    expect((await stateOf(state, { tool, ...at })).given.key).not.toBe(first.given.key);
  });
});

it.each<[string, PlacedState, At]>([
  ['another turn that names it', { holder: holder() }, { turn: 'u' }],
  ['a later run of the same id that names none', {}, { runId: 'r9' }],
  ['another group', { holder: holder() }, { tool: { stateGroup: 'other' } }],
  ['another queue of tools', { holder: holder() }, { tool: { taskQueue: 'far' } }],
  ['another worker', { holder: holder() }, { queue: THERE }],
  ['a call after its loss', { lost: true }, { key: 'k:3.1:0' }],
  ['the tool that all turns share', {}, { tool: shared }],
])('is not that of %s', async (_, known, at) => {
  const { given } = await stateOf({});
  expect((await stateOf(known, at)).given.key).not.toBe(given.key);
});

it.each<[string, PlacedState, At, boolean]>([
  ['on another worker than the one named', { holder: holder({ queue: THERE }) }, {}, true],
  ['where the turn knows of the loss', { lost: true }, {}, true],
  ['where no call has used it', {}, {}, false],
  ['where it is here', { holder: holder() }, {}, false],
  ['of a worker, on another one', { holder: holder({ queue: THERE }) }, { tool: shared }, true],
  ['of a worker, where it is here', { holder: holder() }, { tool: shared }, false],
])('is lost or not: %s', async (_, known, at, lost) => {
  const state = await stateOf(known, { key: 'k:2.1:0', ...at });
  expect(state.given.lost).toBe(lost);
  expect(state.holder).toMatchObject({ queue: HERE, begunBy: lost ? 'k:2.1:0' : expect.any(String) });
});

describe('in a run that a reset made', () => {
  const reset = { runId: 'r2', originalRunId: 'r1' };

  it('begins anew, once for all calls, and says so', async () => {
    const before = await stateOf({});
    const [one, other] = await Promise.all(
      ['k:2.1:0', 'k:2.2:0'].map((key) => stateOf({ holder: before.holder }, { ...reset, key })),
    );
    expect(known(one)).toEqual(known(other));
    expect(one?.given).toMatchObject({ key: expect.any(String), lost: true });
    expect(one?.given.key).not.toBe(before.given.key);
    const next = await stateOf({ holder: one?.holder ?? holder() }, { ...reset, key: 'k:3.1:0' });
    expect(next.given).toMatchObject({ key: one?.given.key, lost: false });
  });

  it('stays that of the worker', async () => {
    const before = await stateOf({}, { tool: shared });
    const after = await stateOf({ holder: before.holder }, { ...reset, tool: shared });
    expect(after.given).toMatchObject({ key: before.given.key, lost: false });
  });
});

it('is all turns’, where the worker shares it', async () => {
  const one = await stateOf({}, { tool: shared });
  const other = await stateOf({}, { tool: shared, turn: 'u', key: 'x' });
  expect(other.given.key).toBe(one.given.key);
});

it.each<[string, CallOutput, boolean, boolean]>([
  ['a result of its handler', { result: result('1.1'), contentDigest: 'd' }, true, true],
  ['a doubt', { inDoubt: { message: 'cut' } }, true, true],
  ['a result without its handler', { result: result('1.1'), contentDigest: 'd' }, false, false],
  ['a call that is given back', { notHere: 'no tool' }, true, false],
])('names its holder beside %s', async (_, output, isUsed, named) => {
  const state = { ...(await stateOf({})), isUsed };
  expect(withStart({ startedBy: {}, state }, output)).toEqual(
    named ? { ...output, holder: state.holder } : output,
  );
});
