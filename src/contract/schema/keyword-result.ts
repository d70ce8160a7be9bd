import type { Issue } from '../tool';

/** The most issues that are reported. Nobody corrects more at the same time. */
const MOST_ISSUES = 20;

/**
 * Where a check is in the value. Without `issues`, the reasons are not collected, and the first fault ends the check.
 */
export interface ValuePlace {
  readonly depth: number;
  readonly issues: Issue[] | undefined;
  /**
   * The place of the object or list that this value is a part of. Undefined at the root. The path is put together only
   * for an issue.
   */
  readonly parent: ValuePlace | undefined;
  readonly part: string | number;
}

/** The same place for a check that collects no reasons. */
export function silently({ depth, parent, part }: ValuePlace): ValuePlace {
  return { depth, issues: undefined, parent, part };
}

function pathOf(place: ValuePlace): string {
  if (place.parent === undefined) return '';
  const { parent, part } = place;
  const step = typeof part === 'number' ? String(part) : part.replaceAll('~', '~0').replaceAll('/', '~1');
  return `${pathOf(parent)}/${step}`;
}

/** The properties and items, by name or index, that a keyword has checked. */
export type Evaluated = Iterable<string | number>;

/** The result of one schema's keywords for one value. */
export class CheckResult {
  private fits = true;
  private own: Set<string | number> | undefined;

  /** `keeps`: whether a keyword will ask which parts of the value were checked. */
  constructor(
    readonly at: ValuePlace,
    private readonly keeps: boolean,
  ) {}

  /** If the value fits: the parts that were checked. Undefined if the value does not fit. */
  get outcome(): Evaluated | undefined {
    return this.fits ? (this.own ?? []) : undefined;
  }

  /** Whether a keyword has checked a property or an item. */
  hasSeen(part: string | number): boolean {
    return this.own?.has(part) === true;
  }

  /** Whether a further check could not change the result. */
  get isOver(): boolean {
    return !this.fits && (this.at.issues === undefined || this.at.issues.length >= MOST_ISSUES);
  }

  /**
   * Notes that the value does not fit. `message` is written only if somebody reads it. `more`: the issues of the
   * branches.
   */
  fail(message: string | (() => string), more: readonly Issue[] = []): void {
    this.fits = false;
    const { issues } = this.at;
    if (issues === undefined || issues.length >= MOST_ISSUES) return;
    const room = MOST_ISSUES - issues.length;
    const own = { path: pathOf(this.at), message: typeof message === 'string' ? message : message() };
    issues.push(...[own, ...more].slice(0, room));
  }

  /** Takes over the result of another schema for the same value. The issues of that schema are reported already. */
  take(outcome: Evaluated | undefined): void {
    if (outcome === undefined) this.fits = false;
    else for (const part of outcome) this.see(part);
  }

  /** Takes over the result of a schema for a property or an item. */
  takePart(part: string | number, fits: boolean): void {
    if (!fits) this.fits = false;
    if (this.keeps) this.see(part);
  }

  /** Marks a property or an item as checked. */
  see(part: string | number): void {
    this.own ??= new Set();
    this.own.add(part);
  }

  /** The place of a property or an item. */
  below(part: string | number): ValuePlace {
    return { depth: this.at.depth, issues: this.at.issues, parent: this.at, part };
  }
}
