import { span } from '../../contract/text/times';
import type { Spread, Stats, ToolStats } from '../../history/stats';
import type { StatsAnswer } from '../../server/api';
import { costText, counted, describeTokens, type Tone } from '../../history/labels';
import { percentText, spreadText } from '../../history/stats-text';

/** A part of a bar. `width` is a fraction of the full width. */
interface BarPart {
  tone: Tone;
  /** The label of the part. */
  name: string;
  count: number;
  width: number;
}

/** A tool with its bar, and the text beside the bar. */
export interface BarRow {
  tool: string;
  parts: BarPart[];
  text: string;
}

/** The data of all bars. */
type Bars = Record<'calls' | 'times' | 'decisions' | 'doubts' | 'refusals', BarRow[]>;

/** The least width of a part above 0, so that one failure among thousands is visible. */
const LEAST = 0.008;

/** The rows of all bar charts: one row for each tool, and for refusals one row for each code. */
export function barsOf({ stats, refusals }: Pick<StatsAnswer, 'stats' | 'refusals'>): Bars {
  return {
    calls: callRows(stats),
    times: timeRows(stats),
    decisions: decisionRows(stats),
    doubts: doubtRows(stats),
    refusals: refusalRows(refusals),
  };
}

/** Results of calls by tool, with the most used tool first. That tool has the longest bar. */
function callRows({ tools }: Stats): BarRow[] {
  const most = Math.max(1, ...tools.map(({ calls }) => calls));
  return tools.map((row) => ({
    tool: row.tool,
    parts: partsOf(most, [
      ['good', 'succeeded', row.succeeded],
      ['bad', 'failed', row.failed],
      ['quiet', 'unfinished', row.unfinished],
    ]),
    text: joined([
      counted(row.calls, 'call'),
      row.successRate !== null && `${percentText(row.successRate)} succeeded`,
      row.failed > 0 && `failed by ${codesOf(row.errors)}`,
      row.retried > 0 && `${row.retried} retried`,
    ]),
  }));
}

/** Decisions on requests, by tool. */
function decisionRows({ tools }: Stats): BarRow[] {
  const asked = tools.filter(({ decisions }) => decisions.requests > 0);
  const most = Math.max(1, ...asked.map(({ decisions }) => decisions.requests));
  return asked.map(({ tool, decisions }) => {
    const { requests, approved, edited, denied, expired, wait } = decisions;
    const made = { approved, edited, denied, expired };
    return {
      tool,
      parts: partsOf(most, [
        ['good', 'approved', approved],
        ['busy', 'edited', edited],
        ['bad', 'denied', denied],
        ['ask', 'expired', expired],
        ['quiet', 'open or closed with the turn', requests - approved - edited - denied - expired],
      ]),
      text: joined([
        counted(requests, 'request'),
        ...Object.entries(made).map(([name, count]) => count > 0 && `${count} ${name}`),
        wait.count > 0 && `decided in ${spreadText(wait)}`,
      ]),
    };
  });
}

/** Durations as a bar on a logarithmic scale: up to p50, up to p95, up to the longest. */
function timeRows({ tools }: Stats): BarRow[] {
  const ran = tools.filter(({ time }) => time.count > 0);
  const longest = Math.max(1, ...ran.map(({ time }) => time.max ?? 0));
  const place = (ms: number | null) => Math.log1p(ms ?? 0) / Math.log1p(longest);
  return ran.map(({ tool, time }) => {
    const [p50, p95, max] = [place(time.p50), place(time.p95), place(time.max)];
    const parts: BarPart[] = [
      { tone: 'good', name: 'p50', count: time.p50 ?? 0, width: p50 },
      { tone: 'busy', name: 'p95', count: time.p95 ?? 0, width: p95 - p50 },
      { tone: 'quiet', name: 'max', count: time.max ?? 0, width: max - p95 },
    ];
    return { tool, parts: parts.filter(({ width }) => width > 0), text: spreadText(time) };
  });
}

/** The tools with calls in doubt, and how people resolved these calls. */
function doubtRows({ tools }: Stats): BarRow[] {
  const doubted = tools.filter(({ inDoubt }) => inDoubt.calls > 0);
  const most = Math.max(1, ...doubted.map(({ inDoubt }) => inDoubt.calls));
  return doubted.map(({ tool, inDoubt: { calls, resolved } }) => ({
    tool,
    parts: partsOf(most, [['ask', 'in doubt', calls]]),
    text: joined([
      counted(calls, 'call'),
      resolved.happened > 0 && `${resolved.happened} had happened`,
      resolved['did-not'] > 0 && `${resolved['did-not']} had not`,
      resolved['run-again'] > 0 && `${resolved['run-again']} run again`,
    ]),
  }));
}

/** Refused decisions by code, with the most frequent code first. */
function refusalRows(refusals: Readonly<Record<string, number>>): BarRow[] {
  const most = Math.max(1, ...Object.values(refusals));
  return Object.entries(refusals)
    .sort(([, a], [, b]) => b - a)
    .map(([code, times]) => ({
      tool: code,
      parts: partsOf(most, [['bad', 'refused', times]]),
      text: `${times} refused`,
    }));
}

/** The totals of all turns, each with its name. */
export function sumsOf({ turns, model, all }: Stats): [string, string, string][] {
  const ends = Object.entries(turns.ends).map(([end, count]) => `${count} ${end.replaceAll('_', ' ')}`);
  const { inputTokens, outputTokens } = model;
  const cost = costText(model);
  return [
    ['Turns', whole(turns.count), ends.join(', ')],
    ['A turn takes', ...spreadOf(turns.time)],
    ['Calls', whole(all.calls), all.successRate === null ? '' : `${percentText(all.successRate)} succeeded`],
    ['Waiting for a person', ...spreadOf(all.decisions.wait)],
    ['A reply takes', ...spreadOf(model.time)],
    ['Tokens', whole(inputTokens + outputTokens), describeTokens(model)],
    ...(cost === '' ? [] : [['Cost', cost, 'by your own prices'] satisfies [string, string, string]]),
  ];
}

function codesOf(errors: ToolStats['errors']) {
  return Object.entries(errors)
    .map(([code, times]) => `${code.replaceAll('_', ' ')} ${times}`)
    .join(', ');
}

function partsOf(most: number, counts: readonly (readonly [Tone, string, number])[]): BarPart[] {
  return counts
    .filter(([, , count]) => count > 0)
    .map(([tone, name, count]) => ({ tone, name, count, width: Math.max(LEAST, count / most) }));
}

/** The median, and how far the highest values lie above it. */
function spreadOf({ p50, p95, max }: Spread): [string, string] {
  const tail = p95 === null || max === null ? '' : `p95 ${span(p95)}, max ${span(max)}`;
  return [p50 === null ? '-' : span(p50), tail];
}

function whole(count: number) {
  return count.toLocaleString('en');
}

function joined(parts: readonly (string | false)[]) {
  return parts.filter((part) => part !== false).join(' · ');
}
