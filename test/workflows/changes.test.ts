import { ChangeNotifier, DeadlineTimer, timerMs } from '../../src/workflows/changes';
import { Publisher } from '../../src/workflows/publish';
import { type ApprovalContext, makeApprovals, markChanged } from '../../src/workflows/approvals/state';
import { CancellationScope, condition } from '@temporalio/workflow';
import { endWorkflow, jobs, lines, WorkflowUnderTest } from '../support/workflow';

afterEach(endWorkflow);

const makeContext = (): ApprovalContext => ({
  approvals: makeApprovals(),
  stepKey: '',
  signalVerdicts: [],
  signalCount: 0,
  signalsWaiting: 0,
  revision: 7,
});

/** A notifier, and how often it has published. */
const makeNotifier = () => {
  const context = makeContext();
  const counted = { published: 0 };
  const details = (): string => `${(counted.published += 1)}`;
  return { context, counted, changes: new ChangeNotifier(context, new Publisher(context, details)) };
};

type Event = 'a call ends' | 'a message comes';

/** What a step that waits knows after the events of one workflow task, before the SDK looks at conditions. */
const afterEvents = async (events: readonly Event[]) => {
  const { context, changes } = makeNotifier();
  changes.beginStep();
  let isAwake = false;
  void changes.next().then(() => (isAwake = true));
  for (const event of events) {
    if (event === 'a call ends') changes.callEnded();
    else markChanged(context);
  }
  await Promise.resolve();
  return { isAwake, hasUnseen: changes.hasUnseen };
};

it.each<[string, Event[], { isAwake: boolean; hasUnseen: boolean }]>([
  ['sleeps while nothing happens', [], { isAwake: false, hasUnseen: false }],
  ['is awake when a call has ended', ['a call ends'], { isAwake: true, hasUnseen: false }],
  ['is awake once for two calls', ['a call ends', 'a call ends'], { isAwake: true, hasUnseen: false }],
  ['leaves a message to the condition', ['a message comes'], { isAwake: false, hasUnseen: true }],
  [
    'is not woken by a call where a message came first',
    ['a message comes', 'a call ends'],
    { isAwake: false, hasUnseen: true },
  ],
  [
    'sees that a message came after the call that woke it',
    ['a call ends', 'a message comes'],
    { isAwake: true, hasUnseen: true },
  ],
])('a step %s', async (_, events, expected) => {
  expect(await afterEvents(events)).toEqual(expected);
});

describe('of one change', () => {
  /** Changes something in a workflow task and says who acted on it. */
  const actedOn = async (step: 'none' | 'looks' | 'waits'): Promise<string[]> => {
    const { context, counted, changes } = makeNotifier();
    const acted: string[] = [];
    const { workflow } = await WorkflowUnderTest.start(async () => {
      void changes.run();
      if (step !== 'none') changes.beginStep();
      if (step === 'waits') void changes.next().then(() => acted.push('step'));
      await condition(() => false);
    });
    const before = counted.published;
    markChanged(context);
    await workflow.task([]);
    if (counted.published > before) acted.push('publisher');
    return acted;
  };

  it.each([
    ['between steps the publisher', 'none', ['publisher']],
    ['a step that waits, which publishes itself', 'waits', ['step']],
    ['nobody else, while a step looks,', 'looks', []],
  ] as const)('%s hears', async (_, step, expected) => {
    expect(await actedOn(step)).toEqual(expected);
  });
});

it('publishes what a step left, and from then on by itself', async () => {
  const { context, counted, changes } = makeNotifier();
  const { workflow } = await WorkflowUnderTest.start(async () => {
    void changes.run();
    changes.beginStep();
    markChanged(context);
    changes.endStep();
    await condition(() => false);
  });
  expect(counted.published).toBe(2);
  markChanged(context);
  await workflow.task([]);
  expect(counted.published).toBe(3);
});

describe('a deadline timer', () => {
  /** The commands of a workflow that sets these deadlines, then of tasks in which timers fire at these times. */
  const played = async (
    deadlines: readonly (number | null)[],
    fires: readonly [seq: number, later: number][] = [],
  ): Promise<{ commands: string[]; fired: number }> => {
    let fired = 0;
    const { workflow, commands } = await WorkflowUnderTest.start(async () => {
      const timer = new DeadlineTimer(CancellationScope.current(), () => (fired += 1));
      for (const at of deadlines) timer.set(at, 'a request expires');
      await condition(() => false);
    });
    for (const [seq, later] of fires) await workflow.task([jobs.fired(seq)], later);
    return { commands: lines(commands), fired };
  };

  it.each<[string, (number | null)[], string[]]>([
    ['is one timer', [500], ['start timer 1']],
    ['stays where its deadline stays', [500, 500], ['start timer 1']],
    ['is not needed where nothing expires', [null], []],
    ['of a deadline in the past fires soon', [-5], ['start timer 1']],
  ])('%s', async (_, deadlines, commands) => {
    expect(await played(deadlines)).toEqual({ commands, fired: 0 });
  });

  it.each([
    ['an hour', 3_600_000, 3_629_999],
    ['a second', 1_000, 1_009],
    ['no time', -5, 1],
  ])('with %s left runs a little longer, by the id of its run', (_, left, most) => {
    jest.useFakeTimers({ now: 0 });
    const spread = ['0000', '7fff', 'ffff', 'zzzz'].map((end) => timerMs(left, `01a205d8-${end}`));
    jest.useRealTimers();
    const least = Math.max(1, left);
    const half = least + Math.floor((most - least) / 2);
    expect(spread).toEqual([least, expect.closeTo(half, -1), most, least]);
  });

  it('says so when it fires', async () => {
    expect(await played([500], [[1, 500]])).toMatchObject({ fired: 1 });
  });
});
