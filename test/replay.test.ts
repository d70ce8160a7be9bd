import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { ensureBuilt, lib } from './support/build';

const folder = join(__dirname, 'histories');
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));

const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

const replay = (json: string): Promise<void> =>
  Worker.runReplayHistory(
    { workflowBundle: { codePath: lib('workflow-bundle.js') } },
    historyFromJSON(JSON.parse(json)),
  );

beforeAll(() => {
  ensureBuilt();
  Runtime.install({ logger: new DefaultLogger('ERROR') });
});

it('has one of each kind of turn', () => {
  const kinds = new Set(files.map((name) => name.replace(/^\d+\.\d+\.\d+-|\.json$/g, '')));
  expect(kinds).toEqual(
    new Set([
      'plain',
      'approved',
      'edited',
      'denied',
      'expired',
      'in-doubt',
      'cancelled',
      'reset',
      'forked',
      'continuing',
      'continued',
      // Two things in one workflow task: the order of what follows is what a replay may get wrong.
      'ended-cancelled',
      'ended-denied',
      'ended-approved-cancelled',
      'refused-ended',
      'two-ended-cancelled',
      'lane-cancelled',
      'prepared-cancelled',
    ]),
  );
});

it.each(files)('%s, recorded by a released version, replays', async (file) => {
  await expect(replay(read(file))).resolves.toBeUndefined();
});

it.each([
  ['another tool', (json: string) => json.replaceAll('"name": "pay"', '"name": "give"')],
  [
    'a timer that nobody set',
    (json: string) => json.replaceAll('EVENT_TYPE_ACTIVITY_TASK_SCHEDULED', 'EVENT_TYPE_TIMER_STARTED'),
  ],
])('a history with %s does not', async (_, change) => {
  const original = read('0.1.0-approved.json');
  const changed = change(original);
  expect(changed).not.toBe(original);
  await expect(replay(changed)).rejects.toThrow();
});

it('says that the code does not match', async () => {
  const changed = read('0.1.0-approved.json').replaceAll('"name": "pay"', '"name": "give"');
  await expect(replay(changed)).rejects.toThrow(DeterminismViolationError);
});
