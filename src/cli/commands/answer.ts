import type { Command } from 'commander';
import type { Answer } from '../../client';
import { isObject, type JsonObject } from '../../contract/json';
import { fieldsOf, type Question, WORDS_COUNT } from '../../contract/question';
import { reportAnswer } from '../answer';
import type { Context } from '../context';
import { collect, readText, readValue } from '../flags';
import { storyOf } from '../print/turn';
import { questionLines } from '../print/question';
import { answer, answerByForm, assertFits, openQuestionOf } from '../review/answer';
import { idOf, type Subject } from '../review/decision';
import { withTerminal } from '../review/terminal';
import { withSubject } from './deny';
import { usageError } from '../../contract/errors';

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

async function run(target: string, options: AnswerOptions, context: Context): Promise<void> {
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
    if (decline || given !== undefined || set.length > 0) screen.note(WORDS_COUNT);
    const taken = decline
      ? await answer(subject, { answer: 'declined' })
      : given !== undefined || set.length > 0 || isOver
        ? await send(subject, filledIn(asked?.question, given, set), isOver)
        : await atTerminal(subject, storyOf(view, call), context);
    reportAnswer(taken, { id: idOf(subject), json }, screen);
  });
}

/** Sends an answer. If the question no longer waits, the turn says who ended it. */
function send(subject: Subject, content: JsonObject, isOver: boolean): Promise<Answer> {
  const { question } = subject.call;
  if (!isOver && question !== undefined) assertFits(question.question, content);
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
  const fields = new Map(
    question === undefined ? [] : fieldsOf(question).map((field) => [field.name, field]),
  );
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
