import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { LIMITS } from '../../src/contract/limits';
import { MEMO, SCHEDULED_BY } from '../../src/contract/names';
import { type LifeCommand, decide } from '../../src/lifecycle/decide';
import { apply } from '../../src/lifecycle/events';
import { makeApprovals } from '../../src/lifecycle/state';
import type { ApprovalContext } from '../../src/workflows/call-life';
import type { TurnInput } from '../../src/contract/turn';
import { publishScheduled } from '../../src/workflows/check-start';
import { Publisher } from '../../src/workflows/publish';
import { result } from '../history/script';
import { approvalsWith, type CallShape } from '../support/calls';
import { type Command, endWorkflow, lines, valueIn, WorkflowUnderTest } from '../support/workflow';
import { noteVerdict } from '../../src/workflows/verdict-handlers';

afterEach(endWorkflow);

const contextWith = (...shapes: CallShape[]): ApprovalContext => ({
  approvals: shapes.length === 0 ? makeApprovals() : approvalsWith(...shapes).state,
  stepKey: 'k',
  signalVerdicts: [],
  signalCount: 0,
  signalsWaiting: 0,
  revision: 0,
});

/** The commands and the current details of a workflow that publishes by these steps. */
async function published(
  context: ApprovalContext,
  ...steps: ((publisher: Publisher) => void)[]
): Promise<{ commands: Command[]; details: string }> {
  const publisher = new Publisher(context, (open) => `${open.length} open`);
  const { workflow, commands } = await WorkflowUnderTest.start(async () => {
    for (const step of steps) step(publisher);
    await new Promise(() => undefined);
  });
  return { commands, details: workflow.details };
}

const publish = (publisher: Publisher): void => publisher.look();

const attributesIn = (commands: readonly Command[]): Record<string, unknown>[] =>
  commands.flatMap(({ upsertWorkflowSearchAttributes: upsert }) => {
    const fields = upsert?.searchAttributes?.indexedFields;
    if (fields == null) return [];
    return [Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, valueIn(value)]))];
  });
const memoIn = (commands: readonly Command[], name: string): unknown[] =>
  commands.flatMap(({ modifyWorkflowProperties: upsert }) => {
    const field = upsert?.upsertedMemo?.fields?.[name];
    return field === undefined ? [] : [valueIn(field)];
  });

const never = '9999-12-31';
const take = (context: ApprovalContext, command: LifeCommand, now: number): void => {
  const { refused, ...decided } = decide(context.approvals, command, now);
  if (refused === undefined && 'events' in decided)
    context.approvals = decided.events.reduce(apply, context.approvals);
};
const rename = (context: ApprovalContext, toolOf: (callId: string) => string): void => {
  const calls = new Map(context.approvals.calls);
  for (const [callId, state] of calls)
    calls.set(callId, { ...state, call: { ...state.call, tool: toolOf(callId) } });
  context.approvals = { ...context.approvals, calls };
};
const doubt = (context: ApprovalContext): void => {
  take(context, { type: 'start', callId: '1.1' }, 0);
  take(context, { type: 'settle', callId: '1.1', settlement: { inDoubt: { message: 'lost' } } }, 0);
};

describe('search attributes', () => {
  it.each<[string, CallShape[], (context: ApprovalContext) => void, Record<string, unknown>]>([
    [
      'a request',
      [{}],
      () => undefined,
      { CountersignState: 'waiting', CountersignPending: 1, CountersignTools: ['pay', 'asked:pay'] },
    ],
    [
      'the earliest of two deadlines, and each tool once',
      [{ expiresMs: 9000 }, { callId: '1.2', expiresMs: 4000 }],
      () => undefined,
      {
        CountersignPending: 2,
        CountersignTools: ['pay', 'asked:pay'],
        CountersignDeadline: new Date(4000).toISOString(),
      },
    ],
    [
      'a request that never expires',
      [{ expiresMs: null }],
      () => undefined,
      { CountersignDeadline: expect.stringContaining(never) },
    ],
    [
      'a doubt, which wins over a request',
      [{ kind: 'run' }, { callId: '1.2' }],
      doubt,
      { CountersignState: 'in_doubt', CountersignPending: 2 },
    ],
  ])('say %s', async (_, shapes, change, expected) => {
    const context = contextWith(...shapes);
    change(context);
    const { commands, details } = await published(context, publish);
    expect(lines(commands)).toEqual(['memo open', 'search attributes']);
    expect(attributesIn(commands)).toMatchObject([expected]);
    expect(details).toBe(`${shapes.length} open`);
  });
});

it('writes calls that expire together in parts that fit the memo', async () => {
  const ids = Array.from({ length: 64 }, (_, n) => String(n).padEnd(64, '-'));
  const context = contextWith(...ids.map((callId) => ({ callId, expiresMs: 1000 })));
  const expireAll = (): void => take(context, { type: 'look' }, 2000);
  const { commands } = await published(context, publish, expireAll, publish);
  const closed = memoIn(commands, MEMO.closed).map((memo) => JSON.stringify(memo));
  expect(closed.length).toBeGreaterThan(1);
  for (const memo of closed) expect(memo.length).toBeLessThanOrEqual(LIMITS.memoBytes / 2 + 100);
  for (const id of ids) expect(closed.filter((memo) => memo.includes(id))).toHaveLength(1);
  expect(memoIn(commands.slice(-2), MEMO.open)).toHaveLength(1);
});

it('names each tool that waits, then each that ever asked', async () => {
  const context = contextWith({});
  const ask = (tool: string) => () => {
    rename(context, () => tool);
  };
  const { commands } = await published(context, publish, ask('mail'), publish, ask('pay'), publish);
  expect(attributesIn(commands).map(({ CountersignTools: tools }) => tools)).toEqual([
    ['pay', 'asked:pay'],
    ['mail', 'asked:pay', 'asked:mail'],
    ['pay', 'asked:pay', 'asked:mail'],
  ]);
});

it('names what happened to calls, with the next change and before the next run', async () => {
  const calls = approvalsWith({}, { callId: '1.2' }, { callId: '1.3', kind: 'run' });
  const context = contextWith();
  const become = (): void => void (context.approvals = calls.state);
  const said = { approver: 'ann' };
  const decideTwo = (): void => {
    calls.say('decision', { ...said, callId: '1.1', decision: 'denied' });
    calls.say('decision', { ...said, callId: '1.2', decision: 'modified', arguments: { amount: 5 } });
    become();
  };
  const error = { code: 'tool' as const, message: 'no' };
  const fail = (): void => {
    calls.start('1.3');
    const failed = result('1.3', { success: false, error });
    calls.do({ type: 'settle', callId: '1.3', settlement: { result: failed } });
    become();
  };
  const last = (publisher: Publisher): void => publisher.look(true);
  const { commands } = await published(
    context,
    become,
    publish,
    decideTwo,
    publish,
    fail,
    publish,
    last,
    last,
  );
  expect(attributesIn(commands).map(({ CountersignTools: tools }) => tools)).toEqual([
    ['pay', 'asked:pay'],
    ['was:denied', 'was:edited', 'asked:pay'],
    ['was:denied', 'was:edited', 'was:failed', 'asked:pay'],
  ]);
});

it('names as many tools as the server takes', async () => {
  const context = contextWith(...Array.from({ length: 40 }, (_, at) => ({ callId: `1.${at}` })));
  rename(context, (callId) => callId.padEnd(64, 'x'));
  const { commands } = await published(context, publish);
  const [tools] = attributesIn(commands).map(({ CountersignTools: names }) => names);
  expect(JSON.stringify(tools).length).toBeGreaterThan(1900);
  expect(JSON.stringify(tools).length).toBeLessThanOrEqual(2000);
});

it('writes nothing where nothing waits', async () => {
  const { commands, details } = await published(contextWith(), publish);
  expect({ commands, details }).toEqual({ commands: [], details: '0 open' });
});

it('writes nothing twice', async () => {
  const { commands } = await published(contextWith({}), publish, publish);
  expect(lines(commands)).toEqual(['memo open', 'search attributes']);
});

it('clears the memo when nothing waits any more', async () => {
  const context = contextWith({});
  const { commands } = await published(context, publish, () => take(context, { type: 'cancel' }, 1), publish);
  expect(memoIn(commands, MEMO.open)).toEqual([expect.objectContaining({ key: 'k', count: 1 }), undefined]);
  expect(attributesIn(commands).at(-1)).toMatchObject({
    CountersignState: 'running',
    CountersignPending: 0,
    CountersignTools: ['asked:pay'],
    CountersignDeadline: null,
  });
});

describe('closings', () => {
  const cancel = (context: ApprovalContext) => () => take(context, { type: 'cancel' }, 1);

  it('are written once, with what waits', async () => {
    const context = contextWith({}, { callId: '1.2' });
    const steps = [publish, cancel(context), publish, publish, (one: Publisher) => one.end('cancelled')];
    const { commands } = await published(context, ...steps);
    expect(lines(commands)).toEqual([
      ...['memo open', 'search attributes', 'memo open closed', 'search attributes', 'search attributes'],
    ]);
    expect(memoIn(commands, MEMO.closed)).toEqual([{ neverStarted: ['1.1', '1.2'] }]);
  });

  it('are written of calls that did not wait for a person too', async () => {
    const context = contextWith({ kind: 'run' });
    const { commands } = await published(context, cancel(context), publish);
    expect(lines(commands)).toEqual(['memo closed']);
  });

  it('are taken out of the memo by the next change of what waits', async () => {
    const context = contextWith({ expiresMs: 5 }, { callId: '1.2' });
    const change = (): void => take(context, { type: 'left', callId: '1.2' }, 9);
    const { commands } = await published(
      context,
      () => take(context, { type: 'look' }, 9),
      publish,
      change,
      publish,
    );
    expect(lines(commands).filter((line) => line.startsWith('memo'))).toEqual([
      ...['memo open closed', 'memo open closed'],
    ]);
    expect(memoIn(commands, MEMO.closed)).toEqual([{ expired: ['1.1'] }, undefined]);
  });
});

it('writes the verdicts on signals when there is a new one', async () => {
  const context = contextWith();
  const note = (): void =>
    noteVerdict(context, { accepted: false, code: 'malformed', message: 'no', callId: '1.1' }, 5);
  const { commands } = await published(context, note, publish, publish, note, publish);
  expect(memoIn(commands, MEMO.verdicts)).toMatchObject([
    [{ callId: '1.1', verdict: 'malformed' }],
    [{ callId: '1.1' }, { callId: '1.1' }],
  ]);
});

it('publishes the end, and nothing after it', async () => {
  const context = contextWith({});
  const { commands, details } = await published(context, publish, (one) => one.end('failed'), publish);
  expect(lines(commands)).toEqual(['memo open', 'search attributes', 'memo open', 'search attributes']);
  expect(attributesIn(commands).at(-1)).toMatchObject({ CountersignState: 'failed', CountersignPending: 0 });
  expect(details).toBe('Ended: failed');
});

describe('a turn that a schedule started', () => {
  const INPUT = { agent: 'clerk', prompt: 'pay', origin: { metadata: { team: 'a' } } };
  const key = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
  const start = async (names: string[], input: TurnInput = INPUT): Promise<Command[]> => {
    const pairs = names.map((name) => ({ key: key(name), value: 'x' }));
    const { commands } = await WorkflowUnderTest.start(
      async () => {
        publishScheduled(input);
        await new Promise(() => undefined);
      },
      { info: { typedSearchAttributes: new TypedSearchAttributes(pairs) } },
    );
    return commands;
  };

  it('writes all that a start by our client writes, if the schedule is not ours', async () => {
    const commands = await start([SCHEDULED_BY]);
    expect(attributesIn(commands)).toEqual([
      {
        CountersignState: 'running',
        CountersignPending: 0,
        CountersignAgent: 'clerk',
        CountersignMetadata: ['team=a'],
      },
    ]);
    expect(memoIn(commands, MEMO.prompt)).toEqual(['pay']);
  });

  it('writes as many facts as the server takes', async () => {
    const facts = Array.from({ length: 16 }, (_, at) => [`fact${at}`, 'ü'.repeat(128)]);
    const metadata = Object.fromEntries(facts);
    const [written] = attributesIn(await start([SCHEDULED_BY], { ...INPUT, origin: { metadata } }));
    expect(written?.['CountersignMetadata']).toEqual(
      facts.slice(0, 7).map(([name, value]) => `${name}=${value}`),
    );
  });

  it.each([
    ['its schedule is ours', [SCHEDULED_BY, 'CountersignAgent']],
    ['no schedule started it', []],
  ])('writes nothing if %s', async (_, names) => {
    expect(await start(names)).toEqual([]);
  });
});
