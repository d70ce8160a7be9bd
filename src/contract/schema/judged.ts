import type { Issue } from '../tool';

/** The most issues that are reported: nobody fixes more at once. */
const MOST_ISSUES = 20;

/** Where a check is. Without `issues` nobody wants to hear why: the first fault ends it. */
export interface Place {
  readonly depth: number;
  readonly issues: Issue[] | undefined;
  /** Which part of which value this is; undefined at the root. A path is only written for an issue. */
  readonly parent: Place | undefined;
  readonly part: string | number;
}

/** The same value, and nobody who wants to hear why. */
export function silently({ depth, parent, part }: Place): Place {
  return { depth, issues: undefined, parent, part };
}

function pathOf(place: Place): string {
  if (place.parent === undefined) return '';
  const { parent, part } = place;
  const step = typeof part === 'number' ? String(part) : part.replaceAll('~', '~0').replaceAll('/', '~1');
  return `${pathOf(parent)}/${step}`;
}

/** Names of properties and indexes of items that some keyword has looked at. */
export type Evaluated = Iterable<string | number>;

/** What the keywords of one schema found of one value. */
export class Judged {
  private fits = true;
  private own: Set<string | number> | undefined;

  /** `keeps`: whether anybody will ask what was looked at. */
  constructor(
    readonly at: Place,
    private readonly keeps: boolean,
  ) {}

  /** What was looked at where the value fits; undefined where it does not. */
  get outcome(): Evaluated | undefined {
    return this.fits ? (this.own ?? []) : undefined;
  }

  /** Whether a property or an item was looked at. */
  hasSeen(part: string | number): boolean {
    return this.own?.has(part) === true;
  }

  /** Whether looking on would find nothing new. */
  get isOver(): boolean {
    return !this.fits && (this.at.issues === undefined || this.at.issues.length >= MOST_ISSUES);
  }

  /** The value does not fit; `more`: what the branches had to say. */
  fail(message: string, more: readonly Issue[] = []): void {
    this.fits = false;
    const { issues } = this.at;
    if (issues === undefined || issues.length >= MOST_ISSUES) return;
    const room = MOST_ISSUES - issues.length;
    issues.push(...[{ path: pathOf(this.at), message }, ...more].slice(0, room));
  }

  /** What another schema found in the same value; its issues are reported already. */
  take(outcome: Evaluated | undefined): void {
    if (outcome === undefined) this.fits = false;
    else for (const part of outcome) this.see(part);
  }

  /** What a schema found of a property or an item. */
  takePart(part: string | number, fits: boolean): void {
    if (!fits) this.fits = false;
    if (this.keeps) this.see(part);
  }

  /** Marks a property or an item as looked at. */
  see(part: string | number): void {
    this.own ??= new Set();
    this.own.add(part);
  }

  /** The place of a property or an item. */
  below(part: string | number): Place {
    return { depth: this.at.depth, issues: this.at.issues, parent: this.at, part };
  }
}
