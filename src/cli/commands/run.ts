import type { Command } from 'commander';
import type { Countersign, StartRequest } from '../../client';
import { CountersignError } from '../../contract/errors';
import { defined } from '../../history/defined';
import type { Context } from '../context';
import { readText, readTime } from '../read-value';
import { watchTurn } from '../watch-turn';

interface RunOptions {
  detach?: boolean;
  id?: string;
  queue?: string;
  wait?: string;
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
    .option('--wait <time>', 'exit with 6 if a person is still waited for after this time, such as 10m')
    .option('--json', 'print JSON: one event a line, or with --detach the ids')
    .action((agent: string, prompt: string, options: RunOptions) =>
      run(agent, { prompt, ...options }, context),
    );
}

async function run(agent: string, options: RunOptions & { prompt: string }, context: Context): Promise<void> {
  const { id, queue, detach, wait, json = false } = options;
  if (detach === true && wait !== undefined) {
    throw new CountersignError('usage', '--detach does not wait, so --wait has no meaning beside it');
  }
  const waitMs = wait === undefined ? undefined : readTime(wait, '--wait');
  const prompt = await readText(options.prompt, 'the prompt');
  const request: StartRequest = { agent, prompt, ...defined({ id, taskQueue: queue }) };
  await context.withDesk((desk) =>
    detach === true
      ? startOnly(desk, request, { json, context })
      : startAndWatch(desk, request, { json, context, ...defined({ waitMs }) }),
  );
}

interface How {
  json: boolean;
  context: Context;
  waitMs?: number;
}

async function startOnly(desk: Countersign, request: StartRequest, { json, context }: How): Promise<void> {
  const started = await desk.start(request);
  if (json) context.screen.json(started);
  else context.screen.line(started.turn);
}

async function startAndWatch(
  desk: Countersign,
  request: StartRequest,
  { context, ...how }: How,
): Promise<void> {
  const { turn } = await desk.start(request);
  await watchTurn(desk, { turn, ...how }, context);
}
