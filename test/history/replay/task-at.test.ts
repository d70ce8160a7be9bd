import { parseExport } from '../../../src/history/exported';
import { taskAt } from '../../../src/history/replay/task-at';
import { exported } from '../exports';

const events = parseExport(exported('0.1.0-approved')).flatMap((run) => run.events ?? []);

it.each<[name: string, eventId: number, startedId: number | undefined]>([
  ['the start', 1, 3],
  ['a workflow task that is scheduled', 8, 9],
  ['one that is started', 9, 9],
  ['one that is completed', 10, 9],
  ['a call that the code started', 11, 9],
  ['a timer that it set', 12, 9],
  ['the result of a call', 16, 18],
  ['an update that it accepted', 23, 21],
  ['a call after an update', 25, 21],
  ['the end', 41, 38],
  ['no event', 42, undefined],
  ['none either', 0, undefined],
])('%s', (_, eventId, startedId) => {
  expect(taskAt(events, eventId)).toBe(startedId);
});

it('what came after the last workflow task was met by no code', () => {
  expect(taskAt(events.slice(0, 37), 36)).toBeUndefined();
});
