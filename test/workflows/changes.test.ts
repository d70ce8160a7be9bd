import { condition } from '@temporalio/workflow';
import { makeApprovals } from '../../src/lifecycle/state';
import { type ApprovalContext, markChanged } from '../../src/workflows/call-life';
import { ChangeNotifier } from '../../src/workflows/changes';
import { approvalsWith } from '../support/calls';
import { endWorkflow, WorkflowUnderTest } from '../support/workflow';

afterEach(endWorkflow);

const contextOf = (approvals = makeApprovals()): ApprovalContext => ({
  ...{ approvals, stepKey: '', signalVerdicts: [], signalCount: 0, signalsWaiting: 0, revision: 7 },
});

/** How often a watcher has looked after each workflow task, once `change` was made before it. */
async function looks(
  context: ApprovalContext,
  changes: readonly ((notifier: ChangeNotifier) => void)[],
  isQuiet = false,
): Promise<number[]> {
  let count = 0;
  const notifier = new ChangeNotifier(
    context,
    [{ look: () => (count += 1) }],
    { hasReapplied: false, hasMessages: false },
    isQuiet,
  );
  const { workflow } = await WorkflowUnderTest.start(async () => {
    void notifier.run();
    await condition(() => false);
  });
  const counts = [count];
  for (const change of changes) {
    change(notifier);
    await workflow.task([]);
    counts.push(count);
  }
  return counts;
}

it('looks at first, and once at all that changes in one task', async () => {
  const context = contextOf();
  const twice = (): void => (markChanged(context), markChanged(context));
  expect(await looks(context, [() => undefined, twice])).toEqual([1, 1, 2]);
});

it('looks at nothing before there is something to show', async () => {
  const context = contextOf();
  const change = (): void => markChanged(context);
  expect(await looks(context, [change, (notifier) => notifier.begin()], true)).toEqual([0, 0, 1]);
});

it.each([
  ['at once where the task brought no message', false, [1, 2, 2]],
  ['when the messages of the task have their answers', true, [1, 1, 2]],
])('looks alone %s', async (_, hasMessages, expected) => {
  const context = contextOf();
  const counts: number[] = [];
  let count = 0;
  const watcher = { look: () => (count += 1) };
  const notifier = new ChangeNotifier(context, [watcher], { hasReapplied: false, hasMessages });
  const { workflow } = await WorkflowUnderTest.start(async () => {
    void notifier.run();
    counts.push(count);
    markChanged(context);
    notifier.lookAlone();
    counts.push(count);
    await condition(() => false);
  });
  await workflow.task([]);
  expect([...counts, count]).toEqual(expected);
});

it('closes what is due before anybody looks', async () => {
  const context = contextOf(approvalsWith({ expiresMs: 0 }).state);
  await looks(context, []);
  expect(context.approvals.calls.get('1.1')).toMatchObject({ phase: 'done' });
});

it.each([
  ['after the watchers, at the change that it waits for', 0, ['look', 'look', 'on']],
  ['at once where it is true', 1, ['on', 'look', 'look']],
])('wakes who waits %s', async (_, first, expected) => {
  const context = contextOf();
  const order: string[] = [];
  let count = first;
  const watcher = { look: () => void order.push('look') };
  const notifier = new ChangeNotifier(context, [watcher], { hasReapplied: false, hasMessages: false });
  const { workflow } = await WorkflowUnderTest.start(async () => {
    const waited = notifier.until(() => count > 0).then(() => order.push('on'));
    if (count > 0) await waited;
    void notifier.run();
    await condition(() => false);
  });
  count = 1;
  markChanged(context);
  await workflow.task([]);
  expect(order).toEqual(expected);
});
