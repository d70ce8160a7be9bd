import type { JSX } from 'preact';
import type { InboxItem } from '../../../server/api';
import { countBy, NO_FILTER, type InboxFilter } from '../../model/inbox';
import { Select } from '../../parts/select';

const MINUTE = 60_000;
const AGES: readonly (readonly [string, string])[] = [
  ['0', 'any age'],
  [String(5 * MINUTE), 'over 5 min'],
  [String(60 * MINUTE), 'over 1 h'],
  [String(24 * 60 * MINUTE), 'over 1 day'],
];

interface FiltersProps {
  filter: InboxFilter;
  setFilter: (filter: InboxFilter) => void;
  all: readonly InboxItem[];
}

/** Narrows the list by tool, agent and age. */
export function Filters({ filter, setFilter, all }: FiltersProps): JSX.Element {
  const named = (field: 'tool' | 'agent'): [string, string][] => [
    ['', `all ${field}s`],
    ...countBy(all, field).map(([name, count]): [string, string] => [name, `${name} (${count})`]),
  ];
  const isSet = filter.tool !== '' || filter.agent !== '' || filter.olderThanMs !== 0;
  return (
    <div class="filters" role="group" aria-label="Filter">
      <Select
        id="filter-tool"
        label="Tool"
        value={filter.tool}
        options={named('tool')}
        choose={(tool) => setFilter({ ...filter, tool })}
      />
      <Select
        id="filter-agent"
        label="Agent"
        value={filter.agent}
        options={named('agent')}
        choose={(agent) => setFilter({ ...filter, agent })}
      />
      <Select
        id="filter-age"
        label="Age"
        value={String(filter.olderThanMs)}
        options={AGES}
        choose={(age) => setFilter({ ...filter, olderThanMs: Number(age) })}
      />
      {isSet && (
        <button class="button plain" type="button" onClick={() => setFilter(NO_FILTER)}>
          Clear
        </button>
      )}
    </div>
  );
}
