import type { Command } from 'commander';
import type { Answer } from '../../client';
import { isObject, type JsonObject, type Json } from '../../contract/json';
import { fieldsOf, type Question, WORDS_COUNT, type QuestionField } from '../../contract/question';
import { reportAnswer } from '../answer';
import type { Context } from '../context';
import { collect, readText, readValue } from '../flags';
import { storyOf } from '../print/turn';
import { questionLines, fieldLines } from '../print/question';
import { idOf, type Subject } from '../review/decision';
import { withTerminal, type Terminal } from '../review/terminal';
import { withSubject } from './deny';
import { usageError, CountersignError } from '../../contract/errors';
import { randomUUID } from 'node:crypto';
import { defined } from '../../contract/defined';
import type { QuestionAnswer } from '../../contract/decision';
import { checkAnswer } from '../../contract/schema/question-form';
import { misfitText, readNumber } from '../../contract/read-json';
import type { QuestionOpened } from '../../history/events';
import { waitingEvent } from '../../history/view-types';
import { escapeText } from '../../contract/text/escape';
import { askUntilAnswered } from '../review/confirm';

interface AnswerOptions {
  set?: string[];
  content?: string;
  decline?: boolean;
  reason?: string;
}

/** `answer <turn>/<call>`. */
export function addAnswer(program: Command, context: Context): void {
  program
    .command('answer <turn/call>')
    .description('answer a question of an agent; this lets nothing run')
    .option(
      '--set <field=value>',
      'fill in a field; may be repeated (default: you are asked for each)',
      collect,
    )
    .option('--content <json|@file>', 'the whole answer as JSON')
    .option('--decline', 'do not answer')
    .option('--reason <text>', 'a remark, or why not; the model reads it')
    .action((target: string, options: AnswerOptions) => run(target, options, context));
}

async function run(target: string, options: AnswerOptions, context: Context) {
  const { set = [], content, decline = false } = options;
  if (decline && (set.length > 0 || content !== undefined))
    throw usageError('--decline goes with no answer', 'Leave out --set and --content.');
  const given = content === undefined ? undefined : await readContent(content, context);
  const { screen, json } = context;
  await withSubject(target, options, context, async (subject, { view }) => {
    const { call } = subject;
    const isOver = call.question !== undefined && call.phase !== 'question';
    const asked = isOver ? call.question : openQuestionOf(subject);
    // At a terminal, the question is shown with these words.
    if (decline || given || set.length > 0) screen.note(WORDS_COUNT);
    const taken = decline
      ? await answer(subject, { answer: 'declined' })
      : given || set.length > 0 || isOver
        ? await send(subject, filledIn(asked?.question, given, set), isOver)
        : await atTerminal(subject, storyOf(view, call), context);
    reportAnswer(taken, { id: idOf(subject), json }, screen);
  });
}

/** Sends an answer. If the question no longer waits, the turn says who ended it. */
function send(subject: Subject, content: JsonObject, isOver: boolean): Promise<Answer> {
  const { question } = subject.call;
  if (!isOver && question) assertFits(question.question, content);
  return answer(subject, { answer: 'answered', content });
}

function atTerminal(subject: Subject, story: ReturnType<typeof storyOf>, context: Context): Promise<Answer> {
  const hint = 'Fill it in with --set field=value or --content.';
  const { screen } = subject.context;
  return withTerminal(context.keyboard, hint, (terminal) => {
    const place = { turn: subject.turn, screen, now: Date.now(), story };
    screen.lines([...questionLines(openQuestionOf(subject), place), '']);
    return answerByForm(subject, terminal);
  });
}

async function readContent(content: string, context: Context): Promise<JsonObject> {
  const read = readValue(await readText(content, '--content', context), '--content');
  if (isObject(read)) return read;
  throw usageError('--content is JSON but not an object', `Write --content '{"field":"value"}'.`);
}

/**
 * The content of an answer. Values of `--set` replace the values of `--content`. The value of a text field stays as it
 * was typed, and the values of other fields are read as JSON.
 */
function filledIn(
  question: Question | undefined,
  given: JsonObject = {},
  set: readonly string[],
): JsonObject {
  const fields = new Map(question ? fieldsOf(question).map((field) => [field.name, field]) : []);
  const content: JsonObject = { ...given };
  const seen = new Set<string>();
  for (const text of set) {
    const at = text.indexOf('=');
    const name = text.slice(0, Math.max(0, at));
    if (name === '') throw usageError(`--set ${text}: this is not field=value`);
    if (seen.has(name)) throw usageError(`--set ${name} is given twice`);
    seen.add(name);
    const field = fields.get(name);
    if (field === undefined)
      throw usageError(`there is no field ${name}`, `Its fields: ${[...fields.keys()].join(', ')}.`);
    const value = text.slice(at + 1);
    const isText = field.kind === 'text' || field.kind === 'choice';
    content[name] = isText ? value : readValue(value, `--set ${name}`);
  }
  return content;
}

/**
 * The question of a call that waits for an answer.
 *
 * @throws CountersignError `usage` if the call does not wait for an answer: a request is decided, never answered.
 */
function openQuestionOf({ call }: Pick<Subject, 'call'>): QuestionOpened {
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
function answer(
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
function assertFits(question: Question, content: JsonObject) {
  const { issues } = checkAnswer(question, content);
  if (issues.length === 0) return;
  const hint = 'countersign show <turn>/<call> lists the fields.';
  throw usageError(misfitText(issues), hint);
}
