import { createScreen } from '../../../src/cli/print/screen';
import { momentLines } from '../../../src/cli/print/moment';
import { turnEventsOfJson } from '../../../src/history/from-json';
import { parsePoint } from '../../../src/history/point';
import { stateAt } from '../../../src/history/state-at';
import { exported } from '../../history/exports';

const nowhere = { write: () => undefined };
const place = {
  screen: createScreen(nowhere, nowhere, { NO_COLOR: '1' }),
  now: Date.parse('2026-01-01'),
  command: (args: string) => `countersign ${args}`,
};

const told = async (at: string): Promise<string> => {
  const events = await turnEventsOfJson(exported('0.1.0-approved'));
  return momentLines(stateAt(events, parsePoint(at)), place).join('\n');
};

it.each<[at: string, line: RegExp]>([
  ['#1', /^state {2}running\n\nsince then:\n {2}person {3}turn approved$/m],
  ['1', /^at {5}event #7, \S+, 41 ms after its start$/m],
  ['1', /^the model knew:\n {2}person {3}turn approved$/m],
  ['1', /^since then:\n {2}model {4}→ 1\.1 look n=1\n {11}→ 1\.2 pay n=1$/m],
  ['1', /^calls of step 1:\n {2}1\.1 look {2}proposed\n {2}1\.2 pay {2}proposed$/m],
  ['1.2', /^state {2}waits for a person$/m],
  ['1.2', /^request {2}\S+\/1\.2 {2}pay$/m],
])('at %s: %s', async (at, line) => {
  expect(await told(at)).toMatch(line);
});

it('a request is told only while it waits', async () => {
  expect(await told('2')).not.toContain('request  ');
});
