import { ChangeNotifier } from '../../src/workflows/changes';
import { Publisher } from '../../src/workflows/publish';
import { type ApprovalContext, makeApprovals, markChanged } from '../../src/workflows/approvals/state';
import { condition } from '@temporalio/workflow';
import { endWorkflow, WorkflowUnderTest } from '../support/workflow';

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
