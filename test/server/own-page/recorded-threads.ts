import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { noSpending } from '../../../src/contract/spending/budget';
import type { TurnEvent } from '../../../src/history/events';
import { turnEventsOfJson } from '../../../src/history/exported';
import { viewOf } from '../../../src/history/view';
import type { PageReader, Thread } from '../../../src/server/own-page/thread';

const folder = join(__dirname, '..', '..', 'histories');

/** The recorded histories of turns. */
export const HISTORIES = readdirSync(folder)
  .filter((name) => name !== 'gate.json')
  .map((name) => name.replace('.json', ''));

export const eventsOf = (name: string): Promise<TurnEvent[]> =>
  turnEventsOfJson(readFileSync(join(folder, `${name}.json`), 'utf8'));

/** A conversation of one turn after some of its events. */
export function threadAt(events: readonly TurnEvent[], cut: number, words?: string): Thread {
  const view = viewOf(events.slice(0, cut));
  const { turn, prompt, answer, endedAt, status } = view;
  const isOver = endedAt !== null && status !== 'running' && status !== 'waiting' && status !== 'in_doubt';
  const step = Math.max(0, ...view.steps.map((one) => one.step)) + 1;
  return {
    session: {
      ...{ session: 's', runId: 'r', agent: view.agent, taskQueue: '', state: 'open', waiting: [] },
      ...{ spent: noSpending(), summaryUsage: {} },
      messages: [{ messageId: 'words', text: prompt, mode: 'queue', at: '' }],
      turns: [{ turn, status: isOver ? status : 'running', messageId: 'words', prompt, took: [], answer }],
    },
    turns: new Map([[turn, view]]),
    words: words === undefined ? undefined : { turn, step, text: words },
  };
}

export const ANN: PageReader = { user: 'ann', isApprover: true, inbox: 'https://inbox' };
