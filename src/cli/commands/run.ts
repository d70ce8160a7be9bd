import type { Priority } from '@temporalio/common';
import { type Command, Option } from 'commander';
import { type Budget, BUDGET_KINDS } from '../../contract/spending/budget';
import type { Session } from '../../client';
import { CountersignError, usageError } from '../../contract/errors';
import { type MessageMode, MODES } from '../../contract/turn-states';
import { escapeProse, escapeText } from '../../contract/text/escape';
import type { Context } from '../context';
import { addStartOptions, collect, readFacts, readText, readTime } from '../flags';
import { queueOf } from '../load-config';
import { watchTurn } from '../watch-turn';
import { readAttached } from '../attached-file';

/** Reads `tokens=50000`, `time=5m`. @throws CountersignError `usage`. */
export function readBudget(given: readonly string[]): Budget {
  const budget: Budget = {};
  for (const text of given) {
    const [name = '', value = ''] = text.split(/=(.*)/s);
    const kind = BUDGET_KINDS.find((one) => one === name);
    const amount = kind === 'time' ? readTime(value, '--budget') : Number(value || NaN);
    if (kind === undefined || !(amount >= 0))
      throw usageError(`--budget ${text}: write tokens=50000, money=2, steps=10 or time=5m`);
    budget[kind] = amount;
  }
  return budget;
}

/** The option `--budget` of a command that may start a session. */
export function sessionBudgetOption(): Option {
  const text = 'what a session that is started may spend in all its turns, as for run; repeatable';
  return new Option('--budget <what=most>', text).argParser(collect);
}

interface RunOptions {
  detach?: boolean;
  id?: string;
  queue?: string;
  wait?: string;
  meta?: readonly string[];
  file?: readonly string[];
  budget?: readonly string[];
  priority?: readonly string[];
}

const FILE_OPTION = 'an image or another file for the model to read; repeatable';

/** `run <agent> <prompt>`. */
export function addRun(program: Command, context: Context): void {
  const command = program
    .command('run <agent> <prompt>')
    .description('start a turn and follow it; the prompt may be @file')
    .option('--detach', 'only start it and print its id')
    .option('--id <id>', 'the id of the turn; refused if it was ever used');
  addStartOptions(command)
    .option('--file <path>', FILE_OPTION, collect)
    .option(
      '--budget <what=most>',
      'what it may spend: tokens=50000, money=2, steps=10 or time=5m; repeatable',
      collect,
    )
    .option(
      '--priority <what=value>',
      'what comes first in a backlog: key=1 (first) to key=5; fairness-key=acme, fairness-weight=2; repeatable',
      collect,
    )
    .option('--wait <time>', 'exit with 6 if the turn waits and does not run after this time, such as 10m')
    .action((agent: string, prompt: string, options: RunOptions) =>
      run(agent, { prompt, ...options }, context),
    );
}

/** A worker that has just started gets at least this time, even if the command does not wait. */
const READY_LEAST_MS = 2_000;

async function run(agent: string, options: RunOptions & { prompt: string }, context: Context) {
  const { id, detach, wait } = options;
  if (detach === true && wait !== undefined)
    throw usageError('--detach does not wait, so --wait has no meaning beside it');
  const waitMs = wait === undefined ? undefined : readTime(wait, '--wait');
  const prompt = await readText(options.prompt, 'the prompt', context);
  const files = options.file && (await Promise.all(options.file.map(readAttached)));
  const taskQueue = await queueOf(options.queue, context);
  await context.withClient(
    async (client) => {
      const started = await client.start({
        agent,
        prompt,
        requester: context.as,
        files,
        id,
        taskQueue,
        metadata: options.meta && readFacts(options.meta),
        budget: options.budget && readBudget(options.budget),
        priority: options.priority && readPriority(options.priority),
      });
      if (detach !== true) return watchTurn(client, { turn: started.turn, waitMs, isNew: true }, context);
      context.print(started, () => [escapeText(started.turn)]);
    },
    { readyMs: waitMs === undefined ? undefined : Math.max(waitMs, READY_LEAST_MS) },
  );
}

/** Reads `key=1`, `fairness-key=acme`. A text that is not a number becomes NaN, which the client refuses. */
function readPriority(given: readonly string[]): Priority {
  const priority: Priority = {};
  for (const text of given) {
    const [name = '', value = ''] = text.split(/=(.*)/s);
    if (name === 'key') priority.priorityKey = Number(value || NaN);
    else if (name === 'fairness-key') priority.fairnessKey = value;
    else if (name === 'fairness-weight') priority.fairnessWeight = Number(value || NaN);
    else throw usageError(`--priority ${text}: write key=1, fairness-key=acme or fairness-weight=2`);
  }
  return priority;
}

interface SendOptions {
  agent?: string;
  queue?: string;
  budget?: readonly string[];
  mode?: MessageMode;
  messageId?: string;
  file?: readonly string[];
  wait?: boolean;
}

/** `send <session> <words>`. */
export function addSend(program: Command, context: Context): void {
  program
    .command('send <session> <words>')
    .description('say something in a session: a turn works on it; the words may be @file')
    .option('--agent <name>', 'start the session with this agent if it does not exist')
    .option('--queue <name>', 'the task queue of a session that is started')
    .addOption(sessionBudgetOption())
    .addOption(
      new Option(
        '--mode <mode>',
        'while a turn runs: it waits, is read before the next step, or cancels the turn',
      )
        .choices(MODES)
        .default(MODES[0]),
    )
    .option('--file <path>', FILE_OPTION, collect)
    .option('--message-id <id>', 'the id of the message: the same id counts once (default: a random one)')
    .option('--wait', 'wait for the turn that takes it up, and print its answer')
    .action((session: string, words: string, options: SendOptions) =>
      send({ ...options, session, words }, context),
    );
}

async function send(options: SendOptions & { session: string; words: string }, context: Context) {
  const { agent, mode, messageId } = options;
  const text = await readText(options.words, 'the words', context);
  const files = options.file && (await Promise.all(options.file.map(readAttached)));
  const { screen, json, as } = context;
  const taskQueue = agent === undefined ? options.queue : await queueOf(options.queue, context);
  await context.withClient(async (client) => {
    const how = agent === undefined ? {} : { agent, requester: as };
    const budget = options.budget && readBudget(options.budget);
    const session = client.session(options.session, { ...how, taskQueue, budget });
    const sent = await session.send({
      text,
      mode,
      sender: as,
      messageId,
      files,
    });
    const ended = options.wait === true ? await turnOf(session, sent.messageId) : undefined;
    if (json) return screen.json({ ...sent, turn: ended });
    if (ended?.answer !== undefined)
      return screen.lines(ended.answer.split('\n').map((line) => escapeProse(line)));
    const outcome =
      sent.status === 'recorded' ? 'on record; it takes effect when a worker runs' : sent.outcome;
    screen.line(`${escapeText(session.id)}: message ${escapeText(sent.messageId)} is ${outcome}`);
  });
}

/** Waits for the end of the turn that took up a message. @throws CountersignError `failed`. */
async function turnOf(session: Session, messageId: string) {
  for await (const event of session.follow()) {
    if (event.type !== 'turn_ended' && event.type !== 'turn_recalled' && event.type !== 'session_ended')
      continue;
    const { turns } = await session.history();
    const turn = turns.find((one) => one.messageId === messageId || one.took.includes(messageId));
    if (turn?.answer !== undefined) return turn;
    if (turn && turn.status !== 'running')
      throw new CountersignError('failed', `turn ${turn.turn} is ${turn.status.replaceAll('_', ' ')}`);
  }
  throw new CountersignError('failed', `session ${session.id} ended before a turn took up the message`);
}
