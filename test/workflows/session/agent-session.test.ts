import { coresdk } from '@temporalio/proto';
import { ACTIVITIES, UPDATES } from '../../../src/contract/names';
import { agentSession } from '../../../src/workflows/session/agent-session';
import { endWorkflow, type Job, jobs, lines, valueIn, WorkflowUnderTest } from '../../support/workflow';

afterEach(endWorkflow);

const ALREADY_THERE =
  coresdk.child_workflow.StartChildWorkflowExecutionFailedCause
    .START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS;

const start = (targetWorkerDeploymentVersionChanged: boolean, paused = false) => {
  const carried = { turns: 0, waiting: [], known: [], paused, memory: [] };
  const args = [paused ? { agent: 'clerk', carried } : { agent: 'clerk' }];
  return WorkflowUnderTest.start(agentSession, { args, info: { targetWorkerDeploymentVersionChanged } });
};

const send = jobs.update(UPDATES.send, { messageId: 'm1', text: 'hello', mode: 'queue' });
const move = jobs.update(UPDATES.move, undefined);
const TAKEN = ['accept update', 'complete update'];
const MOVES = 'continueAsNewWorkflowExecution';

it.each<[string, boolean, Job, string]>([
  ['moves when it is asked to', false, move, MOVES],
  ['moves with a message where another build is current, and its turn begins there', true, send, MOVES],
  ['begins a turn where its build is the current one', false, send, 'startChildWorkflowExecution'],
])('a session between turns %s', async (_case, changed, job, command) => {
  const { workflow, commands } = await start(changed);
  // Also where another build is current: it does nothing yet, so it cannot go round in circles.
  expect(lines(commands)).toEqual(['memo session']);
  const given = lines(await workflow.task([job]));
  expect(given.slice(0, 2)).toEqual(TAKEN);
  expect(given).toContain(command);
  expect(given.includes(MOVES)).toBe(command === MOVES);
});

it('stays where its turn is open', async () => {
  const { workflow } = await start(false);
  await workflow.task([send]);
  expect(lines(await workflow.task([move]))).toEqual(['reject update']);
});

it.each([
  ['in a run that a reset made, is cancelled: the reset took it back', true],
  ['in any other run, belongs to somebody else and goes on', false],
])('a turn that has the id of the next one, %s', async (_case, wasReset) => {
  const { workflow } = await start(false);
  const begun = await workflow.task(wasReset ? [jobs.reseed(), send] : [send]);
  const [child] = begun.flatMap(({ startChildWorkflowExecution: one }) => one ?? []);
  expect(child?.workflowId).toBe('turn-1.t1');
  const failed = { workflowId: 'turn-1.t1', workflowType: 'agentTurn', cause: ALREADY_THERE };
  const given = await workflow.task([
    { resolveChildWorkflowExecutionStart: { seq: child?.seq ?? 0, failed } },
  ]);
  const [next] = given.flatMap(({ startChildWorkflowExecution: one }) => one ?? []);
  expect(next?.workflowId).toBe('turn-1.t2');
  const cancelled = given.flatMap(({ requestCancelExternalWorkflowExecution: one }) => one ?? []);
  expect(cancelled.map(({ workflowExecution }) => workflowExecution?.workflowId)).toEqual(
    wasReset ? ['turn-1.t1'] : [],
  );
});

it('says nothing of what a cancelled turn did that nobody can ask any more', async () => {
  const { workflow } = await start(false);
  const [child] = (await workflow.task([send])).flatMap(({ startChildWorkflowExecution: one }) => one ?? []);
  const seq = child?.seq ?? 0;
  await workflow.task([{ resolveChildWorkflowExecutionStart: { seq, succeeded: { runId: 'run-t1' } } }]);
  const cause = { message: 'cancelled', canceledFailureInfo: {} };
  const failure = {
    message: 'child',
    childWorkflowExecutionFailureInfo: {
      namespace: 'default',
      workflowExecution: { workflowId: 'turn-1.t1', runId: 'run-t1' },
      workflowType: { name: 'agentTurn' },
    },
    cause,
  };
  let given = await workflow.task([
    { resolveChildWorkflowExecution: { seq, result: { failed: { failure } } } },
  ]);
  for (let asked = 1; asked <= 3; asked++) {
    expect(given.flatMap(({ scheduleActivity: one }) => one?.activityType ?? [])).toEqual([
      ACTIVITIES.recall,
    ]);
    const lost = {
      message: 'lost',
      activityFailureInfo: { activityType: { name: ACTIVITIES.recall }, activityId: 'recall' },
      cause: { message: 'gone', applicationFailureInfo: {} },
    };
    given = await workflow.task([{ resolveActivity: { seq: asked, result: { failed: { failure: lost } } } }]);
  }
  const [moved] = (await workflow.task([move])).flatMap(
    ({ continueAsNewWorkflowExecution: one }) => one ?? [],
  );
  const carried = JSON.stringify(valueIn(moved?.arguments?.[0]));
  expect(carried).toContain('What this turn did is not known any more. Its calls may have run.');
  expect(carried).not.toContain('nothing after it');
});
