import { randomUUID } from 'node:crypto';
import { asError } from '../../contract/errors';
import { nothingDone, stopped, ToolError, TransportError } from '../errors';
import type { CallContext } from '../types';
import { unlessAborted, within } from '../wait-within';
import type { FormHistory } from './history';
import type { LiveImage } from './image';
import { isList, isSymbol, lispSymbol, type Sexp } from './sexp';

/** A form to run. */
interface FormJob {
  mode: 'eval' | 'compile';
  form: string;
  package: string;
}

/** The dependencies of a session. */
interface SessionDeps {
  history: FormHistory;
  /** Finds or starts the image, or attaches to it. */
  open(): Promise<LiveImage>;
}

/** When a call has to end, we give its form this time to stop, and then kill the image. */
const LET_GO_MS = 700;

/** Makes a session. Nothing is started or connected until the first call. */
export function createSession({ history, open }: SessionDeps) {
  let current: Promise<LiveImage> | undefined;
  const openAnew = async (): Promise<LiveImage> => {
    const image = await open();
    if (image.isNew)
      await history.note(
        `a new image was started (process ${image.pid}); what earlier forms defined is gone`,
      );
    return image;
  };
  const live = async ({ signal }: CallContext): Promise<LiveImage> => {
    const before = current;
    const known = await before?.catch(() => undefined);
    // If several calls find the image gone at the same time, the first call opens it.
    if (current === before && (known === undefined || known.swank.ended() !== undefined)) current = undefined;
    current ??= openAnew();
    current.catch(() => undefined);
    return unlessAborted(current, signal, () =>
      nothingDone('the Lisp image was still starting; nothing ran'),
    );
  };
  const reach: Reach = async (form, context) => {
    const image = await live(context);
    const end = await call(image, form, context);
    if (!('lost' in end) || !isUnsent(end.lost)) return { image, end };
    // The image ended just before, and nothing was sent. So we may ask a new image.
    const next = await live(context);
    return { image: next, end: await call(next, form, context) };
  };
  return {
    /** Asks one of the questions in image.lisp. All arguments are strings. Changes nothing. */
    ask: async (question: string, args: readonly string[], context: CallContext) => {
      const form = (tag: string): Sexp => [lispSymbol('countersign.image::ask'), tag, question, ...args];
      return toAnswer((await reach(form, context)).end);
    },
    /** Runs a form. The history records the form and how it ended. */
    run: (job: FormJob, context: CallContext) => run(reach, history, job, context),
  };
}

/** Sends a request to the current image. */
type Reach = (form: (tag: string) => Sexp, context: CallContext) => Promise<{ image: LiveImage; end: End }>;

const isUnsent = (error: Error) => error instanceof TransportError && error.nothingSent;

/** How a request ended: with an answer, or because the call had to end. */
type End = { answer: Sexp } | { lost: Error } | { killed: true } | { runsOn: true };

async function call(image: LiveImage, form: (tag: string) => Sexp, { signal }: CallContext): Promise<End> {
  if (signal.aborted) throw nothingDone('it was stopped before it was sent to the image');
  const tag = randomUUID();
  const answered: Promise<End> = image.swank.request(form(tag)).then(
    (answer) => ({ answer }),
    (error: unknown) => ({ lost: asError(error) }),
  );
  try {
    return await unlessAborted(answered, signal);
  } catch {
    return letGo(image, tag, answered);
  }
}

/** Interrupts the thread of a request. If the thread does not stop, kills the image, if we started it. */
async function letGo({ swank, kill }: LiveImage, tag: string, answered: Promise<End>): Promise<End> {
  const asked = swank.request([lispSymbol('countersign.image::stop'), tag]);
  asked.catch(() => undefined);
  const end = await within(answered, LET_GO_MS);
  if (end.ended) return end.value;
  if (kill === undefined) return { runsOn: true };
  await kill();
  return { killed: true };
}

function toAnswer(end: End) {
  if ('lost' in end) throw end.lost;
  if ('killed' in end)
    throw stopped('the question did not let go, so the image was ended; the next call starts a new one');
  if ('runsOn' in end) throw new TransportError('the question did not let go, and still runs in the image');
  const [status, text] = isList(end.answer) ? end.answer : [];
  if (typeof text !== 'string') throw new TransportError('the image gave an answer that is not one of ours');
  if (isSymbol(status, ':ok')) return text;
  if (isSymbol(status, ':stopped')) throw stopped('the question was stopped');
  throw new ToolError(text);
}

/** A form under way. */
interface Running {
  job: FormJob;
  history: FormHistory;
  context: CallContext;
  /** Records how the form ended. */
  note(result: string): Promise<void>;
}

async function run(reach: Reach, history: FormHistory, job: FormJob, context: CallContext) {
  const note = await history.begin(job);
  const { mode, form, package: name } = job;
  const { image, end } = await reach(
    (tag) => [lispSymbol('countersign.image::evaluate'), tag, mode, form, name],
    context,
  ).catch(async (error: unknown) => {
    await note('it was not sent: the image could not be reached');
    throw error;
  });
  if ('answer' in end) return finish(end.answer, { job, history, context, note });
  const { words, error } = await describeLoss(image, end);
  await note(words);
  const kept = { mode, form, condition: words, type: 'no condition of Lisp' };
  await history.keepError({ ...kept, restarts: [], backtrace: [] });
  throw error;
}

/** The words and the error for a form that got no answer. */
async function describeLoss({ swank, whyEnded }: LiveImage, end: Exclude<End, { answer: Sexp }>) {
  if ('killed' in end) {
    const words = 'the form did not let go, so the image was ended, and everything in it is lost';
    return { words, error: stopped(`${words}; the next call starts a new image`) };
  }
  if ('runsOn' in end) {
    const words = 'the form did not let go, and may run still: the image is not ours to end';
    return { words: `unknown: ${words}`, error: new TransportError(words) };
  }
  const { lost } = end;
  if (isUnsent(lost)) return { words: 'it was not sent', error: lost };
  // When Lisp gives up a request, the image is usually about to end. So the next call connects again.
  swank.close();
  const why = (await whyEnded?.()) ?? lost.message;
  const words = `the image was lost while the form ran: ${why}`;
  return { words: `unknown: ${words}`, error: new TransportError(words, { cause: lost }) };
}

/** Reads `(package output outcome)`. */
async function finish(answer: Sexp, running: Running) {
  const [name, output, outcome] = isList(answer) ? answer : [];
  if (typeof name !== 'string' || typeof output !== 'string' || !isList(outcome)) {
    const words = 'the image gave an answer that is not one of ours';
    await running.note(`unknown: ${words}`);
    throw new TransportError(words);
  }
  const [kind, ...parts] = outcome;
  const text = describeDone(running.job, name, outcome);
  if (text === undefined) {
    running.context.partial(output);
    const error = await toError(kind, parts, running);
    await running.note(error.message);
    throw error;
  }
  await running.note(isSymbol(kind, ':values') ? texts(parts).join('\n') || '; no value' : text);
  return output === '' ? text : `${text}\n\nOutput:\n${output}`;
}

const texts = (parts: Sexp | undefined) =>
  isList(parts) ? parts.filter((part) => typeof part === 'string') : [];

/** The result of a form that ran to its end, in words. Undefined for a form that did not run to its end. */
function describeDone(job: FormJob, name: string, [kind, ...parts]: readonly Sexp[]): string | undefined {
  if (isSymbol(kind, ':compiled')) return describeCompiled(job, name, parts);
  if (!isSymbol(kind, ':values')) return undefined;
  const values = texts(parts);
  const lines = values.length === 0 ? ['; no value'] : values;
  return `Evaluated in package ${name}.\n\nResult${values.length === 1 ? '' : 's'}:\n${lines.join('\n')}`;
}

/** The error for a form without a result. A refused form changed nothing; a failed or stopped form ended for good. */
async function toError(
  kind: Sexp | undefined,
  parts: readonly Sexp[],
  { job, history }: Running,
): Promise<ToolError> {
  const [text, type, restarts, backtrace] = parts;
  const message = typeof text === 'string' ? text : 'the image gave no reason';
  if (isSymbol(kind, ':refused'))
    return nothingDone(`${message} Nothing was ${job.mode === 'eval' ? 'evaluated' : 'compiled'}.`);
  if (isSymbol(kind, ':stopped')) return stopped('the form was interrupted; what it had done stays done');
  const found = {
    condition: message,
    type: typeof type === 'string' ? type : 'unknown',
    restarts: texts(restarts),
  };
  await history.keepError({ mode: job.mode, form: job.form, ...found, backtrace: texts(backtrace) });
  const what = job.mode === 'eval' ? 'Error' : 'Compilation failed';
  const words = `${what}: ${message}\n[of type ${found.type}]\nUse get_last_error to see the backtrace.`;
  return new ToolError(words, { details: found });
}

/** `(done (severity message offset) ...)`, each note with its line and column in the form. */
function describeCompiled({ form }: FormJob, name: string, [done, ...notes]: readonly Sexp[]) {
  const lines = notes.map((note) => {
    const [severity = '', message = '', offset = 0] = isList(note) ? note : [];
    const place = typeof offset === 'number' && offset > 0 ? `${placeOf(form, offset)}: ` : '';
    return `  ${place}${String(severity)}: ${String(message).replaceAll('\n', '\n    ')}`;
  });
  const head =
    done === 'true'
      ? `Compiled and loaded in package ${name}.`
      : `Compiled with failures and loaded in package ${name}.`;
  return [head, ...(lines.length === 0 ? ['No warnings.'] : [`Notes (${lines.length}):`, ...lines])].join(
    '\n',
  );
}

/** Line and column of an offset. Lisp counts characters from 1. */
function placeOf(form: string, offset: number) {
  const before = Array.from(form)
    .slice(0, offset - 1)
    .join('')
    .split('\n');
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}
