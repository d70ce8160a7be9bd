import type { InboxItem, InboxQuery } from '../client';
import type { Context } from './context';
import { openFullScreen, type FullScreen } from './live/full-screen';
import { changesBetween, watchInbox, type InboxLook } from './live/watch-inbox';
import { changeLine, inboxLines } from './print/inbox';
import { createScreen } from './print/screen';
import { takeStopSignals } from './stop-signals';

/** What is watched, and how it is told. */
export interface InboxWatch {
  query: InboxQuery;
  json: boolean;
}

/** Shows the inbox live until Ctrl-C: redrawn on a terminal, one line for each change anywhere else. */
export async function watchInboxHere({ query, json }: InboxWatch, context: Context): Promise<void> {
  const full = json ? undefined : fullScreenOf(context);
  const stop = takeStopSignals(() => full?.close());
  const show = full === undefined ? tellChanges(json, context) : drawOn(full, context);
  try {
    await context.withDesk(async (desk) => {
      for await (const look of watchInbox(desk, query, stop.signal)) show(look);
    });
  } finally {
    full?.close();
    stop.release();
  }
}

/** Undefined where nobody looks, or the terminal cannot be drawn on. */
function fullScreenOf({ keyboard, env, screen }: Context): FullScreen | undefined {
  const isDrawable = screen.isTerminal && keyboard?.output.isTTY === true && env['TERM'] !== 'dumb';
  return isDrawable && keyboard !== undefined ? openFullScreen(keyboard.output) : undefined;
}

/** The whole inbox, drawn anew with every look, in the width that the window has then. */
function drawOn(full: FullScreen, context: Context): (look: InboxLook) => void {
  const { keyboard, env, command } = context;
  let items: InboxItem[] = [];
  return (look) => {
    const output = keyboard?.output ?? process.stdout;
    const screen = createScreen(output, output, env);
    if ('items' in look) items = look.items;
    const state = 'away' in look ? screen.style.bad('no server, trying again') : 'live';
    const head = `${items.length} waiting, ${state}${screen.style.quiet('; Ctrl-C leaves')}`;
    full.draw([head, '', ...inboxLines(items, { screen, command }, Date.now())]);
  };
}

/** A line for each change; what waits at the beginning is new. */
function tellChanges(json: boolean, { screen }: Context): (look: InboxLook) => void {
  let before: readonly InboxItem[] = [];
  let isAway = false;
  return (look) => {
    if ('away' in look !== isAway)
      screen.note(isAway ? 'the server is back' : `${'away' in look ? look.away : ''}; trying again`);
    isAway = 'away' in look;
    if ('away' in look) return;
    const at = new Date().toISOString();
    for (const change of changesBetween(before, look.items)) {
      if (json) screen.jsonLine({ at, ...change });
      else screen.line(changeLine(change, at, screen));
    }
    before = look.items;
  };
}
