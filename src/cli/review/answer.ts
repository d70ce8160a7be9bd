import { randomUUID } from 'node:crypto';
import { defined } from '../../contract/defined';
import type { Answer } from '../../client';
import type { QuestionAnswer } from '../../contract/decision';
import { CountersignError, usageError } from '../../contract/errors';
import type { Json, JsonObject } from '../../contract/json';
import { checkAnswer } from '../../contract/schema/question-form';
import { fieldsOf, type Question, type QuestionField } from '../../contract/question';
import { misfitText, readNumber } from '../../contract/read-json';
import type { QuestionOpened } from '../../history/events';
import { waitingEvent } from '../../history/view-types';
import { escapeText } from '../../contract/text/escape';
import { fieldLines } from '../print/question';
import type { Subject } from './decision';
import { askUntilAnswered } from './confirm';
import type { Terminal } from './terminal';

/**
 * The question of a call that waits for an answer.
 *
 * @throws CountersignError `usage` if the call does not wait for an answer: a request is decided, never answered.
 */
export function openQuestionOf({ call }: Pick<Subject, 'call'>): QuestionOpened {
  const open = waitingEvent(call);
  if (open?.type === 'question_opened') return open;
  const hint =
    open?.type === 'request_opened'
      ? 'It is a request: use `countersign approve` or `countersign deny`.'
      : '`countersign inbox` lists what waits; `countersign show` says how it ended.';
  throw new CountersignError('usage', `${call.callId} does not wait for an answer`, hint);
}

/**
 * Answers with the key of the question that the person saw. The answer has one id, so it counts only once even if it is
 * sent twice.
 */
export function answer(
  { client, turn, call, said }: Subject,
  given: Pick<QuestionAnswer, 'answer' | 'content' | 'reason'>,
): Promise<Answer> {
  const { callId, question, runId } = call;
  const head = { callId, ...said, channel: 'cli', decisionId: randomUUID() };
  return client.answer(turn, {
    ...head,
    callKey: question?.callKey,
    runId,
    ...defined(given),
  });
}

/** Asks for each field of the form, then answers. */
export async function answerByForm(subject: Subject, terminal: Terminal): Promise<Answer> {
  const content = await fillIn(openQuestionOf(subject).question, subject, terminal);
  return answer(subject, { answer: 'answered', content });
}

/** Asks for the reason, then declines the question. */
export async function declineAnswer(subject: Subject, terminal: Terminal): Promise<Answer> {
  openQuestionOf(subject);
  const reason = await askUntilAnswered(terminal, 'Why not? The model reads it: ');
  return answer(subject, { answer: 'declined', reason });
}

async function fillIn(question: Question, { context }: Subject, terminal: Terminal): Promise<JsonObject> {
  const { screen } = context;
  const content: JsonObject = {};
  for (const field of fieldsOf(question)) {
    const value = await askField(question, { field, screen, terminal });
    if (value !== undefined) content[field.name] = value;
  }
  return content;
}

interface Asking {
  field: QuestionField;
  screen: Subject['context']['screen'];
  terminal: Terminal;
}

/** Asks until the value fits. Enter alone takes the default, or leaves an optional field out. */
async function askField(question: Question, { field, screen, terminal }: Asking): Promise<Json | undefined> {
  screen.lines(fieldLines(field, screen));
  const usual = field.default === undefined ? '' : ` [${escapeText(JSON.stringify(field.default))}]`;
  for (;;) {
    const typed = (await terminal.ask(`${escapeText(field.label)}${usual}: `)).trim();
    if (typed === '' && (field.default !== undefined || !field.required)) return undefined;
    const value = readField(field, typed);
    const path = `/${field.name}`;
    const wrong = checkAnswer(question, { [field.name]: value }).issues.filter(
      (issue) => issue.path === path,
    );
    if (wrong.length === 0) return value;
    screen.line(screen.style.bad(escapeText(wrong.map(({ message }) => message).join('; '))));
  }
}

const YES: readonly string[] = ['y', 'yes', 'true'];
const NO: readonly string[] = ['n', 'no', 'false'];

/**
 * The typed text as a value of the field's kind. Text that is not such a value stays text, and the check says what is
 * wrong.
 */
function readField({ kind, options = [] }: QuestionField, typed: string): Json {
  switch (kind) {
    case 'number':
    case 'integer':
      return readNumber(typed) ?? typed;
    case 'boolean': {
      const word = typed.toLowerCase();
      return YES.includes(word) ? true : NO.includes(word) ? false : typed;
    }
    case 'choice':
      // An option that is itself a number is taken literally.
      return options.includes(typed) ? typed : (options[Number(typed) - 1] ?? typed);
    case 'text':
      return typed;
  }
}

/**
 * Checks the fields that were filled in on the command line before they are sent.
 *
 * @throws CountersignError `usage`, with the path and message of each problem.
 */
export function assertFits(question: Question, content: JsonObject): void {
  const { issues } = checkAnswer(question, content);
  if (issues.length === 0) return;
  const hint = 'countersign show <turn>/<call> lists the fields.';
  throw usageError(misfitText(issues), hint);
}
