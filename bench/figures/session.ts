import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign, type Session } from '../../lib/client';
import { defineAgent, defineConfig, defineTool, type Model, startWorker } from '../../lib/index';
import {
  absolute,
  alternate,
  type Bench,
  type Figure,
  type Measurement,
  median,
  relative,
  timed,
} from '../figure';
import { BASELINE_QUEUE, freshId, started } from '../subjects';
import { untilStarted } from './decision';

const ROUNDS = 40;
const CALLS = 20;
const AT_ONCE = 200;
/** Of the long session; fewer for a look on the way. */
const TURNS = Number(process.env['COUNTERSIGN_BENCH_TURNS'] ?? 500);
/** At how many events the server suggests to continue as new. */
const SUGGESTED_EVENTS = 4096;

/** A worker with the agents of these figures, and a client of its server. */
interface Place {
  bench: Bench;
  client: Countersign;
  taskQueue: string;
}

function measurement(
  name: 'session' | 'long-session',
  measure: (place: Place) => Promise<Figure[]>,
): Measurement {
  return {
    name,
    run: async (bench) => {
      const taskQueue = freshId('talkers');
      const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-session-'));
      const agents = [talker('talks', 0), talker('works', CALLS)];
      const config = defineConfig({ agents, taskQueue, stateDir, log: { calls: false } });
      const worker = await startWorker({ config, address: bench.address, logLevel: 'ERROR' });
      const client = await connect({ address: bench.address });
      try {
        return await measure({ bench, client, taskQueue });
      } finally {
        await client.close();
        await worker.stop();
      }
    },
  };
}

/** An agent that makes one call in each of so many steps of a turn, then answers; it tells when it is asked. */
function talker(name: string, calls: number) {
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    effect: 'pure',
    handler: () => 'x'.repeat(1024),
  });
  const model: Model = {
    id: name,
    generate: ({ messages }) => {
      const at = messages.findLastIndex(({ role }) => role === 'user');
      const made = messages.slice(at).filter(({ role }) => role === 'assistant').length;
      if (made === 0) started.get(messages[at]?.content ?? '')?.();
      const toolCalls = made < calls ? [{ name: 'look', arguments: `{"n":${made}}` }] : [];
      return Promise.resolve({ text: 'done', toolCalls, finishReason: 'stop' });
    },
  };
  const limits = { steps: calls + 1, repeats: false as const };
  return defineAgent({ name, instructions: 'Talk.', model, tools: [look], limits });
}

const open = ({ client, taskQueue }: Place, agent: string): Session =>
  client.session(freshId('session'), { agent, taskQueue });

/** Milliseconds from a message until the model is asked about it. */
function untilAsked(session: Pick<Session, 'send'>): Promise<number> {
  const key = freshId('words');
  return untilStarted(key, () => session.send(key));
}

/** Waits for the end of a turn that has started; gives the milliseconds that it took by the server's clock. */
async function tookOf({ bench }: Place, turn: string): Promise<number> {
  const handle = bench.client.workflow.getHandle(turn);
  await handle.result();
  const { startTime, closeTime } = await handle.describe();
  return (closeTime?.getTime() ?? NaN) - startTime.getTime();
}

/** From a message to the model, beside a session that was written by hand; then what a session adds to a turn. */
export const session = measurement('session', async (place) => {
  const { bench, client, taskQueue } = place;
  const mine = open(place, 'talks');
  const bare = { taskQueue: BASELINE_QUEUE, workflowId: freshId('bare-session') };
  const byHand = await bench.client.workflow.start('bareSession', bare);
  const send = (text: string) => byHand.executeUpdate('say', { args: [text] });
  const say = async (): Promise<number> => {
    const key = freshId('words');
    return untilStarted(key, () => send(key));
  };
  const [baselines, ours] = await alternate(ROUNDS, say, () => untilAsked(mine));
  await byHand.terminate();
  const [bareMs, oursMs] = [baselines, ours].map((list) => median(list).toFixed(1));
  bench.say(`message sent → model asked: ${oursMs} ms, by hand ${bareMs} ms`);
  const working = open(place, 'works');
  let turns = 0;
  const [alone, inSession] = await alternate(
    ROUNDS / 4,
    async () => {
      const { turn } = await client.start({ agent: 'works', prompt: 'go', taskQueue });
      return tookOf(place, turn);
    },
    async () => {
      await untilAsked(working);
      turns += 1;
      return tookOf(place, `${working.id}.t${turns}`);
    },
  );
  return [
    absolute('message sent → model asked, over a bare session', median(ours) - median(baselines), {
      ...{ most: 15, unit: 'ms' },
    }),
    relative(
      `turn of ${CALLS} calls in a session`,
      { values: inSession, baselines: alone, unit: 'ms' },
      { most: 1.1 },
    ),
    ...(await manyAtOnce(place)),
  ];
});

/** Sessions that are all spoken to at the same moment. */
async function manyAtOnce(place: Place): Promise<Figure[]> {
  const sessions = Array.from({ length: AT_ONCE }, () => open(place, 'talks'));
  let answered = 0;
  const ms = await timed(() =>
    Promise.all(
      sessions.map(async (one) => {
        await untilAsked(one);
        await tookOf(place, `${one.id}.t1`);
        answered += 1;
      }),
    ),
  );
  place.bench.say(`${answered} sessions answered after ${Math.round(ms)} ms`);
  return [
    absolute(`${AT_ONCE} sessions spoken to at once, answered`, answered, { least: AT_ONCE, unit: '' }),
  ];
}

/** A session of many turns. */
export const longSession = measurement('long-session', async (place) => {
  const { bench } = place;
  const mine = open(place, 'works');
  const delays: number[] = [];
  const rss: number[] = [];
  for (let turn = 1; turn <= TURNS; turn++) {
    delays.push(await untilAsked(mine));
    await tookOf(place, `${mine.id}.t${turn}`);
    rss.push(process.memoryUsage.rss() / 1e6);
    if (turn % 50 === 0) bench.say(`turn ${turn} of ${TURNS}, ${Math.round(rss.at(-1) ?? 0)} MB`);
  }
  const early = delays.slice(5, 15);
  const lengths: number[] = [];
  for await (const { historyLength } of bench.client.workflow.list({ query: `WorkflowId = '${mine.id}'` }))
    lengths.push(historyLength);
  bench.say(`runs of ${lengths.join(', ')} events`);
  const fifth = Math.floor(TURNS / 5);
  return [
    relative(
      `turn ${TURNS} of a session, message sent → model asked, beside the 10th`,
      { values: [median(delays.slice(-10))], baselines: [median(early)], unit: 'ms' },
      { most: 1.2 },
    ),
    absolute('most events of a run of it', Math.max(...lengths), { most: SUGGESTED_EVENTS, unit: 'events' }),
    relative(
      'memory of the worker at its end, beside a fifth of it',
      { values: [median(rss.slice(-10))], baselines: [median(rss.slice(fifth - 5, fifth + 5))], unit: 'MB' },
      { most: 1.2 },
    ),
  ];
});
