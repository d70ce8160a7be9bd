import type { Command } from 'commander';
import type { TurnEvent } from '../../history/events';
import { parsePoint } from '../../history/point';
import { stateAt } from '../../history/state-at';
import { timelineOf } from '../../history/timeline';
import type { Context } from '../context';
import { readTurnEvents } from '../open-turn';
import { momentLines } from '../print/moment';
import { timelineLines } from '../print/timeline';

interface TimelineOptions {
  at?: string;
  json?: boolean;
}

/** `timeline <turn|file>`. */
export function addTimeline(program: Command, context: Context): void {
  program
    .command('timeline <turn|file.json>')
    .description('tell a turn step by step, from the server or from an exported file')
    .option('--at <point>', 'the turn as it was at a step (2), a call (2.1) or an event (#57)')
    .option('--json', 'print JSON')
    .action((named: string, options: TimelineOptions) => timeline(named, options, context));
}

async function timeline(named: string, { at, json }: TimelineOptions, context: Context): Promise<void> {
  const point = at === undefined ? undefined : parsePoint(at);
  const events = await readTurnEvents(named, context);
  if (point === undefined) return tellAll(events, json === true, context);
  const moment = stateAt(events, point);
  if (json === true) return context.screen.json(moment);
  context.screen.lines(momentLines(moment, placeOf(context)));
}

function tellAll(events: readonly TurnEvent[], json: boolean, context: Context): void {
  const told = timelineOf(events);
  if (json) context.screen.json(told);
  else context.screen.lines(timelineLines(told, placeOf(context)));
}

function placeOf({ screen, command }: Context) {
  return { screen, now: Date.now(), command };
}
