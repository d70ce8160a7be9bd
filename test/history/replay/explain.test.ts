import type { Command } from '../../../src/history/replay/commands';
import { firstDifference, isThink, stepAndCallOf, commandWords } from '../../../src/history/replay/explain';

const timer: Command = { what: 'timer' };
const pay: Command = { what: 'activity', id: 'call-1.1-0', type: 'pay' };
const give: Command = { what: 'activity', id: 'call-1.1-0', type: 'give' };

/** One workflow task: started by event 3, its commands recorded from event 5 on. */
const difference = (recorded: Command[], done: Command[]) =>
  firstDifference(
    [{ startedId: 3, commands: recorded.map((command, at) => ({ command, eventId: 5 + at })) }],
    new Map([[3, done]]),
  );

it.each<[name: string, recorded: Command[], done: Command[], found: ReturnType<typeof difference>]>([
  ['nothing at all', [], [], undefined],
  ['the same', [timer, pay], [timer, pay], undefined],
  [
    'another tool',
    [timer, pay],
    [timer, give],
    { kind: 'other', recorded: { command: pay, eventId: 6 }, done: give },
  ],
  [
    'another order',
    [timer, pay],
    [pay, timer],
    { kind: 'other', recorded: { command: timer, eventId: 5 }, done: pay },
  ],
  ['less', [timer, pay], [timer], { kind: 'missing', recorded: { command: pay, eventId: 6 } }],
  ['more', [timer], [timer, pay], { kind: 'extra', done: pay, afterId: 5 }],
  ['more than nothing', [], [pay], { kind: 'extra', done: pay, afterId: 3 }],
])('%s', (_, recorded, done, found) => {
  expect(difference(recorded, done)).toEqual(found);
});

const tasks = [
  { startedId: 3, commands: [{ command: timer, eventId: 5 }] },
  { startedId: 9, commands: [{ command: pay, eventId: 11 }] },
];

it('a task that was not reached says nothing', () => {
  expect(firstDifference(tasks, new Map([[3, [timer]]]))).toBeUndefined();
});

it('the first of several is shown', () => {
  const done = new Map<number, Command[]>([
    [9, []],
    [3, [pay]],
  ]);
  expect(firstDifference(tasks, done)).toMatchObject({ kind: 'other', recorded: { eventId: 5 } });
});

describe('wordsOf', () => {
  const activity = (id: string, type: string): Command => ({ what: 'activity', id, type });
  const think = activity('think-2', 'countersign.think');

  it.each<[Command, string]>([
    [think, 'asks the model for step 2'],
    [activity('call-1.2-0', 'pay'), 'runs call 1.2, pay'],
    [activity('call-1.2-1', 'pay'), 'runs call 1.2, pay, once more'],
    [activity('7', 'note'), 'runs the activity note'],
    [{ what: 'memo', fields: ['open', 'signals'] }, 'publishes what waits for a person'],
    [{ what: 'memo', fields: ['gated.1'] }, 'publishes what waits for a person'],
    [{ what: 'memo', fields: ['closed'] }, 'publishes why it closed calls'],
    [{ what: 'memo', fields: ['signals'] }, 'publishes its verdicts on signals'],
    [{ what: 'patch', id: 'a"b' }, 'takes the path of the patch "a\\"b"'],
    [{ what: 'child', id: 'c', type: 'agentTurn' }, 'starts the workflow agentTurn'],
    [{ what: 'signal', name: 'approval' }, 'sends the signal approval'],
    [{ what: 'timer' }, 'sets a timer, as for the deadline of a request'],
    [{ what: 'timer_cancelled' }, 'cancels a timer'],
    [{ what: 'activity_cancelled' }, 'cancels something that runs'],
    [{ what: 'attributes' }, 'updates the search attributes'],
    [{ what: 'end', how: 'completed' }, 'ends the turn'],
    [{ what: 'end', how: 'failed' }, 'fails the turn'],
    [{ what: 'end', how: 'cancelled' }, 'ends the turn as cancelled'],
    [{ what: 'end', how: 'continued' }, 'continues as new'],
  ])('%j: %s', (command, words) => {
    expect(commandWords(command)).toBe(words);
  });

  it.each<[Command | undefined, object]>([
    [think, { step: 2 }],
    [activity('call-3.1-0', 'pay'), { step: 3, callId: '3.1' }],
    [activity('call-7-refund-0', 'pay'), { callId: '7-refund' }],
    [activity('7', 'note'), {}],
    [{ what: 'timer' }, {}],
    [undefined, {}],
  ])('%j is at %j', (command, place) => {
    expect(stepAndCallOf(command)).toEqual(place);
  });

  it.each<[Command, boolean]>([
    [think, true],
    [activity('call-1.1-0', 'pay'), false],
    [{ what: 'timer' }, false],
  ])('%j asks the model: %s', (command, asks) => {
    expect(isThink(command)).toBe(asks);
  });
});
