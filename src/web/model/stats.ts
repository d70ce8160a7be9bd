import { span } from '../../contract/times';
import type { Spread, Stats, ToolStats } from '../../history/stats';
import type { StatsAnswer } from '../../server/api';
import type { Tone } from './words';

/** A part of a bar; `width` is of the whole, 0 to 1. */
export interface Part {
  tone: Tone;
  /** What it stands for. */
  name: string;
  count: number;
  width: number;
}

/** One tool as bars and the words beside them. */
export interface BarRow {
  tool: string;
  parts: Part[];
  words: string;
}

/** What is drawn as bars. */
type Bars = Record<'calls' | 'times' | 'decisions' | 'doubts' | 'refusals', BarRow[]>;

/** A part that is not 0 stays visible: one failure among thousands counts. */
const LEAST = 0.008;

/** Everything that is drawn as bars, each with a row a tool; refusals with a row a code. */
export function barsOf({ stats, refusals }: Pick<StatsAnswer, 'stats' | 'refusals'>): Bars {
  return {
    calls: callRows(stats),
    times: timeRows(stats),
    decisions: decisionRows(stats),
    doubts: doubtRows(stats),
    refusals: refusalRows(refusals),
  };
}

/** How calls went, most used first; the longest bar is the tool that was used most. */
function callRows({ tools }: Stats): BarRow[] {
  const most = Math.max(1, ...tools.map(({ calls }) => calls));
  return tools.map((row) => ({
    tool: row.tool,
    parts: partsOf(most, [
      ['good', 'succeeded', row.succeeded],
      ['bad', 'failed', row.failed],
      ['quiet', 'unfinished', row.unfinished],
    ]),
    words: wordsOf([
      counted(row.calls, 'call'),
      row.successRate !== null && `${percent(row.successRate)} succeeded`,
      row.failed > 0 && `failed by ${codesOf(row.errors)}`,
      row.retried > 0 && `${row.retried} retried`,
    ]),
  }));
}

/** What people said to requests, of tools that asked. */
function decisionRows({ tools }: Stats): BarRow[] {
  const asked = tools.filter(({ decisions }) => decisions.requests > 0);
  const most = Math.max(1, ...asked.map(({ decisions }) => decisions.requests));
  return asked.map(({ tool, decisions }) => {
    const { requests, approved, edited, denied, expired, wait } = decisions;
    return {
      tool,
      parts: partsOf(most, [
        ['good', 'approved', approved],
        ['busy', 'edited', edited],
        ['bad', 'denied', denied],
        ['ask', 'expired', expired],
        ['quiet', 'open or closed with the turn', requests - approved - edited - denied - expired],
      ]),
      words: wordsOf([
        counted(requests, 'request'),
        ...(
          [
            ['approved', approved],
            ['edited', edited],
            ['denied', denied],
            ['expired', expired],
          ] as const
        ).map(([name, count]) => count > 0 && `${count} ${name}`),
        wait.count > 0 && `decided in ${spreadWords(wait)}`,
      ]),
    };
  });
}

/** How long something took, as a bar on a logarithmic scale: solid up to p50, then p95, then the longest. */
function timeRows({ tools }: Stats): BarRow[] {
  const ran = tools.filter(({ time }) => time.count > 0);
  const longest = Math.max(1, ...ran.map(({ time }) => time.max ?? 0));
  const place = (ms: number | null): number => Math.log1p(ms ?? 0) / Math.log1p(longest);
  return ran.map(({ tool, time }) => {
    const [p50, p95, max] = [place(time.p50), place(time.p95), place(time.max)];
    const parts: Part[] = [
      { tone: 'good', name: 'p50', count: time.p50 ?? 0, width: p50 },
      { tone: 'busy', name: 'p95', count: time.p95 ?? 0, width: p95 - p50 },
      { tone: 'quiet', name: 'max', count: time.max ?? 0, width: max - p95 },
    ];
    return { tool, parts: parts.filter(({ width }) => width > 0), words: spreadWords(time) };
  });
}

/** Tools with calls whose outcome nobody knew, and what became of them. */
function doubtRows({ tools }: Stats): BarRow[] {
  const doubted = tools.filter(({ inDoubt }) => inDoubt.calls > 0);
  const most = Math.max(1, ...doubted.map(({ inDoubt }) => inDoubt.calls));
  return doubted.map(({ tool, inDoubt: { calls, resolved } }) => ({
    tool,
    parts: partsOf(most, [['ask', 'in doubt', calls]]),
    words: wordsOf([
      counted(calls, 'call'),
      resolved.happened > 0 && `${resolved.happened} had happened`,
      resolved['did-not'] > 0 && `${resolved['did-not']} had not`,
      resolved['run-again'] > 0 && `${resolved['run-again']} run again`,
    ]),
  }));
}

/** Refused decisions by code, most frequent first. */
function refusalRows(refusals: Readonly<Record<string, number>>): BarRow[] {
  const most = Math.max(1, ...Object.values(refusals));
  return Object.entries(refusals)
    .sort(([, a], [, b]) => b - a)
    .map(([code, times]) => ({
      tool: code,
      parts: partsOf(most, [['bad', 'refused', times]]),
      words: `${times} refused`,
    }));
}

/** A few numbers that sum the turns up, each with its name. */
export function sumsOf({ turns, model, all }: Stats): [string, string, string][] {
  const ends = Object.entries(turns.ends).map(([end, count]) => `${count} ${end.replaceAll('_', ' ')}`);
  const { inputTokens, outputTokens } = model;
  return [
    ['Turns', whole(turns.count), ends.join(', ')],
    ['A turn takes', turns.time.p50 === null ? '-' : span(turns.time.p50), tail(turns.time)],
    ['Calls', whole(all.calls), all.successRate === null ? '' : `${percent(all.successRate)} succeeded`],
    [
      'Waiting for a person',
      all.decisions.wait.p50 === null ? '-' : span(all.decisions.wait.p50),
      tail(all.decisions.wait),
    ],
    ['A reply takes', model.time.p50 === null ? '-' : span(model.time.p50), tail(model.time)],
    ['Tokens', whole(inputTokens + outputTokens), `${whole(inputTokens)} in, ${whole(outputTokens)} out`],
  ];
}

function codesOf(errors: ToolStats['errors']): string {
  return Object.entries(errors)
    .map(([code, times]) => `${code.replaceAll('_', ' ')} ${times}`)
    .join(', ');
}

function partsOf(most: number, counts: readonly (readonly [Tone, string, number])[]): Part[] {
  return counts
    .filter(([, , count]) => count > 0)
    .map(([tone, name, count]) => ({ tone, name, count, width: Math.max(LEAST, count / most) }));
}

function spreadWords({ p50, p95, max }: Spread): string {
  const words = [
    ['p50', p50],
    ['p95', p95],
    ['max', max],
  ] as const;
  return words.map(([name, ms]) => `${name} ${ms === null ? '-' : span(ms)}`).join(' · ');
}

function tail({ p95, max }: Spread): string {
  return p95 === null || max === null ? '' : `p95 ${span(p95)}, max ${span(max)}`;
}

/** Rounded up it would hide the one that failed. */
function percent(rate: number): string {
  return `${Math.floor(rate * 100)} %`;
}

function whole(count: number): string {
  return count.toLocaleString('en');
}

function counted(count: number, what: string): string {
  return `${whole(count)} ${what}${count === 1 ? '' : 's'}`;
}

function wordsOf(parts: readonly (string | false)[]): string {
  return parts.filter((part) => part !== false).join(' · ');
}
