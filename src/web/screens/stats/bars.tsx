import type { JSX } from 'preact';
import type { BarRow } from '../../model/stats';
import { Text } from '../../parts/text';

interface BarsProps {
  id: string;
  title: string;
  /** What the colours stand for. */
  legend: readonly (readonly [tone: string, words: string])[];
  rows: readonly BarRow[];
}

/** Tools one below the other, each with a bar and the numbers in words. Nothing where no tool has any. */
export function Bars({ id, title, legend, rows }: BarsProps): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <section class="stat" aria-labelledby={id}>
      <header class="stat-head">
        <h2 id={id}>{title}</h2>
        <ul class="stat-legend" aria-hidden="true">
          {legend.map(([tone, words]) => (
            <li key={words}>
              <span class={`part ${tone}`} /> {words}
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

function Bar({ tool, parts, words }: BarRow): JSX.Element {
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
      <span class="stat-words">{words}</span>
    </li>
  );
}
