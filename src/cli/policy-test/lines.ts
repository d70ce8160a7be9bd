import { endOfDay, type PolicyRule } from '../../contract/policy-rule';
import { counted } from '../../history/labels';
import { escapeText } from '../../contract/text/escape';
import type { ScreenFormat } from '../print/screen';
import { type Table, tableLines } from '../print/table';
import type { Otherwise, PolicyTest } from './compare';

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
export function noteOn({ name, until, tools = [] }: PolicyRule, now: number): string[] {
  if (until === undefined) return [];
  return endOfDay(until) <= now
    ? [`'${name}' ended on ${until}: it fits nothing any more`]
    : [`'${name}' lets ${tools.join(', ')} run without a decision until ${until}`];
}
