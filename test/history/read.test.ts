import { temporal } from '@temporalio/proto';
import { turnIdOf } from '../../src/history/read';

const { HistoryEvent } = temporal.api.history.v1;
const { WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW: cause } = temporal.api.enums.v1.WorkflowTaskFailedCause;
const started = HistoryEvent.create({
  workflowExecutionStartedEventAttributes: { workflowId: 't', originalExecutionRunId: 'first' },
});
const resetTo = (newRunId: string) =>
  HistoryEvent.create({ workflowTaskFailedEventAttributes: { cause, baseRunId: 'before', newRunId } });
const failed = HistoryEvent.create({ workflowTaskFailedEventAttributes: { newRunId: '' } });

it.each([
  ['as its first event says', [started, failed], 'first'],
  ['as its reset says', [started, resetTo('second')], 'second'],
  ['as its last reset says', [started, resetTo('second'), resetTo('third'), failed], 'third'],
])('a history names its own run, %s', (_, events, runId) => {
  expect(turnIdOf({ events })).toEqual({ turn: 't', runId });
});
