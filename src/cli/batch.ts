import { assuranceWanted } from '../authority/votes/voters';
import { assuranceText } from '../authority/rules/stricter-rule';
import type { Command } from 'commander';
import { addInboxFilters, type InboxFilters, readInboxQuery, refuseOptions } from './flags';
import type { Answer, Countersign, InboxItem, InboxQuery } from '../client';
import { CountersignError, usageError } from '../contract/errors';
import type { CallView } from '../history/view';
import type { ChangedTool } from '../contract/worker-tools';
import { answerLine, assertTaken } from './answer';
import type { Context } from './context';
import { decide, givenUp } from './review/decision';
import { beside, type ScreenFormat } from './print/screen';
import { confirm } from './review/confirm';
import { withTerminal } from './review/terminal';
import { waits, withoutId } from './print/inbox';
import { wrapAll } from '../contract/text/columns';
import { section, tableLines } from './print/table';
import { type Room, wholeText } from '../history/whole-text';
import { escapeText } from '../contract/text/escape';
import { defined } from '../contract/defined';
import { whyNoBatch, whyNotInBatch } from '../history/batch';
import type { RequestOpened } from '../history/events';
import type { JsonObject } from '../contract/json';
import type { JsonSchema } from '../contract/tool';

/** The requests to decide together, and how to decide them. */
interface Batch {
  query: InboxQuery;
  wish: BatchWish;
  said: { approver: string; reason?: string };
  /** Decide without being asked. */
  yes: boolean;
}

/** The result of one request of a batch. */
interface BatchResult {
  turn: string;
  callId: string;
  tool: string;
  answer: Answer;
}

/** The most calls that are decided together unless `--limit` says otherwise. */
const MOST_DECIDED = 100;

/** Reading more calls than this takes so long that a note is printed. */
const MANY = 200;

/** The line that says how many of the waiting calls fit, and how many of them the limit lets through. */
function lookedLine(looked: number, { planned }: BatchPlan, limit: number) {
  const count = (many: number) => many.toLocaleString('en');
  const fit = `${count(planned.length)} of ${count(looked)} waiting fit`;
  return planned.length <= limit
    ? `${fit}.`
    : `${fit}; these are the ${count(limit)} most urgent. --limit ${planned.length} takes all.`;
}

/** The most turns that are read from the record at the same time. */
const AT_ONCE = 8;
/** A wait that took this many milliseconds without an answer is not repeated for other turns. */
const IN_VAIN_MS = 1_000;

/**
 * Shows what would be decided, asks once, and decides one by one.
 *
 * @throws CountersignError `failed` if the person says no; `refused` if the turns refused some decisions.
 */
export async function decideBatch(batch: Batch, context: Context): Promise<void> {
  const { json } = context;
  const screen = json ? beside(context.screen) : context.screen;
  await context.withClient(async (client) => {
    const { limit = MOST_DECIDED, ...filter } = batch.query;
    const items = await client.inbox({ ...filter, limit: Infinity });
    if (items.length > MANY) screen.note(`reading ${items.length.toLocaleString('en')} calls …`);
    const calls = await readCalls(client, items);
    const fitting = planBatch(await withChanged(client, calls, batch.wish), batch.wish);
    const plan = { ...fitting, planned: fitting.planned.slice(0, limit) };
    screen.lines([...planLines(plan, batch.wish, screen), lookedLine(items.length, fitting, limit)]);
    if (plan.planned.length === 0) return json ? context.screen.json([]) : undefined;
    if (!batch.yes) await askOnce(plan.planned.length, batch, context);
    const results: BatchResult[] = [];
    try {
      for (const planned of plan.planned) {
        const result = await decideOne(client, planned, batch, context);
        results.push(result);
        screen.line(answerLine(result.answer, `${result.turn}/${result.callId}`, screen.style));
      }
    } finally {
      // The results are printed even if the server goes away in the middle.
      if (json) context.screen.json(results);
    }
    conclude(results);
  });
}

async function askOnce(count: number, { wish }: Batch, { keyboard }: Context) {
  const word = wish.decision === 'approved' ? 'Approve' : 'Deny';
  const hint = 'Say --yes to decide without being asked.';
  const sure = await withTerminal(keyboard, hint, (terminal) =>
    confirm(terminal, `${word} ${count === 1 ? 'this one' : `these ${count}`}?`),
  );
  if (!sure) throw givenUp('you did not confirm');
}

async function decideOne(
  client: Countersign,
  { item, call }: Planned,
  { wish, said }: Batch,
  context: Context,
): Promise<BatchResult> {
  const { turn, agent, callId, tool } = item;
  const answer = await decide({ client, turn, agent, call, said, context }, { decision: wish.decision });
  return { turn, callId, tool, answer };
}

/** @throws CountersignError `refused`, that names how many decisions were refused. */
function conclude(results: readonly BatchResult[]) {
  const refused = results.filter(({ answer }) => answer.status === 'refused');
  const [first] = refused;
  if (first === undefined) return;
  if (results.length === 1) return assertTaken(first.answer, `${first.turn}/${first.callId}`);
  const message = `${refused.length} of ${results.length} were refused; the others are decided`;
  throw new CountersignError('refused', message, {
    hint: 'What was refused is named above; countersign inbox lists what still waits.',
    data: { refused: refused.map(({ turn, callId }) => `${turn}/${callId}`) },
  });
}

async function readCalls(client: Countersign, items: readonly InboxItem[]): Promise<Candidate[]> {
  const requests = items.filter(({ kind }) => kind === 'request');
  const views = await readTurns(requests, (turn) => client.view(turn));
  return items.map((item) => ({
    item,
    call: views.get(item.turn)?.calls.find(({ callId }) => callId === item.callId),
  }));
}

/**
 * The calls, with what became of their tools. Workers are asked only about calls that would be approved, and no more once
 * none answers: a decision is taken without a worker, too.
 */
async function withChanged(
  client: Countersign,
  calls: readonly Candidate[],
  wish: BatchWish,
): Promise<Candidate[]> {
  const items = wish.decision === 'approved' ? planBatch(calls, wish).planned.map(({ item }) => item) : [];
  const found = await readTurns(items, (turn) => client.changedTools(turn));
  return calls.map((one) => {
    const tool = found.get(one.item.turn)?.find(({ callId }) => callId === one.item.callId);
    return { ...one, ...defined({ changed: tool?.now }) };
  });
}

/**
 * Reads something of each turn of the items, a few turns at the same time. It stops once a wait for all of the few was in
 * vain.
 */
async function readTurns<T>(
  items: readonly InboxItem[],
  read: (turn: string) => Promise<T | undefined>,
): Promise<Map<string, T | undefined>> {
  const turns = [...new Set(items.map(({ turn }) => turn))];
  const found = new Map<string, T | undefined>();
  for (let at = 0; at < turns.length; at += AT_ONCE) {
    const began = performance.now();
    const some = turns.slice(at, at + AT_ONCE);
    const answers = await Promise.all(some.map((turn) => read(turn)));
    for (const [index, turn] of some.entries()) found.set(turn, answers[index]);
    if (answers.every((one) => one === undefined) && performance.now() - began > IN_VAIN_MS) break;
  }
  return found;
}

/** The calls that a batch would decide, as a table, then the calls that it leaves out and why. */
export function planLines(
  { planned, leftOut }: BatchPlan,
  { decision, now }: BatchWish,
  screen: ScreenFormat,
): string[] {
  const { style } = screen;
  const word = decision === 'approved' ? 'approved' : 'denied';
  const left = leftOut.map(({ item, why }) =>
    style.quiet(`left out: ${escapeText(`${item.turn}/${item.callId}`)}: ${why}`),
  );
  if (planned.length === 0) return ['Nothing fits; nothing is decided.', ...left];
  if (decision === 'approved')
    return [`to be ${word}:`, ...planned.flatMap((one) => wholeLines(one, now, screen)), ...left];
  const rows = planned.map(({ item }) => [
    ...[`${item.turn}/${item.callId}`, item.tool, item.agent].map((text) => escapeText(text)),
    waits(item, now),
    escapeText(withoutId(item)),
  ]);
  const table = { head: ['CALL', 'TOOL', 'AGENT', 'WAITS', 'CALLS FOR'], rows, flex: 4, drop: [1, 2, 3] };
  return [`to be ${word}:`, ...tableLines(table, screen), ...left];
}

/** The room for each call that is approved with others. A call that takes more is looked at on its own. */
const ROOM: Room = { characters: 2_000, lines: 30, indent: 0 };

/** A call, and everything that it would run with. */
function wholeLines({ item, request }: Planned, now: number, screen: ScreenFormat): string[] {
  const { turn, callId, tool, agent } = item;
  const again = request.note === undefined ? '' : `  asked again: ${request.note}`;
  const head = `${turn}/${callId}  ${tool}  for ${agent}  waits ${waits(item, now)}${again}`;
  return section(escapeText(head), wrapAll(wholeText(request, ROOM).lines, screen.width - 2), screen);
}

/** Options of a command that can decide many calls together. */
export interface BatchFlags extends InboxFilters {
  all?: boolean;
  where?: string;
  yes?: boolean;
  reason?: string;
}

/** Adds these options to a command. The command itself has `--reason`. */
export function addBatchOptions(command: Command, yes = 'with --all: do not ask'): Command {
  return addInboxFilters(
    command
      .option('--all', 'decide many at once: the calls that the options below choose')
      .option('--where <condition>', `only calls that match, such as 'args.amount<50' (CEL)`)
      .option('-y, --yes', yes),
  );
}

/**
 * Reads the batch from the options.
 *
 * @throws CountersignError `usage` if they choose nothing in particular, or do not fit together.
 */
export async function readBatch(
  options: BatchFlags,
  decision: 'approved' | 'denied',
  approver: string,
  target?: string,
): Promise<Batch> {
  const { where, yes = false, reason } = options;
  if (target !== undefined)
    throw usageError('--all and a call exclude each other', 'Name one call, or choose many.');
  if (decision === 'approved' && options.tool === undefined) {
    const hint = 'Only calls of one tool are alike enough to be approved together.';
    throw usageError('approve --all needs --tool', hint);
  }
  if (decision === 'denied' && [options.tool, options.agent, where].every((one) => one === undefined)) {
    throw usageError('deny --all needs --tool, --agent or --where', 'Say which calls are meant.');
  }
  return {
    query: readInboxQuery(options),
    wish: { decision, where: where === undefined ? undefined : await readWhere(where), now: Date.now() },
    said: { approver, reason },
    yes,
  };
}

/** @throws CountersignError `usage` for options of a batch without `--all`. */
export function checkNoBatch({ where, yes, tool, agent, olderThan, limit }: BatchFlags): void {
  const given = { where, yes, tool, agent, olderThan, limit };
  refuseOptions(given, 'goes with --all', 'Name one call, or choose many with --all.');
}

/** One item of the inbox with its call from the record. Undefined if the call is already gone. */
interface Candidate {
  item: InboxItem;
  call: CallView | undefined;
  /** What became of the tool of the call. Absent: it has not changed, or no worker could say. */
  changed?: ChangedTool['now'];
}

/** A request that would be decided with the others. */
interface Planned {
  item: InboxItem;
  call: CallView;
  request: RequestOpened;
}

/** A request that the condition chose, and the reason why it is not decided with the others. */
interface LeftOut {
  item: InboxItem;
  why: string;
}

/** The calls that a batch would decide or leave out. A call that the condition did not choose is in neither list. */
interface BatchPlan {
  planned: Planned[];
  leftOut: LeftOut[];
}

/** The decision of a batch, and the condition that chooses its calls. Without a condition every call is chosen. */
interface BatchWish {
  decision: 'approved' | 'denied';
  where: Where | undefined;
  /** Milliseconds since 1970. */
  now: number;
}

/** Chooses the requests that are decided together. */
export function planBatch(candidates: readonly Candidate[], wish: BatchWish): BatchPlan {
  const plan: BatchPlan = { planned: [], leftOut: [] };
  for (const { item, call, changed } of candidates) {
    const request = call?.phase === 'request' ? call.request : undefined;
    if (call === undefined || request === undefined || request.callKey !== item.callKey) continue;
    if (!isChosen({ item, request }, wish)) continue;
    const isApproved = wish.decision === 'approved';
    const { isWhole } = wholeText(request, ROOM);
    const why = isApproved
      ? (whyNotInBatch(request, changed) ?? whySigned(request) ?? (isWhole ? undefined : TOO_LONG))
      : whyNoBatch(request);
    if (why === undefined) plan.planned.push({ item, call, request });
    else plan.leftOut.push({ item, why });
  }
  return plan;
}

/**
 * Why a terminal leaves a request out: a terminal signs one decision at a time. Undefined if the request needs no
 * signature.
 */
function whySigned({ authority }: RequestOpened): string | undefined {
  const wanted = assuranceWanted(authority, 'approved');
  return wanted && `the rule '${authority?.rule.name}' wants each one ${assuranceText(wanted)}`;
}

const TOO_LONG = 'it is too long to be shown whole with others; look at it on its own';

function isChosen({ item, request }: Omit<Planned, 'call'>, { where, now }: BatchWish) {
  if (where === undefined) return true;
  const { agent, turn, since } = item;
  const { arguments: args, tool, schema } = request;
  return where({ args, schema, tool, agent, turn, age: now - Date.parse(since) });
}

/** The facts for which a condition is evaluated. */
interface WhereFacts {
  args: JsonObject;
  /** The schema of the tool, if the record has it. */
  schema?: JsonSchema;
  tool: string;
  agent: string;
  turn: string;
  /** The time that the request has waited, in milliseconds. */
  age: number;
}

/**
 * Whether a condition is true for a call. A condition that cannot be evaluated does not match, and its negation does
 * not match either. For example, a call without an amount is chosen neither by `args.amount < 50` nor by `!(args.amount
 * >= 50)`.
 */
type Where = (facts: WhereFacts) => boolean;

/**
 * Reads a condition in CEL about one call: `args`, `tool`, `agent`, `turn`, and `age`, a duration.
 *
 * @throws CountersignError `usage`, with the place of the mistake.
 */
export async function readWhere(text: string): Promise<Where> {
  // Loaded here, so that no other command waits for CEL.
  const { celDuration, conditionArguments, readCondition } = await import('../authority/rules/condition.js');
  const read = readCondition(text, ['args', 'tool', 'agent', 'turn', 'age']);
  if (!read.ok) {
    const { message, at } = read.mistake;
    const line = text.replace(/\s/g, ' ');
    const hint = `Write conditions in CEL, such as --where 'args.amount < 50 && !args.to.contains("@evil")'.`;
    throw usageError(`--where cannot be read: ${message}\n  ${line}\n  ${' '.repeat(at)}^`, hint);
  }
  return ({ args, schema, age, ...names }) => {
    const facts = { ...names, args: conditionArguments(args, schema), age: celDuration(age) };
    return read.condition.evaluate(facts) === true;
  };
}
