import type { Command } from 'commander';
import type { Countersign } from '../../client';
import { viewOf } from '../../history/view';
import type { Context } from '../context';
import { pendingLines } from '../print/pending';
import { callLines, storyOf, turnLines } from '../print/turn';
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
    .option('-f, --follow', 'go on until the turn ends')
    .option('--json', 'print JSON')
    .action((target: string, options: ShowOptions) => show(parseTarget(target), options, context));
}

function show(named: Target, { follow, json = false }: ShowOptions, context: Context): Promise<void> {
  return context.withDesk(async (desk) => {
    const turn = await desk.find(named.turn);
    if (follow === true) return watchTurn(desk, { turn, json }, context);
    if (named.call === undefined) return showTurn(desk, { turn, json }, context);
    const view = await desk.view(turn);
    const call = findCall(view, named.call);
    if (json) return context.screen.json(call);
    const story = storyOf(view, call);
    return context.screen.lines(callLines(call, { ...place(context), turn, story }));
  });
}

async function showTurn(
  desk: Countersign,
  { turn, json }: { turn: string; json: boolean },
  context: Context,
): Promise<void> {
  const events = await desk.timeline(turn);
  const view = viewOf(events);
  const pending = view.endedAt === null ? await desk.pendingActivities(turn) : undefined;
  const { screen } = context;
  if (json) return screen.json({ ...view, timeline: events, ...(pending === undefined ? {} : { pending }) });
  screen.lines(turnLines(view, events, place(context)));
  if (pending === undefined) return;
  const lines = pendingLines(pending, Date.now());
  if (lines.length > 0)
    screen.lines(['', screen.style.quiet('right now:'), ...lines.map((line) => `  ${line}`)]);
}

function place({ screen, command }: Context) {
  return { screen, now: Date.now(), command };
}
