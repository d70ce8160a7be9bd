import { parseExport } from '../../../src/history/exported';
import { type Command, commandsOf, isSame, tasksOf } from '../../../src/history/replay/commands';
import { exported } from '../exports';

type Commands = Parameters<typeof commandsOf>[0];

it('tells what the code did in each workflow task of a recorded turn', () => {
  const tasks = tasksOf(parseExport(exported('approved')).flatMap((run) => run.events ?? []));
  expect(
    tasks.map(({ startedId, commands }) => [startedId, ...commands.map(({ command }) => command.what)]),
  ).toEqual([
    [3, 'activity'],
    [9, 'activity', 'timer', 'memo', 'attributes'],
    [18],
    [21, 'memo', 'attributes', 'timer_cancelled', 'activity'],
    [32, 'activity'],
    [38, 'attributes', 'end'],
  ]);
  expect(tasks[3]?.commands.at(-1)).toEqual({
    eventId: 28,
    command: { what: 'activity', id: 'call-1.2-0', type: 'pay' },
  });
});

it.each<[name: string, commands: Commands, commands: Command[]]>([
  ['nothing', [], []],
  [
    'an activity',
    [{ scheduleActivity: { activityId: 'a', activityType: 'pay' } }],
    [{ what: 'activity', id: 'a', type: 'pay' }],
  ],
  ['a timer', [{ startTimer: { seq: 1 } }], [{ what: 'timer' }]],
  ['a timer that is taken back at once', [{ startTimer: { seq: 1 } }, { cancelTimer: { seq: 1 } }], []],
  [
    'one of an earlier task',
    [{ cancelTimer: { seq: 1 } }, { startTimer: { seq: 2 } }],
    [{ what: 'timer_cancelled' }, { what: 'timer' }],
  ],
  ['a patch', [{ setPatchMarker: { patchId: 'p' } }], [{ what: 'patch', id: 'p' }]],
  [
    'a memo',
    [{ modifyWorkflowProperties: { upsertedMemo: { fields: { open: {} } } } }],
    [{ what: 'memo', fields: ['open'] }],
  ],
  [
    'a child',
    [{ startChildWorkflowExecution: { workflowId: 'c', workflowType: 't' } }],
    [{ what: 'child', id: 'c', type: 't' }],
  ],
  ['a signal', [{ signalExternalWorkflowExecution: { signalName: 's' } }], [{ what: 'signal', name: 's' }]],
  ['a cancellation', [{ requestCancelActivity: { seq: 1 } }], [{ what: 'activity_cancelled' }]],
  ['the end', [{ completeWorkflowExecution: {} }], [{ what: 'end', how: 'completed' }]],
  ['a failure', [{ failWorkflowExecution: {} }], [{ what: 'end', how: 'failed' }]],
  ['a cancelled end', [{ cancelWorkflowExecution: {} }], [{ what: 'end', how: 'cancelled' }]],
  ['a new run', [{ continueAsNewWorkflowExecution: {} }], [{ what: 'end', how: 'continued' }]],
  ['an answer to a query, which leaves no event', [{ respondToQuery: {} }], []],
])('of commands: %s', (_, asked, commands) => {
  expect(commandsOf(asked)).toEqual(commands);
});

it.each<[Command, Command, boolean]>([
  [{ what: 'timer' }, { what: 'timer' }, true],
  [{ what: 'timer' }, { what: 'attributes' }, false],
  [{ what: 'activity', id: 'a', type: 't' }, { what: 'activity', id: 'a', type: 't' }, true],
  [{ what: 'activity', id: 'a', type: 't' }, { what: 'activity', id: 'b', type: 't' }, false],
  [{ what: 'activity', id: 'a', type: 't' }, { what: 'activity', id: 'a', type: 'u' }, false],
  [{ what: 'child', id: 'a', type: 't' }, { what: 'child', id: 'a', type: 'u' }, false],
  [{ what: 'patch', id: 'a' }, { what: 'patch', id: 'b' }, false],
  [{ what: 'end', how: 'failed' }, { what: 'end', how: 'completed' }, false],
  [{ what: 'memo', fields: ['a'] }, { what: 'memo', fields: ['b'] }, true],
])('%j and %j are the same: %s', (one, other, same) => {
  expect(isSame(one, other)).toBe(same);
});
