import { ACTIVITIES } from '../../lib/contract/names';
import { absolute, relative, timed, type Bench, type Measurement } from '../figure';
import { freshId, OUR_QUEUE } from '../subjects';
import { startProcess, type Measured, type Side } from '../worker';
import { requestOf } from './decision';
import { runTurn } from './step';
import { startOne } from './waiting';

const SIGNALS = 1000;
const TURNS = 20;
const AT_ONCE = 50;

/** What everybody can send: no decision, one about nothing, one that cannot be read. */
const JUNK: readonly unknown[] = [
  'junk',
  { callId: '9.9', decision: 'approved' },
  { callId: 7, decision: ['maybe'], reason: 'x'.repeat(5000) },
];

/** The slowest of a hundred steps of 20 turns that work, while one turn is sent 1,000 signals. */
export const flood: Measurement = {
  name: 'flood',
  async run(bench) {
    // Before what counts: a worker works for days.
    await Promise.all(Array.from({ length: TURNS }, () => runTurn(bench, 'few')));
    const workflowId = freshId('flooded');
    const args = [{ agent: 'waiting', prompt: workflowId }];
    const handle = await bench.client.workflow.start('agentTurn', { taskQueue: OUR_QUEUE, workflowId, args });
    await requestOf(bench, workflowId);
    const working = Promise.all(Array.from({ length: TURNS }, () => runTurn(bench, 'usual')));
    for (let sent = 0; sent < SIGNALS; sent += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, n) => handle.signal('approval', JUNK[n % JUNK.length])),
      );
    const steps = (await Promise.all((await working).map((turn) => stepSeconds(bench, turn)))).flat();
    const [middle = NaN, last = NaN] = [percentile(steps, 0.5), percentile(steps, 0.99)];
    bench.say(`${steps.length} steps, half of them within ${middle.toFixed(2)} s`);
    return [
      absolute(`step of others in a flood of ${SIGNALS} signals, 99 of 100`, last, { most: 1, unit: 's' }),
    ];
  },
};

const MANY = 9900;

/** 9,900 signals in one workflow task, on a server that allows as many, beside a hand-written workflow that counts them. */
export const bigFlood: Measurement = {
  name: 'flood-10000',
  isAlone: true,
  dynamicConfig: ['history.maximumSignalsPerExecution=10000'],
  async run(bench) {
    const ours = await survive(bench, 'ours');
    const bare = await survive(bench, 'baseline');
    const seconds = { values: [ours.seconds], baselines: [bare.seconds], unit: 's' };
    const memory = { values: [ours.rss], baselines: [bare.rss], unit: 'MB' };
    return [
      relative(`${MANY} signals in one task`, seconds, { most: 1.25 }),
      relative('memory of the worker afterwards', memory, { most: 1.25 }),
      {
        ...absolute('its longest activation', ours.longestMs / 1000, { most: 1, unit: 's' }),
        baseline: bare.longestMs / 1000,
        ratio: ours.longestMs / bare.longestMs,
      },
    ];
  },
};

/** The signals come while nobody works; then from a worker that is ready to the end, which the last signal brings. */
async function survive(bench: Bench, side: Side): Promise<Measured & { seconds: number }> {
  const first = await startProcess(side, bench.address);
  const workflowId = freshId('flooded');
  const started = startOne(bench, side, { id: workflowId, bare: 'countSignals' });
  await Promise.race([started, first.died]).finally(() => first.kill());
  const handle = bench.client.workflow.getHandle(workflowId);
  const name = side === 'ours' ? 'approval' : 'go';
  for (let sent = 0; sent < MANY; sent += AT_ONCE)
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, n) => handle.signal(side === 'ours' ? name : 'count', JUNK[n % 2])),
    );
  await handle.signal(name, { callId: '1.1', decision: 'approved' });
  bench.say(`${side}: ${MANY} signals sent`);
  const worker = await startProcess(side, bench.address);
  try {
    const ms = await timed(() => Promise.race([handle.result(), worker.died]));
    const measured = await worker.measure();
    if (side === 'ours') await Promise.race([runTurn(bench, 'few'), worker.died]);
    const { rss, longestMs } = measured;
    bench.say(
      `${side}: ${(ms / 1000).toFixed(2)} s, ${rss.toFixed(0)} MB of rss, longest activation ${longestMs.toFixed(0)} ms`,
    );
    return { ...measured, seconds: ms / 1000 };
  } finally {
    await worker.kill();
  }
}

function percentile(numbers: readonly number[], share: number): number | undefined {
  return [...numbers].sort((a, b) => a - b)[Math.ceil(numbers.length * share) - 1];
}

/** Seconds from each time the model was asked to the next, as history has them. */
async function stepSeconds({ client }: Bench, workflowId: string): Promise<number[]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const asked = (events ?? []).flatMap(({ eventTime, activityTaskScheduledEventAttributes: scheduled }) =>
    scheduled?.activityType?.name === ACTIVITIES.think
      ? [Number(eventTime?.seconds) + Number(eventTime?.nanos) / 1e9]
      : [],
  );
  return asked.slice(1).map((at, index) => at - (asked[index] ?? NaN));
}
