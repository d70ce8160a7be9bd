import { useEffect, useState } from 'preact/hooks';
import { dateTime } from '../../contract/text/times';
import { unreadText } from '../../history/stats-text';
import type { StatsAnswer } from '../../server/api';
import { type Reply, send } from '../http';
import { type BarRow, barsOf, sumsOf } from '../model/stats';
import { queryOf } from '../model/route';
import { Select } from '../ui/widgets';
import { useAppContext } from '../ui/app';
import { Text } from '../ui/text';
import { DAY, FILTER_CHARACTERS } from '../../contract/limits';

/** Reads stats. `since`: how many milliseconds ago the period begins. */
const readStats = (query: Record<'since' | 'agent' | 'tool', string>): Promise<Reply<StatsAnswer>> =>
  send('GET', `api/stats?${queryOf(query)}`);

const PERIODS = [
  [String(DAY), 'the last day'],
  [String(7 * DAY), 'the last 7 days'],
  [String(30 * DAY), 'the last 30 days'],
  ['', 'all time'],
] as const;

interface Filter {
  since: string;
  agent: string;
  tool: string;
}

/** Stats of past turns: success and failure by tool, times, decisions, calls in doubt, and refused decisions. */
export function StatsScreen() {
  const [filter, setFilter] = useState<Filter>({ since: String(7 * DAY), agent: '', tool: '' });
  const { answer, isReading } = useStats(filter);
  return (
    <section class="stats" aria-labelledby="stats-title" aria-busy={isReading}>
      <h1 id="stats-title" class="pane-title">
        Stats
      </h1>
      <Filters {...{ filter, setFilter, answer }} />
      <p>
        <a href="#/refused">Refused decisions, one by one</a>
      </p>
      {answer ? <Answer {...{ answer, isReading }} /> : <p class="empty">Reading turns …</p>}
    </section>
  );
}

interface FiltersProps {
  filter: Filter;
  setFilter: (filter: Filter) => void;
  answer: StatsAnswer | undefined;
}

function Filters({ filter, setFilter, answer }: FiltersProps) {
  const { since, agent, tool } = filter;
  const choose = (part: Partial<Filter>) => setFilter({ ...filter, ...part });
  const tools = new Set(['', tool, ...(answer?.stats.tools ?? []).map((one) => one.tool)]);
  return (
    <div class="filters" role="search">
      <Select
        id="since"
        label="Period"
        value={since}
        options={PERIODS}
        choose={(value) => choose({ since: value })}
      />
      <Select
        id="stats-tool"
        label="Tool"
        value={tool}
        options={[...tools].map((one) => [one, one || 'every tool'])}
        choose={(value) => choose({ tool: value })}
      />
      <input
        type="search"
        aria-label="Agent"
        placeholder="every agent"
        maxLength={FILTER_CHARACTERS}
        // We do not set `value`, because an answer that comes meanwhile must not remove what a person types.
        defaultValue={agent}
        onChange={({ currentTarget }) => choose({ agent: currentTarget.value.trim() })}
      />
    </div>
  );
}

function Answer({ answer, isReading }: { answer: StatsAnswer; isReading: boolean }) {
  const { stats, unread, isCut, at } = answer;
  const rows = barsOf(answer);
  return (
    <>
      <p class="quiet" role="status">
        {isReading
          ? 'Reading turns …'
          : `${isCut ? `The newest ${stats.turns.count} turns` : 'All turns that fit'}, read at ${dateTime(at)}.`}
      </p>
      {unread > 0 && <p class="empty">{unreadText(unread)}</p>}
      {stats.turns.count === 0 ? <p class="empty">No turn fits.</p> : <Sums of={sumsOf(stats)} />}
      <Bars id="stat-calls" title="Calls by tool" legend={CALLS} rows={rows.calls} />
      <Bars id="stat-times" title="How long calls run" legend={TIMES} rows={rows.times} />
      <Bars id="stat-decisions" title="Decisions" legend={DECISIONS} rows={rows.decisions} />
      <Bars id="stat-doubts" title="In doubt" legend={[]} rows={rows.doubts} />
      <Bars
        id="stat-refusals"
        title="Refused by this web inbox, every agent"
        legend={[]}
        rows={rows.refusals}
      />
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

function Sums({ of }: { of: ReturnType<typeof sumsOf> }) {
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

/** Reads stats, and keeps the last answer while the next one is read. */
function useStats(filter: Filter): { answer?: StatsAnswer; isReading: boolean } {
  const { fail } = useAppContext();
  const [state, setState] = useState<{ answer?: StatsAnswer; isReading: boolean }>({ isReading: true });
  useEffect(() => {
    let isWanted = true;
    setState((last) => ({ ...last, isReading: true }));
    void readStats(filter).then((reply) => {
      if (!isWanted) return;
      if (reply.ok) return setState({ answer: reply.data, isReading: false });
      setState((last) => ({ ...last, isReading: false }));
      fail(reply);
    });
    return () => {
      isWanted = false;
    };
  }, [filter, fail]);
  return state;
}

interface BarsProps {
  id: string;
  title: string;
  /** The meaning of the colours. */
  legend: readonly (readonly [tone: string, text: string])[];
  rows: readonly BarRow[];
}

/** One row for each tool, with a bar and its numbers. Empty if there are no rows. */
function Bars({ id, title, legend, rows }: BarsProps) {
  if (rows.length === 0) return null;
  return (
    <section class="stat" aria-labelledby={id}>
      <header class="stat-head">
        <h2 id={id}>{title}</h2>
        <ul class="stat-legend" aria-hidden="true">
          {legend.map(([tone, text]) => (
            <li key={text}>
              <span class={`part ${tone}`} /> {text}
            </li>
          ))}
        </ul>
      </header>
      <ul class="stat-rows">
        {rows.map((row) => (
          <Bar key={row.tool} {...row} />
        ))}
      </ul>
    </section>
  );
}

function Bar({ tool, parts, text }: BarRow) {
  return (
    <li>
      <code class="stat-name">
        <Text of={tool} />
      </code>
      <span class="stat-bar" aria-hidden="true">
        {parts.map(({ tone, name, width }) => (
          <span key={name} class={`part ${tone}`} style={{ width: `${width * 100}%` }} />
        ))}
      </span>
      <span class="stat-words">{text}</span>
    </li>
  );
}
