import { breakpointAt } from '../../../src/cli/replay/debug';
import { makeDecode } from '../../../src/history/decode/decode';
import { parseExport } from '../../../src/history/exported';
import { parsePoint } from '../../../src/history/moment';
import { exported, ofAnotherApplication } from '../../history/exports';

const approved = parseExport(exported('approved'));
const continued = parseExport({
  countersign: 1,
  runs: [exported('continuing'), exported('continued')],
});
const other = parseExport(JSON.parse(ofAnotherApplication()));

/** The same, as it was when so many events were recorded. */
const cut = (runs: typeof approved, events: number): typeof approved =>
  runs.map((run) => ({ ...run, events: (run.events ?? []).slice(0, events) }));

const stopAt = (runs: typeof approved, point?: string) =>
  breakpointAt(runs, point === undefined ? undefined : parsePoint(point), makeDecode());

it.each<[string, typeof approved, string | undefined, run: number, startedId: number]>([
  ['the first workflow task of all', approved, undefined, 1, 3],
  ['the first one of the first of several runs', continued, undefined, 1, 3],
  ['where the reply of a step came', approved, '2', 1, 38],
  ['where a call asked for its decision', approved, '1.2', 1, 9],
  ['the task that made an event', approved, '#25', 1, 21],
  ['the task that heard of an event', approved, '#16', 1, 18],
  ['a step of the first of several runs', continued, '1', 1, 9],
  ['a step of the last one', continued, '13', 2, 9],
  ['an event of the first one', continued, '1#53', 1, 51],
  ['an event of the last one', continued, '#12', 2, 9],
  ['an event of a workflow that is no turn', other, '#25', 1, 28],
])('stops at %s', async (_, runs, point, run, startedId) => {
  expect(await stopAt(runs, point)).toEqual({ history: runs[run - 1], startedId });
});

it.each<[string, typeof approved, string, error: object]>([
  ['no step', approved, '9', { code: 'not_found' }],
  ['no call', approved, '7.7', { code: 'not_found' }],
  [
    'no event',
    approved,
    '#99',
    { message: 'no code ran at event 1#99', hint: expect.stringMatching(/there is 1 run to choose from$/) },
  ],
  ['an event of no run', approved, '2#5', { message: 'no code ran at event 2#5' }],
  [
    'an event of another run',
    continued,
    '#53',
    { message: 'no code ran at event 2#53', hint: expect.stringMatching(/there are 2 runs to choose from$/) },
  ],
  ['an event that no code heard of', cut(approved, 36), '#36', { code: 'not_found' }],
  ['a step of a workflow that is no turn', other, '1', { code: 'bad_history' }],
])('%s is named as such', async (_, runs, point, error) => {
  await expect(stopAt(runs, point)).rejects.toMatchObject(error);
});
