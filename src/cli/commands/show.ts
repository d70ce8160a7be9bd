import type { Command } from 'commander';
import type { Countersign } from '../../client';
import { viewOf } from '../../history/view';
import { defined } from '../../contract/defined';
import { section } from '../print/table';
import { changedIn, rememberPrinted } from '../review/seen';
import type { Context } from '../context';
import { callLines, pendingLines, placeOf, storyOf, turnLines } from '../print/turn';
import { findCall, parseTarget, type Target } from '../target';
import { watchTurn } from '../watch-turn';

interface ShowOptions {
  follow?: boolean;
  json?: boolean;
}

/** `show <turn>[/<call>]`. */
export function addShow(program: Command, context: Context): void {
  program
    .command('show <turn[/call]>')
    .description('show a turn with its timeline, or one call in full')
    .option('-f, --follow', 'follow the turn until it ends')
    .option('--json', 'print JSON')
    .action((target: string, options: ShowOptions) => show(parseTarget(target), options, context));
}

function show(named: Target, { follow, json = false }: ShowOptions, context: Context): Promise<void> {
  return context.withClient(async (client) => {
    const turn = await client.find(named.turn);
    if (follow === true) return watchTurn(client, { turn, json }, context);
    if (named.call === undefined) return showTurn(client, turn, json, context);
    const view = await client.view(turn);
    const call = findCall(view, named.call);
    if (json) return context.screen.json(call);
    await rememberPrinted(call, context);
    const story = storyOf(view, call);
    const changed = await changedIn(client, view);
    return context.screen.lines(callLines(call, { ...placeOf(context), turn, story, ...changed }));
  });
}

async function showTurn(client: Countersign, turn: string, json: boolean, context: Context): Promise<void> {
  const events = await client.timeline(turn);
  const view = viewOf(events);
  const pending = view.endedAt === null ? await client.pendingActivities(turn) : undefined;
  const { screen } = context;
  if (!json) await rememberPrinted(view.calls, context);
  if (json) return screen.json({ ...view, timeline: events, ...defined({ pending }) });
  screen.lines(turnLines(view, events, { ...placeOf(context), ...(await changedIn(client, view)) }));
  if (pending === undefined) return;
  const lines = section('right now', pendingLines(pending, Date.now()).map(context.typed), screen);
  if (lines.length > 0) screen.lines(['', ...lines]);
}
