import { UPDATES } from '../../../src/contract/names';
import { agentSession } from '../../../src/workflows/session/agent-session';
import { endWorkflow, type Job, jobs, lines, WorkflowUnderTest } from '../../support/workflow';

afterEach(endWorkflow);

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
