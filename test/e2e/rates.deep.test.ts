import { optionalTsToMs } from '@temporalio/common/lib/time';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { eventsOf } from '../support/turns';

const effects = useEffects();
const FAR = 'far';
const PER_MINUTE = 120;
const CALLS = 5;

/** One partition has the whole rate; of several, each has a part, and lets one call pass at once. */
const PARTITIONS = ['matching.numTaskqueueReadPartitions=1', 'matching.numTaskqueueWritePartitions=1'];

/** When the activities of the queue were started, by the server's clock, in milliseconds. */
const startsOf = async (handle: TurnHandle): Promise<number[]> => {
  const events = await eventsOf(handle);
  const ofQueue = new Set(
    events.flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.taskQueue?.name === FAR ? [String(eventId)] : [],
    ),
  );
  return events
    .filter(({ activityTaskStartedEventAttributes: started }) =>
      ofQueue.has(String(started?.scheduledEventId)),
    )
    .map(({ eventTime }) => optionalTsToMs(eventTime) ?? NaN)
    .toSorted((a, b) => a - b);
};

test('the server spaces the calls and preparations of a queue that has a rate', async () => {
  const book = scriptBook();
  const { start } = await startFixture({
    ownServer: { dynamicConfig: PARTITIONS },
    callsPerMinute: { [FAR]: PER_MINUTE },
    agents: [
      defineAgent({
        ...{ name: 'clerk', instructions: 'do', model: book.model },
        tools: [recordTool(effects, { name: 'ask', taskQueue: FAR, effect: 'pure' })],
      }),
    ],
  });
  const toolCalls = Array.from({ length: CALLS }, (_, n) => ({
    name: 'ask',
    arguments: { tag: `call ${n}` },
  }));
  const handle = await start('clerk', book.add({ toolCalls }, readBack));
  expect((await handle.result()).counts).toMatchObject({ calls: CALLS, failed: 0 });
  const starts = await startsOf(handle);
  // Each call is prepared by the same queue.
  expect(starts).toHaveLength(2 * CALLS);
  // The first three pass at once, and the other seven have 500 ms each. A second is left for a start that is late.
  expect((starts.at(-1) ?? 0) - (starts[0] ?? 0)).toBeGreaterThan(2500);
}, 90_000);
