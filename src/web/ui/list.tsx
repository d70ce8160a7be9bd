import type { ComponentChildren, JSX } from 'preact';
import { hrefOf, type Route } from '../model/route';

interface ListScreenProps<T> {
  /** The beginning of the id of its heading. */
  name: string;
  title: ComponentChildren;
  /** What stands between the heading and the rows. */
  children?: ComponentChildren;
  /** Undefined until they are read. */
  rows: readonly T[] | undefined;
  draw: (row: T) => JSX.Element;
  /** Said in place of no rows. */
  none: string;
  /** What stands below the rows. */
  after?: ComponentChildren;
}

/** A screen with a list. */
export function ListScreen<T>(props: ListScreenProps<T>) {
  const { name, title, children, rows, draw, none, after } = props;
  return (
    <section class="turns" aria-labelledby={`${name}-title`}>
      <h1 id={`${name}-title`} class="pane-title" tabIndex={-1}>
        {title}
      </h1>
      {children}
      {rows === undefined && <p class="empty">Reading …</p>}
      {rows?.length === 0 && <p class="empty">{none}</p>}
      <ul class={`turn-list of-${name}`}>{rows?.map(draw)}</ul>
      {after}
    </section>
  );
}

interface RowProps {
  to: Route;
  title: ComponentChildren;
  chips: ComponentChildren;
  /** The line below the title. */
  children: ComponentChildren;
}

/** A row of a list, which leads to a place. */
export function ListRow({ to, title, chips, children }: RowProps) {
  return (
    <li>
      <a href={hrefOf(to)}>
        <span class="turn-prompt">{title}</span>
        <span class="chips">{chips}</span>
        <span class="row-foot">{children}</span>
      </a>
    </li>
  );
}
