import type { Answer } from '../../client';
import { CountersignError } from '../../contract/errors';
import type { Hunk } from '../../contract/plan';
import { hunkLines } from '../print/diff';
import { choose, confirm, untilSaid, type Choice } from '../terminal/ask';
import type { Terminal } from '../terminal/terminal';
import {
  answerHunk,
  choiceMeans,
  currentHunk,
  startChoice,
  type HunkAnswer,
  type HunkChoice,
} from './choose-hunks';
import { decideByEditor } from './edited';
import { confirmSight } from './sight';
import { decide, givenUp, requestOf, type Subject } from './subject';

/** The keys of `git add -p`. */
const CHOICES: readonly Choice<HunkAnswer>[] = [
  { means: 'yes', keys: ['y', 'yes'], does: 'approve this hunk' },
  { means: 'no', keys: ['n', 'no'], does: 'do not approve this hunk' },
  { means: 'all', keys: ['a'], does: 'approve this hunk and all that follow' },
  { means: 'done', keys: ['d'], does: 'approve neither this hunk nor any that follow' },
  { means: 'split', keys: ['s'], does: 'split this hunk into smaller ones' },
  { means: 'edit', keys: ['e'], does: 'change the arguments in your editor instead' },
  { means: 'leave', keys: ['q'], does: 'leave; nothing is decided' },
];

const NO_SPLIT = [
  'This hunk cannot be split: a decision names the hunks of the plan that was made, so that what runs is what you saw.',
  'Use e to change the arguments: they come back as a new proposal with hunks of its own.',
];

/**
 * Asks about the hunks of a file proposal one by one, and decides.
 *
 * @throws CountersignError `usage` for a call without hunks, `given_up`. Interrupted.
 */
export async function decideByHunks(subject: Subject, terminal: Terminal): Promise<Answer> {
  const request = requestOf(subject);
  const hunks = request.preview?.plan?.hunks ?? [];
  if (hunks.length === 0) throw noHunks(request.callId);
  const choice = await chooseHunks(hunks, subject, terminal);
  if (choice === 'leave') throw givenUp('you left before the last hunk');
  if (choice === 'edit') return decideByEditor(subject, terminal);
  return choiceMeans(choice) === 'none' ? denyAll(subject, terminal) : approve(choice, subject, terminal);
}

async function chooseHunks(
  hunks: readonly Hunk[],
  { context: { screen } }: Subject,
  terminal: Terminal,
): Promise<HunkChoice | 'edit' | 'leave'> {
  const tell = (lines: readonly string[]): void => screen.lines(lines);
  let choice = startChoice(hunks.map(({ id }) => id));
  for (;;) {
    const id = currentHunk(choice);
    const hunk = hunks.find((one) => one.id === id);
    if (hunk === undefined) return choice;
    tell(hunkLines(hunk, screen.style));
    const question = `(${choice.at + 1}/${hunks.length}) Approve this hunk`;
    const answer = await choose(terminal, question, { choices: CHOICES, tell });
    if (answer === 'edit' || answer === 'leave') return answer;
    if (answer === 'split') tell(NO_SPLIT);
    choice = answerHunk(choice, answer);
  }
}

async function approve(choice: HunkChoice, subject: Subject, terminal: Terminal): Promise<Answer> {
  const { ids, accepted } = choice;
  const all = choiceMeans(choice) === 'all';
  const what = all ? `all ${ids.length} hunks` : `hunks ${accepted.join(', ')} of ${ids.length}`;
  const sure =
    (await confirm(terminal, `Approve ${what}?`)) && (await confirmSight(requestOf(subject), terminal));
  if (!sure) throw givenUp('you did not confirm');
  return decide(subject, { decision: 'approved', ...(all ? {} : { hunks: [...accepted] }) });
}

async function denyAll(subject: Subject, terminal: Terminal): Promise<Answer> {
  subject.context.screen.line('You approved none of the hunks. That is a denial.');
  const reason = subject.said.reason ?? (await untilSaid(terminal, 'Why? The model reads it: '));
  return decide(subject, { decision: 'denied', reason });
}

function noHunks(callId: string): CountersignError {
  return new CountersignError('usage', `${callId} proposes no hunks; --patch is for file proposals`, {
    hint: 'Approve or deny it as a whole.',
  });
}
