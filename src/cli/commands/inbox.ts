import type { Command } from 'commander';
import type { Context } from '../context';
import { listDecided } from '../decided';
import { addMineOption, type Mine, type MineOptions, readMine } from '../mine';
import { addInboxFilters, type InboxFilters, readInboxQuery } from '../flags';
import { changeLine, inboxLines } from '../print/inbox';
import type { InboxItem, InboxQuery } from '../../client';
import { changesBetween, type InboxLook, watchInbox } from '../../client/inbox/live';
import { wrapAll } from '../../contract/text/columns';
import { createScreen, type Sink } from '../print/screen';
import { idsOn } from '../print/table';
import { takeStopSignals } from '../stop-signals';
import { safeLine } from '../../contract/text/escape';
import { type KnownPauses, NOTHING_PAUSED, notePauses, watchPauses } from './pause';

interface InboxOptions extends InboxFilters, MineOptions {
  watch?: boolean;
  decided?: boolean;
}

/** `inbox`. */
export function addInbox(program: Command, context: Context): void {
  const command = program
    .command('inbox')
    .description('list what waits for a person: calls in doubt, then the earliest deadline')
    .option('-w, --watch', 'keep watching, and show what changes, until Ctrl-C')
    .option(
      '--decided',
      'instead: what you decided, newest first, and how it ended; --limit counts turns (200)',
    );
  addMineOption(addInboxFilters(command)).action((options: InboxOptions) => inbox(options, context));
}

async function inbox(options: InboxOptions, context: Context): Promise<void> {
  if (options.decided === true) return listDecided(options, context);
  const query = readInboxQuery(options);
  const mine = await readMine(options, context);
  if (options.watch === true) return watchInboxHere({ query, mine }, context);
  const { limit = MOST_SHOWN, ...narrow } = query;
  const { screen, json } = context;
  await context.withClient(async (client) => {
    if (!json) await notePauses(client, screen);
    const filter = { ...narrow, ...mine };
    const items = await client.inbox({ ...filter, limit });
    // If fewer items arrive than the limit allows, they are all items of the inbox.
    const count = items.length < limit ? items.length : await client.countWaiting(filter);
    if (json) return screen.json(items);
    const ids = await idsOn(
      screen,
      client,
      items.map(({ turn }) => turn),
    );
    screen.lines(inboxLines(items, context, Date.now(), ids));
    if (count > items.length) screen.note(moreLine(count - items.length, count, context));
  });
}

/** The most lines that are shown unless `--limit` says otherwise. */
const MOST_SHOWN = 100;

function moreLine(more: number, all: number, { command }: Context): string {
  const rest = `${more.toLocaleString('en')} more`;
  return `${rest}: ${command(`inbox --limit ${all}`)} lists all; --tool, --agent and --older-than narrow it down`;
}

/** The part of the inbox to watch, and how to print it. */
interface InboxWatch {
  query: InboxQuery;
  mine: Mine;
}

/** Shows the inbox live until Ctrl-C: redrawn on a terminal, one line for each change anywhere else. */
async function watchInboxHere({ query, mine }: InboxWatch, context: Context): Promise<void> {
  const { json } = context;
  const { limit, ...narrow } = query;
  const full = json ? undefined : fullScreenOf(context);
  const stop = takeStopSignals(() => full?.close());
  const show = full === undefined ? printChanges(limit, context) : drawOn(full, limit, context);
  try {
    await context.withClient(async (client) => {
      const pauses = json ? async () => NOTHING_PAUSED : watchPauses(client);
      const filter = { ...narrow, ...mine };
      for await (const look of watchInbox(client, filter, stop.signal)) show(look, await pauses());
    });
  } finally {
    full?.close();
    stop.release();
  }
}

/** The full screen. Undefined in a pipe, or if the terminal cannot be drawn on. */
function fullScreenOf({ keyboard, env, screen }: Context): FullScreen | undefined {
  const output = keyboard?.output;
  if (!screen.isTerminal || output?.isTTY !== true || env['TERM'] === 'dumb') return undefined;
  return openFullScreen(output);
}

/** Shows the current state of the inbox, and what is paused. */
type Show = (look: InboxLook, paused: KnownPauses) => void;

/** Draws the inbox again for each new state, in the current width of the window. The counts cover the whole inbox. */
function drawOn(full: FullScreen, limit = MOST_SHOWN, context: Context): Show {
  const { env, command } = context;
  let seen: { items: readonly InboxItem[]; isComplete: boolean } = { items: [], isComplete: false };
  return (look, paused) => {
    const screen = createScreen(full.output, full.output, env);
    if ('items' in look) seen = look;
    const count = `${seen.items.length.toLocaleString('en')} waiting${seen.isComplete ? '' : ' so far, still reading'}`;
    const state = 'away' in look ? screen.style.bad(look.away) : 'live';
    const shown = seen.items.slice(0, limit);
    const more = seen.items.length - shown.length;
    const rest = more > 0 ? ['', `${more.toLocaleString('en')} more; --limit shows more of them`] : [];
    const head = `${count}, ${state}${screen.style.quiet('; Ctrl-C leaves')}`;
    const held = wrapAll(paused.lines(Date.now()), screen.width).map(screen.style.warn);
    full.draw([head, ...held, '', ...inboxLines(shown, { screen, command }, Date.now()), ...rest]);
  };
}

/** Prints a line for each change. Items that wait at the beginning count as new. */
function printChanges(limit: number | undefined, { screen, json }: Context): Show {
  let before: readonly InboxItem[] = [];
  let isAway = false;
  let noted = '';
  return (look, paused) => {
    if (paused.key !== noted) {
      const lines = paused.key === '' ? ['nothing is paused any more'] : paused.lines(Date.now());
      for (const line of lines) screen.note(screen.style.warn(line));
      noted = paused.key;
    }
    if ('away' in look !== isAway)
      screen.note(isAway ? 'the server is back' : `${'away' in look ? look.away : ''}; trying again`);
    isAway = 'away' in look;
    if ('away' in look) return;
    const at = new Date().toISOString();
    const after = look.items.slice(0, limit);
    for (const change of changesBetween(before, after)) {
      if (json) screen.jsonLine({ at, ...change });
      else screen.line(changeLine(change, at, screen));
    }
    before = after;
  };
}

/** A terminal that is drawn on as a whole. */
interface FullScreen {
  output: Canvas;
  /**
   * Replaces the lines on the screen. Lines for which there is not enough room are only counted. The lines must fit the
   * width.
   */
  draw(lines: readonly string[]): void;
  /** Restores the terminal. */
  close(): void;
}

interface Canvas extends Sink {
  rows?: number | undefined;
}

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const REST_OF_LINE = '\x1b[K';
const REST_OF_SCREEN = '\x1b[J';

/** Takes over the terminal: a separate page, without a cursor. */
export function openFullScreen(canvas: Canvas): FullScreen {
  canvas.write(ENTER);
  return {
    output: canvas,
    draw: (lines) => {
      const drawn = fitted(lines, canvas.rows || 24).map((line) => safeLine(line, true) + REST_OF_LINE);
      canvas.write(HOME + drawn.join('\r\n') + REST_OF_SCREEN);
    },
    close: () => void canvas.write(LEAVE),
  };
}

function fitted(lines: readonly string[], rows: number): string[] {
  if (lines.length <= rows) return [...lines];
  const kept = lines.slice(0, Math.max(1, rows - 1));
  return [...kept, `… ${lines.length - kept.length} more lines; make the window higher, or filter`];
}
