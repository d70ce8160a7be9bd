import { DeadlineTimer, timerMs } from '../../src/workflows/deadline-timer';
import { CancellationScope, condition } from '@temporalio/workflow';
import type { ApprovalContext } from '../../src/workflows/call-life';
import { approvalsWith } from '../support/calls';
import { endWorkflow, jobs, lines, WorkflowUnderTest } from '../support/workflow';

afterEach(endWorkflow);

/** A call that expires at a time. */
const contextOf = (at: number | null): ApprovalContext => ({
  ...{ stepKey: 'k', signalVerdicts: [], signalCount: 0, signalsWaiting: 0, revision: 0 },
  approvals: approvalsWith({ expiresMs: at }).state,
});

describe('a deadline timer', () => {
  /** The commands of a workflow that sets these deadlines, then of tasks in which timers fire at these times. */
  const played = async (
    deadlines: readonly (number | null)[],
    fires: readonly [seq: number, later: number][] = [],
  ): Promise<{ commands: string[]; fired: number }> => {
    const context = contextOf(null);
    const { workflow, commands } = await WorkflowUnderTest.start(async () => {
      const timer = new DeadlineTimer(context, CancellationScope.current());
      for (const at of deadlines) {
        context.approvals = contextOf(at).approvals;
        timer.look();
      }
      await condition(() => false);
    });
    for (const [seq, later] of fires) await workflow.task([jobs.fired(seq)], later);
    return { commands: lines(commands), fired: context.revision };
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
