import { UPDATES } from '../../../src/contract/names';
import { countersignControl } from '../../../src/workflows/control/countersign-control';
import { endWorkflow, jobs, lines, WorkflowUnderTest } from '../../support/workflow';

afterEach(endWorkflow);

const pause = (tool: string) => jobs.update(UPDATES.pause, { tool, reason: 'x', by: 'ann' }, `pause ${tool}`);
const ANSWER = ['accept update', 'complete update'];

it('answers all updates of a task, and continues as new', async () => {
  const { workflow } = await WorkflowUnderTest.start(countersignControl, { args: [{ pauses: [] }] });
  const resume = jobs.update(UPDATES.resume, { tool: 'a', by: 'ann' });
  const commands = await workflow.task([pause('a'), pause('b'), resume, pause('c')]);
  expect(lines(commands).filter((line) => line.endsWith('update'))).toHaveLength(8);
  expect(lines(commands)).not.toContain('reject update');
  expect(lines(commands).at(-1)).toBe('continueAsNewWorkflowExecution');
});

it('stays as it is after a refusal, and through a cancellation', async () => {
  const { workflow } = await WorkflowUnderTest.start(countersignControl);
  const refused = await workflow.task([jobs.update(UPDATES.resume, { tool: 'a', by: 'ann' }), jobs.cancel()]);
  expect(lines(refused)).toEqual(['reject update']);
  expect(lines(await workflow.task([pause('a')]))).toEqual([...ANSWER, 'continueAsNewWorkflowExecution']);
});
