import { createScreen } from '../../../src/cli/print/screen';
import { timelineLines } from '../../../src/cli/print/timeline';
import { turnEventsOfJson } from '../../../src/history/from-json';
import { timelineOf } from '../../../src/history/timeline';
import { exported } from '../../history/exports';

const nowhere = { write: () => undefined };
const place = {
  screen: createScreen(nowhere, nowhere, { NO_COLOR: '1' }),
  now: Date.parse('2026-01-01'),
  command: (args: string) => `countersign ${args}`,
};

const told = async (name: string): Promise<string> =>
  timelineLines(timelineOf(await turnEventsOfJson(exported(name))), place).join('\n');

it.each<[name: string, line: RegExp]>([
  ['0.1.0-approved', /^step 1 {2}replied after 10 ms, scripted, tool-calls {2}#5–#7$/m],
  ['0.1.0-approved', /^ {2}1\.1 look {2}done, ran 7 ms {2}#11–#16$/m],
  ['0.1.0-approved', /^ {2}1\.2 pay {2}done, waited 72 ms for a person, ran 24 ms {2}#13–#30$/m],
  ['0.1.0-approved', /^ {4}proposed, approved, effective:\n {6}n {2}1$/m],
  ['0.1.0-denied', /^ {2}1\.1 pay {2}denied, waited 57 ms for a person {2}#12–#28$/m],
  ['0.1.0-in-doubt', /in doubt/],
])('%s has %s', async (name, line) => {
  expect(await told(name)).toMatch(line);
});

it('an answer comes at the end, not in its step', async () => {
  expect(await told('0.1.0-approved')).toMatch(/answered\n\ndone\n$/);
});
