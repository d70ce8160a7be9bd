import type { Command } from 'commander';
import type { Countersign, SessionView } from '../../client';
import { usageError } from '../../contract/errors';
import { escapeProse, escapeText } from '../../contract/text/escape';
import { notePauses } from './pause';
import { parsePoint, stateAt } from '../../history/moment';
import { timelineOf } from '../../history/timeline';
import type { ConversationSummary, HeldMessage } from '../../contract/session';
import { describeFile, withFiles } from '../../contract/text/bytes';
import { counted } from '../../history/labels';
import { section } from '../print/table';
import { momentLines, timelineLines } from '../print/timeline';
import { changedIn, rememberPrinted } from '../review/seen';
import type { Context } from '../context';
import { sessionOf } from '../open-session';
import { isFile, readTurnEvents } from '../turn-or-file';
import { callLines, limitsText, pendingLines, storyOf } from '../print/turn';
import { findCall, parseTarget } from '../target';
import { watchTurn } from '../watch-turn';

interface ShowOptions {
  at?: string;
  follow?: boolean;
}

/** `show <turn>[/<call>]`, `show <file>`. */
export function addShow(program: Command, context: Context): void {
  program
    .command('show <turn[/call]|file.json>')
    .description('show a turn step by step, also from an exported file, one call in full, or a session')
    .option('--at <point>', 'the turn as it was at a step (2), a call (2.1) or an event (#57)')
    .option('-f, --follow', 'follow the turn until it ends')
    .action((target: string, options: ShowOptions) =>
      options.at !== undefined || isFile(target)
        ? showRecord(target, options, context)
        : show(parseTarget(target), options, context),
    );
}

function show(named: ReturnType<typeof parseTarget>, { follow }: ShowOptions, context: Context) {
  const { json } = context;
  return context.withClient(async (client) => {
    const session = named.call === undefined ? await sessionOf(client, named.turn) : undefined;
    if (session) return showSession(session, follow === true, context);
    const turn = await client.find(named.turn);
    if (!json) await notePauses(client, context.screen);
    if (follow === true) return watchTurn(client, { turn }, context);
    if (named.call === undefined) return showTurn(client, turn, context);
    const view = await client.view(turn);
    const call = findCall(view, named.call);
    if (json) return context.screen.json(call);
    const story = storyOf(view, call);
    const changed = await changedIn(client, view);
    context.screen.lines(callLines(call, { ...printPlaceOf(context), turn, story, ...changed }));
    return rememberPrinted(call, context);
  });
}

/** Shows a turn by its events alone: one in a file, or a turn as it was at a point. */
async function showRecord(named: string, { at, follow }: ShowOptions, context: Context) {
  if (follow === true) throw usageError('--follow takes a turn as it is now, on the server');
  const point = at === undefined ? undefined : parsePoint(at);
  const events = await readTurnEvents(named, context);
  const place = printPlaceOf(context);
  if (point) {
    const moment = stateAt(events, point);
    return context.print(moment, () => momentLines(moment, place));
  }
  const timeline = timelineOf(events);
  context.print({ ...timeline.view, timeline: events }, () => timelineLines(timeline, place));
}

async function showTurn(client: Countersign, turn: string, context: Context) {
  const events = await client.timeline(turn);
  const timeline = timelineOf(events);
  const { view } = timeline;
  const pending = view.endedAt === null ? await client.pendingActivities(turn) : undefined;
  const { screen } = context;
  if (context.json) return screen.json({ ...view, timeline: events, pending });
  screen.lines(timelineLines(timeline, { ...printPlaceOf(context), ...(await changedIn(client, view)) }));
  await rememberPrinted(view.calls, context);
  if (pending === undefined) return;
  const lines = section('right now', pendingLines(pending, Date.now()).map(context.typed), screen);
  if (lines.length > 0) screen.lines(['', ...lines]);
}

function showSession(view: SessionView, follow: boolean, context: Context) {
  if (follow)
    throw usageError(
      `${view.session} is a session; --follow takes a turn, such as ${view.turns.at(-1)?.turn ?? `${view.session}.t1`}`,
    );
  context.print(view, () => viewLines(view));
}

/** A session as a conversation: each turn with its words and its answer, then what waits. */
function viewLines({
  session,
  agent,
  state,
  turns,
  summary,
  waiting,
  messages,
  ...spending
}: SessionView): string[] {
  const wordsOf = (id: string) =>
    messageLines(
      messages.find(({ messageId }) => messageId === id),
      id,
    );
  const lines = [`session ${escapeText(session)} with ${escapeText(agent)}: ${state}`];
  const limits = limitsText(spending);
  if (limits !== undefined) lines.push(`spent: ${limits}`);
  for (const { turn, status, prompt, files, took, answer, error } of turns) {
    lines.push('', `${escapeText(turn)}  ${status.replaceAll('_', ' ')}`);
    lines.push(...messageLines({ text: prompt ?? '', ...withFiles(files) }), ...took.flatMap(wordsOf));
    lines.push(...quoted('  ', answer ?? error ?? ''));
  }
  if (summary) lines.push('', ...summaryLines(summary));
  if (waiting.length > 0) lines.push('', 'waiting:', ...waiting.flatMap((message) => messageLines(message)));
  return lines;
}

/** The lines of a message and its files. If the message is not known, only `id` is shown. */
function messageLines(message: Pick<HeldMessage, 'text' | 'files'> | undefined, id = ''): string[] {
  const { text, files = [] } = message ?? { text: id };
  return [text, ...files.map((file) => `[${describeFile(file)}]`)].flatMap((line) => quoted('> ', line));
}

/** The summary that the model of a session reads in place of its oldest turns. */
export function summaryLines({ text, turns, leftOut = 0, model = 'a model' }: ConversationSummary): string[] {
  const kept = turns - leftOut;
  const first = kept === 1 ? 'the first turn' : `the first ${kept} turns`;
  return [
    ...(kept === 0 ? [] : [`in place of ${first} the model reads this summary by ${escapeText(model)}:`]),
    ...quoted('  ', text),
    ...(leftOut === 0
      ? []
      : [
          `of ${counted(leftOut, 'turn')} ${kept === 0 ? '' : 'after that '}it reads nothing: the conversation was over its limit`,
        ]),
  ];
}

function quoted(mark: string, text: string) {
  return text === '' ? [] : text.split('\n').map((line) => `${mark}${escapeProse(line)}`);
}

/** Makes the place for a command that prints a turn: the screen, the time, and the commands that a person types. */
function printPlaceOf({ screen, command }: Pick<Context, 'screen' | 'command'>) {
  return { screen, now: Date.now(), command };
}
