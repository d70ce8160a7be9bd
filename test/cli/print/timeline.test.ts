import { exported } from '../../history/exports';
import { createScreen } from '../../../src/cli/print/screen';
import { momentLines, timelineLines } from '../../../src/cli/print/timeline';
import { turnEventsOfJson } from '../../../src/history/exported';
import { timelineOf } from '../../../src/history/timeline';
import { parsePoint, stateAt } from '../../../src/history/moment';

const nowhere = { write: () => undefined };
const place = {
  screen: createScreen(nowhere, nowhere, { NO_COLOR: '1' }),
  now: Date.parse('2026-01-01'),
  command: (args: string) => `countersign ${args}`,
};

const told = async (name: string): Promise<string> =>
  timelineLines(timelineOf(await turnEventsOfJson(exported(name))), place).join('\n');

it.each<[name: string, line: RegExp]>([
  ['approved', /^step 1 {2}replied after \d+ ms, scripted, tool-calls {2}#5–#7$/m],
  ['approved', /^ {2}1\.1 look {2}done, ran \d+ ms {2}#11–#\d+$/m],
  ['approved', /^ {2}1\.2 pay {2}done, waited \d+ ms for a person, ran \d+ ms {2}#13–#\d+$/m],
  ['approved', /^ {4}proposed, approved, effective:\n {6}n {2}1$/m],
  ['denied', /^ {2}1\.1 pay {2}denied, waited \d+ ms for a person {2}#\d+–#\d+$/m],
  ['in-doubt', /in doubt/],
])('%s has %s', async (name, line) => {
  expect(await told(name)).toMatch(line);
});

it('an answer comes at the end, not in its step', async () => {
  expect(await told('approved')).toMatch(/answered\n\ndone\n$/);
});

describe('moment', () => {
  const nowhere = { write: () => undefined };
  const place = {
    screen: createScreen(nowhere, nowhere, { NO_COLOR: '1' }),
    now: Date.parse('2026-01-01'),
    command: (args: string) => `countersign ${args}`,
  };

  const told = async (at: string): Promise<string> => {
    const events = await turnEventsOfJson(exported('approved'));
    return momentLines(stateAt(events, parsePoint(at)), place).join('\n');
  };

  it.each<[at: string, line: RegExp]>([
    ['#1', /^state {2}running\n\nsince then:\n {2}person {3}turn approved$/m],
    ['1', /^at {5}event #7, \S+, \d+ ms after its start$/m],
    ['1', /^the model knew:\n {2}person {3}turn approved$/m],
    ['1', /^since then:\n {2}model {4}→ 1\.1 look n=1\n {11}→ 1\.2 pay n=1$/m],
    ['1', /^calls of step 1:\n {2}1\.1 look {2}about to start\n {2}1\.2 pay {2}being prepared$/m],
    ['1.2', /^state {2}waits for a person$/m],
    ['1.2', /^request {2}\S+\/1\.2 {2}pay$/m],
  ])('at %s: %s', async (at, line) => {
    expect(await told(at)).toMatch(line);
  });

  it('a request is shown only while it waits', async () => {
    expect(await told('2')).not.toContain('request  ');
  });
});
