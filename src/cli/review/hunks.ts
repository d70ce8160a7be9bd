import type { Answer } from '../../client';
import { usageError } from '../../contract/errors';
import type { Hunk } from '../../contract/plan';
import { hunkLines, planHead } from '../../history/preview-lines';
import { escapeText } from '../../contract/text/escape';
import { decideByEditor } from './edit-arguments';
import { askUntilAnswered, type KeyChoice, choose, confirm } from './confirm';
import { decide, givenUp, idOf, requestOf, type Subject } from './decision';
import { confirmDeceptiveText } from './seen';
import type { Terminal } from './terminal';

/** The keys of `git add -p`. */
const HUNK_CHOICES: readonly KeyChoice<HunkAnswer>[] = [
  { means: 'yes', keys: ['y', 'yes'], does: 'approve this hunk' },
  { means: 'no', keys: ['n', 'no'], does: 'do not approve this hunk' },
  { means: 'all', keys: ['a'], does: 'print all hunks that follow, and approve them with this one' },
  { means: 'done', keys: ['d'], does: 'approve neither this hunk nor any that follow' },
  { means: 'split', keys: ['s'], does: 'say why this hunk cannot be split' },
  { means: 'edit', keys: ['e'], does: 'change the arguments in your editor instead' },
  { means: 'leave', keys: ['q'], does: 'leave; nothing is decided' },
];

const NO_SPLIT = [
  'This hunk cannot be split: a decision names the hunks of the plan that was made, so that what runs is what you saw.',
  'Use e to change the arguments: they come back as a new proposal with hunks of its own.',
];

/**
 * Asks about the hunks of a proposed file change one by one, and decides.
 *
 * @throws CountersignError `usage` for a call without hunks, `failed`. Interrupted.
 */
export async function decideByHunks(subject: Subject, terminal: Terminal): Promise<Answer> {
  const request = requestOf(subject);
  const plan = request.preview?.plan;
  if (plan === undefined || plan.hunks.length === 0) {
    const message = `${request.callId} proposes no hunks; --patch is for file proposals`;
    throw usageError(message, 'Approve or deny it as a whole.');
  }
  const { screen } = subject.context;
  const what = escapeText(`${request.tool} for ${subject.agent}, ${idOf(subject)}`);
  screen.lines([screen.style.strong(what), ...planHead(plan, screen.style)]);
  const choice = await chooseHunks(plan.hunks, subject, terminal);
  if (choice === 'leave') throw givenUp('you left before the last hunk');
  if (choice === 'edit') return decideByEditor(subject, { terminal, yes: false });
  return choiceMeans(choice) === 'none'
    ? denyAll(subject, terminal)
    : approveHunks(choice, subject, terminal);
}

async function chooseHunks(
  hunks: readonly Hunk[],
  { context: { screen } }: Subject,
  terminal: Terminal,
): Promise<HunkAnswers | 'edit' | 'leave'> {
  const print = (some: readonly Hunk[]) => {
    for (const hunk of some) screen.lines(hunkLines(hunk, screen.style));
  };
  let choice: HunkAnswers = { ids: hunks.map(({ id }) => id), at: 0, accepted: [] };
  for (;;) {
    const hunk = hunks[choice.at];
    if (hunk === undefined) return choice;
    print([hunk]);
    const question = `(${choice.at + 1}/${hunks.length}) Approve this hunk`;
    const answer = await choose(terminal, question, HUNK_CHOICES, screen);
    if (answer === 'edit' || answer === 'leave') return answer;
    if (answer === 'split') screen.lines(NO_SPLIT);
    // We print all remaining hunks, so that a person approves only hunks that were printed.
    if (answer === 'all') print(hunks.slice(choice.at + 1));
    choice = answerHunk(choice, answer);
  }
}

async function approveHunks(choice: HunkAnswers, subject: Subject, terminal: Terminal): Promise<Answer> {
  const { ids, accepted } = choice;
  const all = choiceMeans(choice) === 'all';
  const what = all ? `all ${ids.length} hunks` : `hunks ${accepted.join(', ')} of ${ids.length}`;
  const sure =
    (await confirm(terminal, `Approve ${what}?`)) &&
    (await confirmDeceptiveText(requestOf(subject), terminal));
  if (!sure) throw givenUp('you did not confirm');
  return decide(subject, { decision: 'approved', hunks: all ? undefined : [...accepted] });
}

async function denyAll(subject: Subject, terminal: Terminal): Promise<Answer> {
  subject.context.screen.line('You approved none of the hunks. That is a denial.');
  const reason = subject.said.reason ?? (await askUntilAnswered(terminal, 'Why? The model reads it: '));
  return decide(subject, { decision: 'denied', reason });
}

/**
 * The answer of a person to one hunk of a proposed file change. `leave` decides nothing; `edit` changes the arguments
 * instead.
 */
type HunkAnswer = 'yes' | 'no' | 'all' | 'done' | 'split' | 'edit' | 'leave';

/** The answers to hunks so far: the hunks before `at` have an answer. */
interface HunkAnswers {
  readonly ids: readonly string[];
  readonly at: number;
  readonly accepted: readonly string[];
}

/** The choice after an answer to its current hunk. `split`, `edit` and `leave` choose nothing. */
export function answerHunk(choice: HunkAnswers, answer: HunkAnswer): HunkAnswers {
  const { ids, at, accepted } = choice;
  switch (answer) {
    case 'yes':
      return { ids, at: at + 1, accepted: [...accepted, ...ids.slice(at, at + 1)] };
    case 'no':
      return { ids, at: at + 1, accepted };
    case 'all':
      return { ids, at: ids.length, accepted: [...accepted, ...ids.slice(at)] };
    case 'done':
      return { ids, at: ids.length, accepted };
    default:
      return choice;
  }
}

/** The meaning of a finished choice: all hunks approve the proposal unchanged, and no hunk is a denial. */
export function choiceMeans({ ids, accepted }: HunkAnswers): 'all' | 'some' | 'none' {
  if (accepted.length === 0) return 'none';
  return accepted.length === ids.length ? 'all' : 'some';
}
