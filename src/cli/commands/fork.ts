import { readFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import type { Countersign, ForkChange, ForkTurnRequest, GivenReply, StartedFork } from '../../client';
import { CountersignError } from '../../contract/errors';
import { compareFork } from '../../history/compare';
import { defined } from '../../history/defined';
import { osUser, type Context } from '../context';
import { compareLines } from '../print/compare';
import { readArguments, readText, readTime } from '../read-value';
import { watchTurn } from '../watch-turn';

interface ForkOptions {
  at: string;
  args?: string;
  decision?: 'approved' | 'denied';
  reason?: string;
  reply?: string;
  model?: string;
  live?: boolean;
  id?: string;
  queue?: string;
  as?: string;
  detach?: boolean;
  wait?: string;
  json?: boolean;
}

/** `fork <turn|file.json> --at <call>`. */
export function addFork(program: Command, context: Context): void {
  program
    .command('fork <turn|file.json>')
    .description('go on from a call of a turn as if it had gone otherwise; nothing that happened runs again')
    .requiredOption('--at <call>', 'the call where it goes its own way, such as 2.1, or a step, such as 2')
    .option('--args <json|@file>', 'what if the call had other arguments?')
    .addOption(
      new Option('--decision <decision>', 'what if it had been decided so?').choices(['approved', 'denied']),
    )
    .option('--reason <text>', 'with --decision: why; the model reads it')
    .option('--reply <text|@file>', 'what if the model had answered so? A file has JSON: {"text", "calls"}')
    .option('--model <name>', "one of the agent's models, for the steps from there on")
    .option('--live', 'run what has an effect; dangerous calls wait for new decisions')
    .option('--id <id>', 'the id of the fork; refused if it was ever used')
    .option('--queue <name>', 'the task queue of the worker that has the agent (default: that of the turn)')
    .option('--as <name>', 'who decides (default: your name on this machine)')
    .option('--detach', 'only start it and print its id')
    .option('--wait <time>', 'exit with 6 if a person is still waited for after this time, such as 10m')
    .option('--json', 'print JSON: one event a line and at last the comparison, or with --detach the ids')
    .action((target: string, options: ForkOptions) => fork(target, options, context));
}

async function fork(target: string, options: ForkOptions, context: Context): Promise<void> {
  const { at, model, live, id, queue, wait } = options;
  const waitMs = wait === undefined ? undefined : readTime(wait, '--wait');
  const asked = defined({ model, id, taskQueue: queue, change: await readChange(options) });
  await context.withDesk(async (desk) => {
    const source = await readSource(desk, target);
    const started = await desk.fork({ ...source, at, world: live === true ? 'live' : 'dry', ...asked });
    if (options.detach === true) return tellStarted(started, options, context);
    await follow(desk, started, { json: options.json === true, context, ...defined({ waitMs }) });
  });
}

/** A file where it says so by its name, otherwise a turn. */
async function readSource(
  desk: Countersign,
  target: string,
): Promise<Pick<ForkTurnRequest, 'turn' | 'history'>> {
  if (target.endsWith('.json')) return { history: await readHistory(target) };
  return { turn: await desk.find(target) };
}

async function readHistory(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CountersignError('usage', `the file ${file} cannot be read (${why})`, {
      hint: 'Name a turn, or a history that was exported to a file.',
    });
  }
}

async function readChange(options: ForkOptions): Promise<ForkChange | undefined> {
  const { args, decision, reason, reply } = options;
  if ([args, decision, reply].filter((one) => one !== undefined).length > 1)
    throw new CountersignError('usage', '--args, --decision and --reply exclude each other');
  if (reason !== undefined && decision === undefined)
    throw new CountersignError('usage', '--reason goes with --decision');
  if (args !== undefined) return { what: 'arguments', arguments: await readArguments(args) };
  if (reply !== undefined) return { what: 'reply', reply: await readReply(reply) };
  if (decision === undefined) return undefined;
  return { what: 'decision', decision, approver: options.as ?? osUser(), ...defined({ reason }) };
}

const Reply = z.strictObject({
  text: z.string().optional(),
  calls: z
    .array(z.strictObject({ tool: z.string().min(1), arguments: z.record(z.string(), z.json()).optional() }))
    .optional(),
});

async function readReply(value: string): Promise<GivenReply> {
  if (!value.startsWith('@')) return { text: value };
  const parsed = Reply.safeParse(parseJson(await readText(value, '--reply')));
  if (!parsed.success)
    throw new CountersignError('usage', `--reply ${value} is no reply: ${z.prettifyError(parsed.error)}`, {
      hint: 'Write {"text": "…", "calls": [{"tool": "…", "arguments": {…}}]}.',
    });
  const { text, calls } = parsed.data;
  return defined({ text, calls: calls?.map((call) => defined(call)) });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tellStarted({ turn, runId, of }: StartedFork, { json }: ForkOptions, { screen }: Context): void {
  if (json === true) screen.json({ turn, runId, of });
  else screen.line(turn);
}

interface How {
  json: boolean;
  context: Context;
  waitMs?: number;
}

/** Follows the fork, and compares the two paths however it ended. */
async function follow(
  desk: Countersign,
  { turn, events }: StartedFork,
  { context, ...how }: How,
): Promise<void> {
  const { screen } = context;
  try {
    await watchTurn(desk, { turn, ...how }, context);
  } finally {
    const comparison = compareFork(events, await desk.timeline(turn));
    if (how.json) screen.jsonLine({ type: 'comparison', ...comparison });
    else if (comparison !== undefined) screen.lines(['', ...compareLines(comparison, screen)]);
  }
}
