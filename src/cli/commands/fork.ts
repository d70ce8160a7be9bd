import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import type { Countersign, ForkChange, ForkTurnRequest, GivenReply } from '../../client';
import { errorMessage, usageError } from '../../contract/errors';
import {
  type ComparedStep,
  compareFork,
  type Comparison,
  type PathCall,
  type PathEnd,
  type PathStep,
} from '../../history/compare';
import type { Context } from '../context';
import { escapeProse, escapeText, type Paint } from '../../contract/text/escape';
import { readArguments, readText, readTime, readValue, refuseOptions } from '../flags';
import { watchTurn } from '../watch-turn';
import type { ScreenFormat, Style } from '../print/screen';
import { labelCell, stateCell } from '../print/table';
import { callText, truncate } from '../../history/describe';
import { describeOutcome } from '../../history/labels';
import { widthOf, wrap } from '../../contract/text/columns';

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
  detach?: boolean;
  wait?: string;
}

/** `fork <turn|file.json> --at <call>`. */
export function addFork(program: Command, context: Context): void {
  program
    .command('fork <turn|file.json>')
    .description('try a turn another way from one call on; nothing that already ran runs again')
    .requiredOption('--at <call>', 'where the fork begins: a call, such as 2.1, or a step, such as 2')
    .option('--args <json|@file>', 'what if the call had other arguments?')
    .addOption(
      new Option('--decision <decision>', 'fork as if this had been the decision').choices([
        'approved',
        'denied',
      ]),
    )
    .option('--reason <text>', 'with --decision: why; the model reads it')
    .option(
      '--reply <text|@file>',
      'fork as if this had been the reply of the model. A file holds JSON: {"text", "calls"}',
    )
    .option('--model <name>', "the model for the steps after the fork: one of the agent's models")
    .option('--live', 'run calls with effects; dangerous ones wait for new decisions')
    .option('--id <id>', 'the id of the fork; refused if it was ever used')
    .option('--queue <name>', 'the task queue of the worker that has the agent (default: that of the turn)')
    .option('--detach', 'only start it and print its id')
    .option('--wait <time>', 'exit with 6 if the turn waits and does not run after this time, such as 10m')
    .action((target: string, options: ForkOptions) => fork(target, options, context));
}

async function fork(target: string, options: ForkOptions, context: Context) {
  const { at, model, live, id, queue, wait } = options;
  const waitMs = wait === undefined ? undefined : readTime(wait, '--wait');
  const asked = { model, id, taskQueue: queue, change: await readChange(options, context) };
  await context.withClient(async (client) => {
    const source = await readSource(client, target);
    const world = live === true ? 'live' : 'dry';
    const { turn, runId, of, events } = await client.fork({ ...source, at, world, by: context.as, ...asked });
    if (options.detach !== true) {
      const { screen, json } = context;
      // The comparison is printed whatever the end of the fork was.
      await watchTurn(client, { turn, waitMs }, context).finally(async () => {
        const comparison = compareFork(events, await client.timeline(turn));
        if (json) screen.jsonLine({ type: 'comparison', ...comparison });
        else if (comparison) screen.lines(['', ...compareLines(comparison, screen)]);
      });
    } else if (context.json) context.screen.json({ turn, runId, of });
    else context.screen.line(escapeText(turn));
  });
}

/** Reads the source of a fork: a file if the target looks like the name of a file, otherwise a turn. */
async function readSource(
  client: Countersign,
  target: string,
): Promise<Pick<ForkTurnRequest, 'turn' | 'history'>> {
  if (!target.endsWith('.json')) return { turn: await client.find(target) };
  try {
    return { history: await readFile(target, 'utf8') };
  } catch (error) {
    const hint = 'Name a turn, or a history that was exported to a file.';
    throw usageError(`the file ${target} cannot be read (${errorMessage(error)})`, hint);
  }
}

async function readChange(options: ForkOptions, context: Context): Promise<ForkChange | undefined> {
  const { args, decision, reason, reply } = options;
  if ([args, decision, reply].filter((one) => one !== undefined).length > 1)
    throw usageError('--args, --decision and --reply exclude each other');
  if (decision === undefined) refuseOptions({ reason }, 'goes with --decision');
  if (args !== undefined) return { what: 'arguments', arguments: await readArguments(args, context) };
  if (reply !== undefined) return { what: 'reply', reply: await readReply(reply, context) };
  if (decision === undefined) return undefined;
  return { what: 'decision', decision, approver: context.as, reason };
}

async function readReply(value: string, context: Context): Promise<GivenReply> {
  if (!value.startsWith('@')) return { text: value };
  const reply = z.strictObject({
    text: z.string().optional(),
    calls: z
      .array(
        z.strictObject({ tool: z.string().min(1), arguments: z.record(z.string(), z.json()).optional() }),
      )
      .optional(),
  });
  const parsed = reply.safeParse(readValue(await readText(value, '--reply', context), '--reply'));
  if (!parsed.success)
    throw usageError(
      `--reply ${value} is not a reply: ${z.prettifyError(parsed.error)}`,
      'Write {"text": "…", "calls": [{"tool": "…", "arguments": {…}}]}.',
    );
  const { text, calls } = parsed.data;
  return { text, calls };
}

/**
 * Two paths side by side, from the point at which the fork began. A step that is the same in both paths is printed
 * once.
 */
export function compareLines(comparison: Comparison, screen: ScreenFormat): string[] {
  const { of, fork, from, world, steps, end } = comparison;
  const { style } = screen;
  return [
    style.strong(`two paths from ${escapeText(from)} on, the second in a ${world} world`),
    ...both(
      [{ text: escapeText(of), paint: style.quiet }],
      [{ text: escapeText(fork), paint: style.quiet }],
      screen,
    ),
    ...steps.flatMap((step) => ['', ...stepLines(step, screen)]),
    '',
    ...endLines(end, screen),
  ];
}

function stepLines({ step, left, right, same }: ComparedStep, screen: ScreenFormat): string[] {
  const { style } = screen;
  if (same && left)
    return [
      style.quiet(`step ${step}, the same in both`),
      ...pathLines(right ?? left, style).flatMap(fit(screen)),
    ];
  return [style.quiet(`step ${step}`), ...both(pathLines(left, style), pathLines(right, style), screen)];
}

function endLines({ left, right, same }: Comparison['end'], screen: ScreenFormat): string[] {
  const { style } = screen;
  if (same) return [style.quiet('the same end'), ...pathEnd(right, style).flatMap(fit(screen))];
  return [style.quiet('the end'), ...both(pathEnd(left, style), pathEnd(right, style), screen)];
}

/** Prints two texts side by side if there is room, otherwise one after the other. */
function both(left: readonly ColumnLine[], right: readonly ColumnLine[], screen: ScreenFormat): string[] {
  const lines = besides(left, right, screen.width);
  if (lines) return lines;
  const { quiet } = screen.style;
  return [quiet('first:'), ...left.flatMap(fit(screen)), quiet('second:'), ...right.flatMap(fit(screen))];
}

function fit({ width }: ScreenFormat): (line: ColumnLine) => string[] {
  return (line) => fitLine(line, width);
}

function pathLines(path: PathStep | undefined, style: Style): ColumnLine[] {
  if (path === undefined) return [{ text: '(it did not get this far)', paint: style.quiet }];
  // The answer is printed once, at the end.
  if (path.calls.length === 0) return [{ text: `${escapeText(path.model)} answers`, paint: style.quiet }];
  const text = path.text.trim() === '' ? [] : [{ text: escapeProse(truncate(path.text.trim())) }];
  return [...text, ...path.calls.flatMap((call) => callLines(call, style))];
}

function callLines(
  { callId, tool, arguments: args, outcome, content }: PathCall,
  style: Style,
): ColumnLine[] {
  const { text: word, paint } = labelCell(describeOutcome(outcome), style);
  const result =
    outcome === 'done' && content !== undefined ? `: ${escapeText(truncate(content.trim()))}` : '';
  return [
    { text: `${escapeText(`${callId} ${callText({ tool, arguments: args })}`)}` },
    { text: `${word}${result}`, indent: 4, ...(paint && { paint }) },
  ];
}

function pathEnd({ status, answer, error }: PathEnd, style: Style): ColumnLine[] {
  const state = stateCell(status, style);
  const said = answer ?? error ?? '';
  return [state, ...(said === '' ? [] : [{ text: escapeProse(truncate(said.trim())) }])];
}

/** One line of a column: text that is safe to print, and how to colour it. */
interface ColumnLine {
  text: string;
  /** The columns of indentation. Wrapped lines get the same indentation. @default 0 */
  indent?: number;
  paint?: Paint;
}

const GAP = 3;
/** Below this width two columns are harder to read than one. */
const BOTH_FROM = 80;
/** The most columns that are used, because a pipe has no width to fill. */
const MOST = 160;

/** Two texts side by side. Undefined on a narrow screen: the texts are then printed one after the other. */
function besides(
  left: readonly ColumnLine[],
  right: readonly ColumnLine[],
  width: number,
): string[] | undefined {
  if (width < BOTH_FROM) return undefined;
  const each = Math.floor((Math.min(width, MOST) - GAP) / 2);
  const [first, second] = [left, right].map((lines) => lines.flatMap((line) => fitLine(line, each)));
  const rows = Math.max(first?.length ?? 0, second?.length ?? 0);
  return Array.from({ length: rows }, (_, row) => {
    const [one, two] = [first?.[row] ?? '', second?.[row] ?? ''];
    return `${one}${' '.repeat(Math.max(0, each - widthOf(one)))} │ ${two}`.trimEnd();
  });
}

/** A line of a column, wrapped to its width. */
function fitLine({ text, indent = 0, paint = (one) => one }: ColumnLine, width: number) {
  return wrap(text, width - indent).map((part) => ' '.repeat(indent) + paint(part));
}
