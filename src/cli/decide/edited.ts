import type { Answer } from '../../client';
import { checkSchema } from '../../contract/schema';
import { draftOf, type Draft } from '../edit/document';
import { editArguments, type EditOutcome } from '../edit/edit-arguments';
import { changeLines } from '../print/changes';
import { choose, type Choice } from '../terminal/ask';
import type { Terminal } from '../terminal/terminal';
import { confirmSight } from './sight';
import { decide, givenUp, idOf, requestOf, type Subject } from './subject';

/**
 * Lets a person change the arguments in their editor, shows what changed, asks, and decides. What does not fit the
 * schema, or what the turn refuses because of it, goes back to the editor with the reasons, until it fits or is given up.
 *
 * @throws CountersignError `given_up`, `editor_failed`. Interrupted.
 */
export async function decideByEditor(subject: Subject, terminal: Terminal | undefined): Promise<Answer> {
  const { arguments: before, tool, schema } = requestOf(subject);
  const { screen, env } = subject.context;
  let draft: Draft = draftOf(before);
  for (;;) {
    terminal?.release();
    const edited = await editArguments(draft, { id: idOf(subject), tool, before, env });
    if (typeof edited === 'string') throw givenUp(WHY[edited]);
    draft = { body: edited.body, issues: schema === undefined ? [] : checkSchema(schema, edited.arguments) };
    if (draft.issues.length > 0) continue;
    screen.lines([
      'what changed:',
      ...changeLines(before, edited.arguments, screen.style).map((line) => `  ${line}`),
    ]);
    if (terminal !== undefined && (await wantsMore(edited, subject, terminal))) continue;
    const answer = await decide(subject, { decision: 'modified', arguments: edited.arguments });
    if (answer.status !== 'refused' || answer.verdict.code !== 'invalid_arguments') return answer;
    const { issues = [], message } = answer.verdict;
    draft = { body: edited.body, issues: issues.length > 0 ? issues : [{ path: '', message }] };
  }
}

const WHY = { empty: 'the file is empty', unchanged: 'the arguments are as they were' } as const;

const CHOICES: readonly Choice<'approve' | 'leave' | 'edit'>[] = [
  { means: 'approve', keys: ['y', 'yes'], does: 'let it run with these arguments' },
  { means: 'leave', keys: ['n', 'no', 'q'], does: 'leave; nothing is decided' },
  { means: 'edit', keys: ['e'], does: 'edit once more' },
];

async function wantsMore(
  { arguments: args }: Exclude<EditOutcome, string>,
  subject: Subject,
  terminal: Terminal,
): Promise<boolean> {
  const { screen } = subject.context;
  const tell = (lines: readonly string[]): void => screen.lines(lines);
  const wanted = await choose(terminal, 'Approve with these changes', { choices: CHOICES, tell });
  if (wanted === 'edit') return true;
  // The edit drops the preview: only the arguments are what runs.
  const { preview: _, ...request } = requestOf(subject);
  const sure = wanted === 'approve' && (await confirmSight({ ...request, arguments: args }, terminal));
  if (!sure) throw givenUp('you left the changes as they are');
  return false;
}
