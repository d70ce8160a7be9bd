import { temporal } from '@temporalio/proto';
import { connect, type Countersign } from '../../lib/client';
import { absolute, relative, timed, type Bench, type Measurement } from '../figure';
import { startProcess } from '../worker';
import { startMany, startOne, startWaiting } from './waiting';

const { TIMEOUT_TYPE_SCHEDULE_TO_START } = temporal.api.enums.v1.TimeoutType;

const DECISIONS = 500;
/** As the client does. */
const AT_ONCE = 50;
/** Before what counts: new processes are slow, and workers work for days. */
const WARM_UP = 100;
const ROUNDS = 2;

/** A hand-written workflow that takes an update and then does the least which follows from a decision. */
const DECIDED_STEP = 'rawDecidedStep';

/**
 * 500 decisions at once on turns that wait, beside as many updates to a hand-written workflow that waits, from the first
 * one sent to the last answer. The limit is about updates that set off nothing. Those that set off what a decision does,
 * a tool and a question to the model, are shown: they tell how much of the time that takes.
 */
export const burst: Measurement = {
  name: 'burst',
  isAlone: true,
  async run(bench) {
    const workers = [
      await startProcess('ours', bench.address),
      await startProcess('baseline', bench.address),
    ];
    const countersign = await connect({ address: bench.address });
    try {
      return await measure(bench, countersign);
    } finally {
      await Promise.all(workers.map((worker) => worker.kill()));
      await countersign.close();
    }
  },
};

async function measure(bench: Bench, countersign: Countersign) {
  await playRound(bench, countersign, WARM_UP);
  const rounds: Round[] = [];
  while (rounds.length < ROUNDS) rounds.push(await playRound(bench, countersign, DECISIONS));
  const values = rounds.map(({ ours }) => ours);
  const [bare, step] = [rounds.map((round) => round.bare), rounds.map((round) => round.step)];
  const accepted = Math.min(...rounds.map((round) => round.accepted));
  const timedOut = Math.max(...rounds.map((round) => round.timedOut));
  return [
    relative(`${DECISIONS} decisions at once`, { values, baselines: bare, unit: 's' }, { most: 1.25 }),
    relative('the same, over updates that set off as much', { values, baselines: step, unit: 's' }, {}),
    absolute('of these accepted, not only on record', accepted, { least: DECISIONS, unit: 'decisions' }),
    absolute('of these taken from their worker', timedOut / DECISIONS, { most: 0.02, unit: 'times a turn' }),
  ];
}

interface Round {
  /** Seconds until the last answer: decisions, updates that set off nothing, updates that set off as much. */
  ours: number;
  bare: number;
  step: number;
  accepted: number;
  /** Workflow tasks that waited too long for the worker that has the turn in memory; another replays the turn. */
  timedOut: number;
}

async function playRound(bench: Bench, countersign: Countersign, count: number): Promise<Round> {
  const turns = await startWaiting(bench, 'ours', count);
  let accepted = 0;
  const ours = (await timed(async () => (accepted = await decideAll(countersign, turns)))) / 1000;
  await allEnd(bench, turns);
  const timedOut = await countTimedOut(bench, turns);
  const bare = await updateMany(bench, 'rawDecision', count);
  const step = await updateMany(bench, DECIDED_STEP, count);
  const [first, second, third] = [ours, bare, step].map((seconds) => `${seconds.toFixed(2)} s`);
  bench.say(
    `${count} decisions in ${first}, updates in ${second}, updates that set off as much in ${third}; ${accepted} accepted, ${timedOut} tasks timed out`,
  );
  return { ours, bare, step, accepted, timedOut };
}

/** Workflow tasks of all these turns that no worker took in time; only those in the queue of one worker can. */
async function countTimedOut({ client }: Bench, turns: readonly string[]): Promise<number> {
  let count = 0;
  for (const turn of turns) {
    const { events } = await client.workflow.getHandle(turn).fetchHistory();
    const types = (events ?? []).map((event) => event.workflowTaskTimedOutEventAttributes?.timeoutType);
    count += types.filter((type) => type === TIMEOUT_TYPE_SCHEDULE_TO_START).length;
  }
  return count;
}

/** Decides on all at once; gives how many were accepted. */
async function decideAll(countersign: Countersign, turns: readonly string[]): Promise<number> {
  const answers = await Promise.all(
    turns.map((turn) => countersign.decide(turn, { callId: '1.1', decision: 'approved' })),
  );
  return answers.filter(({ status }) => status === 'accepted').length;
}

/** Seconds until so many workflows of a kind have answered an update each. */
async function updateMany(bench: Bench, bare: string, count: number): Promise<number> {
  const ids = await startMany(count, (id) => startOne(bench, 'baseline', { id, bare }));
  const ms = await timed(() => updateAll(bench, ids));
  await allEnd(bench, ids);
  return ms / 1000;
}

/** What one side left must not run beside the other. */
async function allEnd({ client }: Bench, workflowIds: readonly string[]): Promise<void> {
  for (const id of workflowIds) await client.workflow.getHandle(id).result();
}

async function updateAll({ client }: Bench, workflowIds: readonly string[]): Promise<void> {
  const left = [...workflowIds];
  const next = async (): Promise<void> => {
    for (let id = left.pop(); id !== undefined; id = left.pop())
      await client.workflow.getHandle(id).executeUpdate('decide', { args: [] });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}
