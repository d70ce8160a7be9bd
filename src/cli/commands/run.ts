import type { Command } from 'commander';
import { type Budget, BUDGET_KINDS } from '../../contract/budget';
import { defined } from '../../contract/defined';
import { escapeText } from '../print/escape';
import { type Context, osUser } from '../context';
import { collect, readFacts, readText, readTime, usageError } from '../options';
import { watchTurn } from '../watch-turn';

/** Reads `tokens=50000`, `time=5m`. @throws CountersignError `usage`. */
function readBudget(given: readonly string[]): Budget {
  const budget: Budget = {};
  for (const text of given) {
    const [name = '', value = ''] = text.split('=', 2);
    const kind = BUDGET_KINDS.find((one) => one === name);
    const amount = kind === 'time' ? readTime(value, '--budget') : Number(value || NaN);
    if (kind === undefined || !(amount >= 0))
      throw usageError(`--budget ${text}: write tokens=50000, money=2, steps=10 or time=5m`);
    budget[kind] = amount;
  }
  return budget;
}

interface RunOptions {
  detach?: boolean;
  id?: string;
  queue?: string;
  wait?: string;
  as?: string;
  meta?: readonly string[];
  budget?: readonly string[];
  json?: boolean;
}

/** `run <agent> <prompt>`. */
export function addRun(program: Command, context: Context): void {
  program
    .command('run <agent> <prompt>')
    .description('start a turn and follow it; the prompt may be @file')
    .option('--detach', 'only start it and print its id')
    .option('--id <id>', 'the id of the turn; refused if it was ever used')
    .option('--queue <name>', 'the task queue of the worker that has the agent (default: countersign)')
    .option('--as <name>', 'who asks, for the tools to know (default: your user name here)')
    .option(
      '--meta <name=value>',
      'a fact for the tools, such as tenant=acme; repeatable, never encrypted',
      collect,
    )
    .option(
      '--budget <what=most>',
      'what it may spend: tokens=50000, money=2, steps=10 or time=5m; repeatable',
      collect,
    )
    .option(
      '--wait <time>',
      'exit with 6 if the turn still waits for a person or a worker after this time, such as 10m',
    )
    .option('--json', 'print JSON: one event a line; with --detach the ids')
    .action((agent: string, prompt: string, options: RunOptions) =>
      run(agent, { prompt, ...options }, context),
    );
}

/** Also where nobody is to be waited for, a worker that has just started gets this long. */
const READY_LEAST_MS = 2_000;

async function run(agent: string, options: RunOptions & { prompt: string }, context: Context): Promise<void> {
  const { id, queue, detach, wait, json = false } = options;
  if (detach === true && wait !== undefined)
    throw usageError('--detach does not wait, so --wait has no meaning beside it');
  const waitMs = wait === undefined ? undefined : readTime(wait, '--wait');
  const prompt = await readText(options.prompt, 'the prompt');
  await context.withClient(
    async (client) => {
      const started = await client.start({
        ...{ agent, prompt, requester: options.as ?? osUser() },
        ...defined({ id, taskQueue: queue, metadata: options.meta && readFacts(options.meta) }),
        ...defined({ budget: options.budget && readBudget(options.budget) }),
      });
      if (detach !== true)
        return watchTurn(client, { turn: started.turn, json, ...defined({ waitMs }) }, context);
      if (json) context.screen.json(started);
      else context.screen.line(escapeText(started.turn));
    },
    defined({ readyMs: waitMs === undefined ? undefined : Math.max(waitMs, READY_LEAST_MS) }),
  );
}
