import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { temporal } from '@temporalio/proto';
import { ACTIVITIES } from '../src/contract/names';
import { TIMING } from '../src/worker/options';

/** docs/background/cost.md, compared with the recorded turns that it names. */
const root = join(__dirname, '..');
const page = readFileSync(join(root, 'docs', 'background', 'cost.md'), 'utf8');
const rows = [...page.matchAll(/^\| .* \| `([\w-]+)` +\| (\d+) +\|$/gm)].map(([, name = '', actions]) => ({
  name,
  file: `test/histories/${name}.json`,
  actions: Number(actions),
}));

const { EventType } = temporal.api.enums.v1;
type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** Events that are one action each; https://docs.temporal.io/evaluate/cloud/actions. */
const BILLED: ReadonlySet<temporal.api.enums.v1.EventType | null | undefined> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
  EventType.EVENT_TYPE_TIMER_STARTED,
  EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
]);

/** The actions that these events show. An activity that no worker took is none; local ones are one for each workflow task. */
const actionsOf = (events: readonly HistoryEvent[]): number => {
  const billed = events.filter(({ eventType }) => BILLED.has(eventType)).length;
  const attempts = events.map(({ activityTaskStartedEventAttributes: started }) => started?.attempt ?? 0);
  const local = new Set(
    events
      .map(({ markerRecordedEventAttributes: marker }) => marker)
      .filter((marker) => marker?.markerName === 'core_local_activity')
      .map((marker) => String(marker?.workflowTaskCompletedEventId)),
  );
  return billed + attempts.reduce((sum, attempt) => sum + attempt, 0) + local.size;
};

const recorded = (file: string): HistoryEvent[] => {
  const json: unknown = JSON.parse(readFileSync(join(root, file), 'utf8'));
  return historyFromJSON(json).events ?? [];
};

test('the page has rows', () => {
  expect(rows.length).toBeGreaterThan(4);
});

test.each(rows)('$name costs what the page says', ({ file, actions }) => {
  expect(actionsOf(recorded(file))).toBe(actions);
});

test('a turn with one dangerous call costs nine actions at most, beside heartbeats', () => {
  expect(actionsOf(recorded('test/histories/edited.json'))).toBeLessThanOrEqual(9);
});

/** The heartbeats of one model call, which the SDK lets through only so often: the first after a second. */
const heartbeatsOf = (seconds: number): number =>
  Math.ceil((seconds - 1) / (parseInt(TIMING.maxHeartbeatThrottleInterval) || NaN));

test.each([1, 10, 60])('a model of %d s costs the heartbeats that the page says', (seconds) => {
  const row = new RegExp(
    `^\\| ${seconds} s +\\| (?:0 to )?(\\d+) +\\| (?:\\d+ to )?(\\d+) actions +\\| (?:\\d+ to )?(\\d+) actions +\\|$`,
    'm',
  );
  const [, heartbeats, actions, elsewhere] = row.exec(page) ?? [];
  // A model that takes a second may just miss its first heartbeat.
  const most = Math.max(1, heartbeatsOf(seconds));
  expect(Number(heartbeats)).toBe(most);
  // Two steps, and the call's own heartbeat before it starts.
  const turn = recorded('test/histories/edited.json');
  expect(Number(actions)).toBe(actionsOf(turn) + 2 * most + 1);
  // The conversation is read once for each step after the first.
  const steps = turn.filter(
    ({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === ACTIVITIES.think,
  );
  expect(Number(elsewhere)).toBe(Number(actions) + steps.length - 1);
});
