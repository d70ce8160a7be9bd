import type { JsonObject } from '../json';
import type { JsonSchema } from '../tool';
import { RAISE_BUDGET, RAISE_SESSION_BUDGET } from '../names';
import { soundCheck } from '../schema/message';
import { both, number, object, type Of, oneOf, record, refined, text } from '../schema/shape';
import { span } from '../text/times';
import { tokensOf, type Usage } from './usage';

/** The kinds of budget of a turn. */
export const BUDGET_KINDS = ['tokens', 'money', 'steps', 'time'] as const;
type BudgetKind = (typeof BUDGET_KINDS)[number];

/**
 * The most of an amount: what a person can add in one raise, and what a turn can take along. Every sum with it is exact.
 */
export const MOST_AMOUNT = 1e12;

const AMOUNT = number({ minimum: 0, maximum: MOST_AMOUNT });
const AMOUNTS = { tokens: AMOUNT, money: AMOUNT, steps: AMOUNT, time: AMOUNT };

/** Amounts by kind: tokens, units of a currency, model replies, milliseconds of work. Absent: not limited. */
export type Amounts = Partial<Record<BudgetKind, number>>;

/** The schema of a budget that comes from outside. */
export const BUDGET = refined(
  object(
    {},
    both(AMOUNTS, {
      /** The currency of `money`, such as `EUR`. */
      currency: text({ minLength: 1, maxLength: 10 }),
      /** At a crossing, when an amount is used up: end the turn with a text, or ask a person for more. @default 'end' */
      then: oneOf(['end', 'ask']),
    }),
  ),
  { additionalProperties: false },
);

/** The budget of a turn, its child turns included. */
export interface Budget extends Of<typeof BUDGET> {}

/** The schema of spending that comes from outside. */
export const SPENT = object(
  {
    tokens: AMOUNT,
    steps: AMOUNT,
    /** Milliseconds in which a model or a call of the turn was at work. Waiting for a person does not count. */
    time: AMOUNT,
  },
  {
    /** The money by currency. Absent: no price was known. */
    money: record(AMOUNT, { maxProperties: 20 }),
    /** The part of `tokens` that no provider counted: estimated from the size of the conversation. Absent: none. */
    estimated: AMOUNT,
  },
);

/** The spending of a turn, its child turns included. */
export interface Spent extends Of<typeof SPENT> {}

/** An amount rounded to a millionth, so that sums are the same everywhere. */
function round(amount: number) {
  return Math.round(amount * 1e6) / 1e6;
}

/** A sum, kept to the most that the next run can read. */
function sum(one: number, more: number) {
  return Math.min(MOST_AMOUNT, one + more);
}

/** Nothing spent yet. */
export function noSpending(): Spent {
  return { tokens: 0, steps: 0, time: 0 };
}

/** A spending with more time, in milliseconds. */
export function addTime(one: Spent, ms: number): Spent {
  return { ...one, time: sum(one.time, ms) };
}

/** The sum of two spendings. */
export function addSpent(one: Spent, more: Spent): Spent {
  const estimated = sum(one.estimated ?? 0, more.estimated ?? 0);
  const money = { ...one.money };
  for (const [currency, amount] of Object.entries(more.money ?? {}))
    money[currency] = round(sum(Object.hasOwn(money, currency) ? (money[currency] ?? 0) : 0, amount));
  return {
    tokens: sum(one.tokens, more.tokens),
    steps: sum(one.steps, more.steps),
    time: sum(one.time, more.time),
    money: Object.keys(money).length === 0 ? undefined : money,
    estimated: estimated === 0 ? undefined : estimated,
  };
}

/** The spending of one reply, if its provider counts it. */
export function spentInReply({ usage }: { usage?: Usage }): Spent {
  const { cost, currency } = usage ?? {};
  return {
    ...noSpending(),
    tokens: tokensOf(usage) ?? 0,
    steps: 1,
    ...(cost === undefined || currency === undefined ? {} : { money: { [currency]: cost } }),
  };
}

/**
 * The spending of one reply that counts towards the budget of its turn or session. Tokens are estimated if the
 * provider does not count them.
 */
export function countedInReply(
  reply: { usage?: Usage },
  { estimate, time }: { estimate: number; time: number },
): Spent {
  const counted = tokensOf(reply.usage);
  const estimated = counted === undefined ? { tokens: estimate, estimated: estimate } : {};
  // The clock of the server may have been set back.
  return { ...spentInReply(reply), ...estimated, time: Math.max(0, time) };
}

/** The spending of one kind. Money counts only in the budget's currency. */
function spentOf({ currency = '' }: Pick<Budget, 'currency'>, spent: Spent, kind: BudgetKind): number {
  if (kind !== 'money') return spent[kind];
  return spent.money !== undefined && Object.hasOwn(spent.money, currency) ? (spent.money[currency] ?? 0) : 0;
}

/** A kind of budget that is used up. */
export interface Crossing {
  kind: BudgetKind;
  limit: number;
  spent: number;
  currency?: string;
}

/** The first kind of budget that is used up. Undefined if something of each kind is left. */
export function crossingOf(budget: Budget, spent: Spent): Crossing | undefined {
  for (const kind of BUDGET_KINDS) {
    const limit = budget[kind];
    const used = spentOf(budget, spent, kind);
    if (limit === undefined || used < limit) continue;
    const { currency } = budget;
    return { kind, limit, spent: used, currency: kind === 'money' && currency ? currency : undefined };
  }
  return undefined;
}

/**
 * The budget for one of several child turns that share a budget. It is an equal part of what is neither spent nor given
 * to other running child turns. Undefined if nothing is limited.
 */
export function shareOf(budget: Budget, { spent, given, among }: Sharing): Budget | undefined {
  const left: Budget = {};
  for (const kind of BUDGET_KINDS) {
    const limit = budget[kind];
    if (limit === undefined) continue;
    const free = limit - spentOf(budget, spent, kind) - given.reduce((sum, one) => sum + (one[kind] ?? 0), 0);
    const share = Math.max(0, free) / among;
    left[kind] = kind === 'money' ? Math.floor(share * 1e6) / 1e6 : Math.floor(share);
  }
  if (left.money !== undefined && budget.currency !== undefined) left.currency = budget.currency;
  return Object.keys(left).length === 0 ? undefined : left;
}

/** The spent and given parts of a budget, and the number of child turns that share the rest. */
interface Sharing {
  spent: Spent;
  /** The parts that were given to running child turns. */
  given: readonly Amounts[];
  /** The number of child turns that share the rest. */
  among: number;
}

/**
 * The first kind of budget of which a child turn would get nothing, so that the child turn could not begin. Undefined
 * if the child turn can begin.
 */
export function emptyKind(left: Amounts | undefined): BudgetKind | undefined {
  return BUDGET_KINDS.find((kind) => left?.[kind] !== undefined && (left[kind] ?? 0) <= 0);
}

/** The part of a budget that is left after some spending. Never below 0. */
export function restOf(budget: Budget, spent: Spent): Budget {
  return shareOf(budget, { spent, given: [], among: 1 }) ?? {};
}

/** The smaller of two budgets in each kind. Money in a currency other than the first budget's is ignored. */
export function smallerOf(one: Budget | undefined, other: Budget | undefined): Budget {
  const both: Budget = { ...other, ...one };
  const comparable =
    one?.currency === undefined || other?.currency === undefined || one.currency === other.currency;
  for (const kind of BUDGET_KINDS) {
    const [a, b] = [one?.[kind], other?.[kind]];
    if (a !== undefined && b !== undefined && (kind !== 'money' || comparable)) both[kind] = Math.min(a, b);
  }
  return both;
}

/** An amount in words: `100,000 tokens`, `1.25 EUR`, `20 steps`, `10 min`. */
export function amountText(kind: BudgetKind, amount: number, currency?: string): string {
  if (kind === 'time') return `${span(amount)} of work`;
  if (kind === 'money') return `${round(amount)} ${currency ?? 'of money'}`;
  return `${amount.toLocaleString('en')} ${kind}`;
}

/** Spending in words: `12,000 tokens (3,000 estimated), 8 steps, 2 min of work, 0.4 EUR`. */
export function spentText(spent: Spent): string {
  const { estimated, money = {} } = spent;
  const about = estimated === undefined ? '' : ` (${estimated.toLocaleString('en')} estimated)`;
  return [
    `${amountText('tokens', spent.tokens)}${about}`,
    `${spent.steps} ${spent.steps === 1 ? 'step' : 'steps'}`,
    amountText('time', spent.time),
    ...Object.entries(money).map(([currency, amount]) => amountText('money', amount, currency)),
  ].join(', ');
}

/** A budget in words: `100,000 tokens, 20 steps`. Empty if nothing is limited. */
export function budgetText(budget: Budget): string {
  return BUDGET_KINDS.flatMap((kind) => {
    const limit = budget[kind];
    return limit === undefined ? [] : [amountText(kind, limit, budget.currency)];
  }).join(', ');
}

/** Whether a call is the turn's request for more budget. No worker runs such a call. */
export function isRaise(tool: string): boolean {
  return tool === RAISE_BUDGET || tool === RAISE_SESSION_BUDGET;
}

/**
 * The schema for the arguments of a request for more budget, which a person may change: one kind, and how much more.
 */
export function raiseSchema(kind: BudgetKind): JsonSchema {
  const amount: JsonObject =
    kind === 'money'
      ? { type: 'number', exclusiveMinimum: 0, maximum: MOST_AMOUNT }
      : { type: 'integer', minimum: 1, maximum: MOST_AMOUNT };
  return { type: 'object', properties: { [kind]: amount }, required: [kind], additionalProperties: false };
}

/** The kind of budget that a request for more budget names. Undefined if the request names none. */
export function raisedKind(args: JsonObject): BudgetKind | undefined {
  return BUDGET_KINDS.find((one) => Object.hasOwn(args, one));
}

/** The amount that approved arguments add to one kind. 0 if they do not name the kind. */
function raiseIn(kind: BudgetKind, args: JsonObject): number {
  const more = args[kind];
  return typeof more === 'number' && more > 0 && more <= MOST_AMOUNT ? more : 0;
}

/** A budget with the amounts that approved arguments add. */
export function raised(budget: Budget = {}, args: JsonObject): Budget {
  const more = { ...budget };
  for (const kind of BUDGET_KINDS)
    if (raiseIn(kind, args) > 0) more[kind] = sum(more[kind] ?? 0, raiseIn(kind, args));
  return more;
}

/** The text in the record about a budget that was raised. */
export function raisedText(args: JsonObject): string {
  const kind = raisedKind(args);
  return kind === undefined ? 'nothing was added' : `${amountText(kind, raiseIn(kind, args))} more`;
}

/** The problems of a budget that a turn is started with. Empty if the budget fits. */
export const budgetIssues = /* @__PURE__ */ soundCheck(BUDGET);
