import { CountersignError } from '../../contract/errors';
import { addUsage, sumUsage } from '../../contract/spending/usage';
import { counted, describeUsage } from '../../history/labels';
import type { TurnView } from '../../history/view';
import { limitsText } from '../print/turn';
import type { Chat } from './follow';

/** The most turns that are read for a sum. In a longer session, the last turns are read. */
const MOST_READ = 200;

/** What a person asks for in a conversation. */
export type FigureName = 'model' | 'tools' | 'cost';

/**
 * The answer to `/model`, `/tools` or `/cost`, in lines. It says how many turns are not counted. `isThere`: the session has
 * started.
 */
export async function figuresLines(chat: Chat, name: FigureName, isThere: boolean): Promise<string[]> {
  const view = isThere ? await chat.session.history() : undefined;
  const { turns = [], summaryUsage = {} } = view ?? {};
  const read = await Promise.all(turns.slice(-MOST_READ).map(({ turn }) => viewOnRecord(chat, turn)));
  const known = read.filter((one) => one !== undefined);
  const lost = turns.length - known.length;
  const steps = known.flatMap((view) => view.steps);
  const of = lost === 0 ? '' : ` (${lost} turns are not counted: older, or not on record any more)`;
  if (name === 'model') return [steps.at(-1)?.model ?? 'no model has answered yet'];
  if (name === 'tools') {
    const tools = [...new Set(known.flatMap((view) => view.calls.map(({ tool }) => tool)))].sort();
    return [`used so far: ${tools.join(', ') || 'none'}${of}`];
  }
  const usage = describeUsage(addUsage(sumUsage(steps), summaryUsage)) || 'no tokens were counted';
  const limits = view && limitsText(view);
  const spent = limits === undefined ? [] : [`the session has spent ${limits}`];
  return [`${usage}; ${counted(steps.length, 'step')}${of}`, ...spent];
}

/** The view of a turn. Undefined if the turn's retention is over. */
async function viewOnRecord({ client }: Chat, turn: string): Promise<TurnView | undefined> {
  try {
    return await client.view(turn);
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'turn_not_found') return undefined;
    throw error;
  }
}
