import { toClauses, type Clause } from './clauses';
import { cut } from './describe';
import { EXAMPLES, type Intent } from './intent';
import type { Round } from './outcome';
import { parseClause } from './parse';
import type { Plan, PlannedCall, Report, Toolbox } from './plan';
import { planReplace } from './replace';
import { planSearch } from './search';
import { planSimple } from './simple-plans';

/** The next step: calls to ask for, or the answer. */
export type NextStep = { calls: PlannedCall[] } | { answer: string };

const OPENING = 'I am the offline planner: fixed rules, no language model.';

/** What comes next for these words, after the steps that were taken. Nothing is asked for unless all of it is understood. */
export function nextStep(words: string, rounds: readonly Round[], tools: Toolbox): NextStep {
  const clauses = toClauses(words);
  const intents = clauses.map(parseClause);
  const unclear = clauses.filter((_, index) => intents[index] === undefined);
  if (clauses.length === 0 || unclear.length > 0) return { answer: explain(unclear, clauses.length) };
  return workThrough(
    intents.filter((intent) => intent !== undefined),
    rounds,
    { clauses, tools },
  );
}

function workThrough(
  intents: readonly Intent[],
  rounds: readonly Round[],
  { clauses, tools }: { clauses: readonly Clause[]; tools: Toolbox },
): NextStep {
  const left = [...rounds];
  const reports: Report[] = [];
  for (const intent of intents) {
    const state = advance(planOf(intent, tools), left);
    if ('calls' in state) return state;
    reports.push(state);
    if (state.failed) break;
  }
  return { answer: tell(reports, clauses.slice(reports.length)) };
}

function planOf(intent: Intent, tools: Toolbox): Plan {
  if (intent.kind === 'replace') return planReplace(intent, tools);
  return intent.kind === 'search' ? planSearch(intent, tools) : planSimple(intent, tools);
}

/** Runs a plan over the steps that are left, taking those that it uses. */
function advance(plan: Plan, left: Round[]): { calls: PlannedCall[] } | Report {
  let state = plan.next();
  while (state.done !== true) {
    const round = left.shift();
    if (round === undefined) return { calls: state.value };
    state = plan.next(round);
  }
  return state.value;
}

function tell(reports: readonly Report[], untried: readonly Clause[]): string {
  const told = reports.map(
    ({ lines }, index) => (reports.length + untried.length > 1 ? `${index + 1}. ` : '') + lines.join('\n'),
  );
  const rest = untried.map(
    (clause) => `Not tried, because the request before it was not done: ${sourceOf(clause)}`,
  );
  return [OPENING, ...told, ...rest].join('\n\n');
}

function explain(unclear: readonly Clause[], count: number): string {
  const which = unclear.map((clause) => `I do not understand: ${sourceOf(clause)}`);
  const rest = count > unclear.length ? ['Nothing was done, as I do not understand all of it.'] : [];
  const examples = EXAMPLES.map((example) => `- ${example}`).join('\n');
  const known = `I understand requests like these, joined by "then" or on lines of their own:\n${examples}`;
  return [OPENING, ...which.slice(0, 5), ...rest, known].join('\n\n');
}

function sourceOf({ source, words }: Clause): string {
  return cut(source.slice(words[0]?.start, words.at(-1)?.end), 200);
}
