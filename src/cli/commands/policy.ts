import type { Command } from 'commander';
import type { PolicyRules } from '../../authority/rules/policy-file';
import type { ApproversSource } from '../../authority/rules/current-file';
import { counted } from '../../history/labels';
import { viewOf } from '../../history/view';
import type { Config } from '../../tools/define-config';
import type { Context } from '../context';
import { loadConfig } from '../load-config';
import { addTurnFilters, readTurnQuery, type TurnFilters } from '../flags';
import type { PolicyComparison, Otherwise, PolicyTest } from '../policy-test/compare';
import { type PastCall, pastCalls } from '../policy-test/past';
import { escapeText } from '../../contract/text/escape';
import { readEachTurn } from '../progress';
import { usageError } from '../../contract/errors';
import { endOfDay, type PolicyRule } from '../../contract/policy-rule';
import type { ScreenFormat } from '../print/screen';
import { type Table, tableLines } from '../print/table';

const LIMIT = 1000;

interface FileOptions {
  file?: string;
}

/** `policy [config]` and `policy test`. */
export function addPolicy(program: Command, context: Context): void {
  const policy = program
    .command('policy [config]')
    .description('check the rules that say which calls run, ask or are refused, against a config')
    .option('--file <path>', 'a file of rules, instead of those that the config names')
    .action((config: string | undefined, options: FileOptions) => check(config, options, context));
  policy.configureHelp({ ...policy.configureHelp(), showGlobalOptions: true });
  const test = policy
    .command('test [config]')
    .description('say what would have been decided otherwise on the calls of past turns; nothing runs');
  addTurnFilters(test, LIMIT).action((config: string | undefined, options: TurnFilters) =>
    testPolicy(config, { ...options, ...policy.opts<FileOptions>() }, context),
  );
}

/** Loaded here, so that no other command waits for YAML, CEL and the definitions of tools. */
async function rulesOf(config: Config, file: string | undefined): Promise<PolicyRules | undefined> {
  const source = file ?? config.policy;
  if (source === undefined) return undefined;
  const { loadPolicy } = await import('../../authority/rules/policy-file.js');
  const { rulesAbout } = await import('../../tools/define-config.js');
  return loadPolicy(source, rulesAbout(config));
}

async function check(named: string | undefined, { file }: FileOptions, { screen, print }: Context) {
  const { config } = await loadConfig(named);
  const rules = await rulesOf(config, file);
  if (rules === undefined)
    throw usageError(
      'the config has no policy rules',
      'Name a file with --file, or in the config: `policy`.',
    );
  const now = Date.now();
  const notes = [...rules.rules.flatMap((rule) => noteOn(rule, now)), ...rules.warnings];
  print({ from: rules.from, rules: rules.rules, notes }, () => [
    screen.style.good(`${escapeText(rules.from)} is in order: ${counted(rules.rules.length, 'rule')}`),
    ...notes.map((note) => screen.style.warn(escapeText(note))),
  ]);
}

async function testPolicy(
  named: string | undefined,
  { file, ...options }: FileOptions & TurnFilters,
  context: Context,
) {
  const { config } = await loadConfig(named);
  const rules = await rulesOf(config, file);
  const { createComparison } = await import('../policy-test/compare.js');
  const approvers = await approversOf(context.approversFile ?? config.approvers);
  const comparison = createComparison({ agents: config.agents, rules, approvers });
  const counts = await eachPastCall(options, context, (call) => comparison.add(call));
  const { screen } = context;
  const found = comparison.test(counts);
  context.print(found, () => policyTestLines(found, screen));
}

async function approversOf(file: string | undefined): Promise<ApproversSource | undefined> {
  if (file === undefined) return undefined;
  const { loadApprovers } = await import('../../authority/rules/approvers-file.js');
  const approvers = await loadApprovers(file);
  return { current: () => Promise.resolve(approvers) };
}

/** The counts from reading turns, besides the calls. */
type Counts = Parameters<PolicyComparison['test']>[0];

/** Reads the turns that the options choose, and passes on each of their calls that a policy decides. */
async function eachPastCall(
  options: TurnFilters,
  { withClient, screen }: Context,
  take: (call: PastCall) => Promise<void> | void,
): Promise<Counts> {
  const query = readTurnQuery(options, LIMIT);
  return withClient(async (client) => {
    let forks = 0;
    const turns = await readEachTurn({ client, screen }, query, async (events) => {
      const view = viewOf(events);
      if (view.fork !== undefined) return void (forks += 1);
      for (const call of pastCalls(view)) if ((options.tool ?? call.tool) === call.tool) await take(call);
    });
    return { turns, forks };
  });
}

const MOST_ROWS = 50;
const MODES = { run: 'runs', ask: 'asks', refuse: 'refused' } as const;

/** The calls that would be decided in another way as a table, and how often each rule fitted. */
export function policyTestLines(test: PolicyTest, screen: ScreenFormat): string[] {
  const { quiet } = screen.style;
  const { otherwise, calls, turns, from } = test;
  const head = ['RULE', 'SAYS', 'FITS'];
  const rows = test.rules.map(({ name, then, fits }) => [escapeText(name), then, counted(fits, 'call')]);
  const sum = `${counted(turns, 'turn')}, ${counted(calls, 'call')}: ${test.same} as decided, ${otherwise.length} otherwise`;
  const more = otherwise.length - MOST_ROWS;
  return [
    sum,
    ...(from === null ? ['The config has no policy rules: this is what its code says today.'] : []),
    ...(otherwise.length === 0
      ? []
      : ['', ...tableLines(otherwiseTable(otherwise.slice(0, MOST_ROWS)), screen)]),
    ...(more > 0 ? [quiet(`… ${more} more; --json has all`)] : []),
    ...(test.rules.length === 0 ? [] : ['', ...tableLines({ head, rows, flex: 0 }, screen)]),
    ...leftOut(test).map((line) => quiet(line)),
  ];
}

function otherwiseTable(rows: readonly Otherwise[]): Table {
  return {
    head: ['CALL', 'WAS', 'WOULD', 'BY', 'WHAT'],
    rows: rows.map(({ turn, callId, was, would, rule, why, outcome, summary }) => [
      escapeText(`${turn}/${callId}`),
      escapeText(was === 'ask' ? `asks, ${outcome}` : MODES[was]),
      MODES[would],
      escapeText(rule ?? why ?? 'safety'),
      escapeText(summary),
    ]),
    flex: 4,
    drop: [3],
  };
}

function leftOut({ unknown, invalid, forks }: PolicyTest): string[] {
  const names = Object.entries(unknown).map(([tool, some]) => `${some} of ${escapeText(tool)}`);
  return [
    ...(names.length === 0
      ? []
      : [`Left out, because the config lacks the tool or the agent: ${names.join(', ')}.`]),
    ...(invalid === 0
      ? []
      : [`Left out, because the tool does not take their arguments today: ${counted(invalid, 'call')}.`]),
    ...(forks === 0 ? [] : [`Left out: ${counted(forks, 'fork')}.`]),
  ];
}

/** What `policy` remarks on a rule: it ended, or it lets calls run without a decision. */
function noteOn({ name, until, tools = [] }: PolicyRule, now: number): string[] {
  if (until === undefined) return [];
  return endOfDay(until) <= now
    ? [`'${name}' ended on ${until}: it fits nothing any more`]
    : [`'${name}' lets ${tools.join(', ')} run without a decision until ${until}`];
}
