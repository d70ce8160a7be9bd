import type { Deed } from '../../../src/history/replay/deeds';
import { isThink, placeOf, wordsOf } from '../../../src/history/replay/words';

const activity = (id: string, type: string): Deed => ({ what: 'activity', id, type });
const think = activity('think-2', 'countersign.think');

it.each<[Deed, string]>([
  [think, 'asks the model for step 2'],
  [activity('call-1.2-0', 'pay'), 'runs call 1.2, pay'],
  [activity('call-1.2-1', 'pay'), 'runs call 1.2, pay, once more'],
  [activity('7', 'note'), 'runs the activity note'],
  [{ what: 'memo', fields: ['open', 'signals'] }, 'tells what waits for a person'],
  [{ what: 'memo', fields: ['gated.1'] }, 'tells what waits for a person'],
  [{ what: 'memo', fields: ['signals'] }, 'tells what became of signals'],
  [{ what: 'patch', id: 'a"b' }, 'goes the way of the patch "a\\"b"'],
  [{ what: 'child', id: 'c', type: 'agentTurn' }, 'starts the workflow agentTurn'],
  [{ what: 'signal', name: 'approval' }, 'sends the signal approval'],
  [{ what: 'timer' }, 'sets a timer, as for the deadline of a request'],
  [{ what: 'timer_cancelled' }, 'takes a timer back'],
  [{ what: 'activity_cancelled' }, 'cancels something that runs'],
  [{ what: 'attributes' }, 'tells the inbox how the turn stands'],
  [{ what: 'end', how: 'completed' }, 'ends the turn'],
  [{ what: 'end', how: 'failed' }, 'fails the turn'],
  [{ what: 'end', how: 'cancelled' }, 'ends the turn as cancelled'],
  [{ what: 'end', how: 'continued' }, 'goes on in a new run'],
])('%j: %s', (deed, words) => {
  expect(wordsOf(deed)).toBe(words);
});

it.each<[Deed | undefined, object]>([
  [think, { step: 2 }],
  [activity('call-3.1-0', 'pay'), { step: 3, callId: '3.1' }],
  [activity('7', 'note'), {}],
  [{ what: 'timer' }, {}],
  [undefined, {}],
])('%j is at %j', (deed, place) => {
  expect(placeOf(deed)).toEqual(place);
});

it.each<[Deed, boolean]>([
  [think, true],
  [activity('call-1.1-0', 'pay'), false],
  [{ what: 'timer' }, false],
])('%j asks the model: %s', (deed, asks) => {
  expect(isThink(deed)).toBe(asks);
});
