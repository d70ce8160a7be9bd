import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { clock } from '../../../contract/times';
import type { StatsAnswer } from '../../../server/api';
import { readStats } from '../../api/http';
import { barsOf, sumsOf } from '../../model/stats';
import { Select } from '../../parts/select';
import { useDesk } from '../../state/desk';
import { Bars } from './bars';

const DAY_MS = 24 * 3_600_000;
const PERIODS = [
  [String(DAY_MS), 'the last day'],
  [String(7 * DAY_MS), 'the last 7 days'],
  [String(30 * DAY_MS), 'the last 30 days'],
  ['', 'all time'],
] as const;

interface Filter {
  since: string;
  agent: string;
  tool: string;
}

/** What past turns came to: success and failure by tool, times, decisions, doubts, and what the desk refused. */
export function StatsScreen(): JSX.Element {
  const [filter, setFilter] = useState<Filter>({ since: String(7 * DAY_MS), agent: '', tool: '' });
  const { answer, isReading } = useStats(filter);
  return (
    <section class="stats" aria-labelledby="stats-title" aria-busy={isReading}>
      <h1 id="stats-title" class="pane-title">
        Stats
      </h1>
      <Filters {...{ filter, setFilter, answer }} />
      {answer === undefined ? <p class="empty">Reading turns …</p> : <Answer {...{ answer, isReading }} />}
    </section>
  );
}

interface FiltersProps {
  filter: Filter;
  setFilter: (filter: Filter) => void;
  answer: StatsAnswer | undefined;
}

function Filters({ filter, setFilter, answer }: FiltersProps): JSX.Element {
  const { since, agent, tool } = filter;
  const known = new Set([
    ...(tool === '' ? [] : [tool]),
    ...(answer?.stats.tools ?? []).map((one) => one.tool),
  ]);
  const tools: [string, string][] = [
    ['', 'every tool'],
    ...[...known].map((one): [string, string] => [one, one]),
  ];
  return (
    <div class="filters" role="search">
      <Select
        id="since"
        label="Period"
        value={since}
        options={PERIODS}
        choose={(value) => setFilter({ ...filter, since: value })}
      />
      <Select
        id="stats-tool"
        label="Tool"
        value={tool}
        options={tools}
        choose={(value) => setFilter({ ...filter, tool: value })}
      />
      <input
        type="search"
        aria-label="Agent"
        placeholder="every agent"
        maxLength={200}
        value={agent}
        onChange={({ currentTarget }) => setFilter({ ...filter, agent: currentTarget.value.trim() })}
      />
    </div>
  );
}

function Answer({ answer, isReading }: { answer: StatsAnswer; isReading: boolean }): JSX.Element {
  const { stats, isCut, at } = answer;
  const rows = barsOf(answer);
  return (
    <>
      <p class="quiet" role="status">
        {isReading
          ? 'Reading turns …'
          : `${isCut ? `The newest ${stats.turns.count} turns` : 'All turns that fit'}, read at ${clock(at)}.`}
      </p>
      {stats.turns.count === 0 ? <p class="empty">No turn fits.</p> : <Sums of={sumsOf(stats)} />}
      <Bars id="stat-calls" title="Calls by tool" legend={CALLS} rows={rows.calls} />
      <Bars id="stat-times" title="How long calls run" legend={TIMES} rows={rows.times} />
      <Bars id="stat-decisions" title="Decisions" legend={DECISIONS} rows={rows.decisions} />
      <Bars id="stat-doubts" title="In doubt" legend={[]} rows={rows.doubts} />
      <Bars id="stat-refusals" title="Refused by this desk, every agent" legend={[]} rows={rows.refusals} />
    </>
  );
}

const CALLS = [
  ['good', 'succeeded'],
  ['bad', 'failed'],
  ['quiet', 'unfinished'],
] as const;
const TIMES = [
  ['good', 'up to p50'],
  ['busy', 'p95'],
  ['quiet', 'the longest, on a logarithmic scale'],
] as const;
const DECISIONS = [
  ['good', 'approved'],
  ['busy', 'edited'],
  ['bad', 'denied'],
  ['ask', 'expired'],
  ['quiet', 'none'],
] as const;

function Sums({ of }: { of: ReturnType<typeof sumsOf> }): JSX.Element {
  return (
    <dl class="sums">
      {of.map(([name, number, more]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <strong>{number}</strong>
            <span class="quiet">{more}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** What was read last stays while something else is read. */
function useStats(filter: Filter): { answer?: StatsAnswer; isReading: boolean } {
  const { fail } = useDesk();
  const [state, setState] = useState<{ answer?: StatsAnswer; isReading: boolean }>({ isReading: true });
  useEffect(() => {
    let isWanted = true;
    setState((last) => ({ ...last, isReading: true }));
    void readStats(filter).then((reply) => {
      if (!isWanted) return;
      if (reply.ok) return setState({ answer: reply.data, isReading: false });
      setState((last) => ({ ...last, isReading: false }));
      fail(reply.status, reply.error);
    });
    return () => {
      isWanted = false;
    };
  }, [filter, fail]);
  return state;
}
