import type { Command } from 'commander';
import { reportAnswer } from '../answer';
import type { Context } from '../context';
import { escapeText } from '../../contract/text/escape';
import { nextRevision, notTaken } from '../review/edit-arguments';
import { decide, idOf, requestOf } from '../review/decision';
import { type VoteOptions, withSubject } from './deny';

/** `ask-again <turn>/<call>`. */
export function addAskAgain(program: Command, context: Context): void {
  program
    .command('ask-again <turn/call>')
    .description("ask again about a waiting call, under today's rules; only an admin may")
    .requiredOption('--reason <text>', 'why; kept on record')
    .action((target: string, options: VoteOptions) => askAgain(target, options, context));
}

/** Asks again, and waits for the new request. Only a worker can check whether the person may do this. */
async function askAgain(target: string, options: VoteOptions, context: Context) {
  const { screen, json } = context;
  await withSubject(target, options, context, async (subject) => {
    const before = requestOf(subject);
    const id = idOf(subject);
    const answer = await decide(subject, { decision: 'ask-again' });
    if (json || answer.status !== 'accepted') return reportAnswer(answer, { id, json }, screen);
    const { request } = await nextRevision(subject, before);
    if (request?.note !== undefined) throw notTaken(id, request.note);
    const rule = request?.authority?.rule.name;
    screen.line(screen.style.warn(`${escapeText(id)} is asked about anew, and has no votes yet`));
    if (rule !== undefined) screen.line(`It is under the rule '${escapeText(rule)}' now.`);
  });
}
