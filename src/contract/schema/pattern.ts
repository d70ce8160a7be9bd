/** A compiled pattern. `spend` is called with the steps done so far, and may throw to end the match. */
type Matcher = (text: string, spend?: (work: number) => void) => boolean;

/**
 * The most characters, and the most Unicode properties such as `\p{L}`, that the patterns of one schema may have. To
 * read a pattern takes time for each character, and a third of a millisecond for each property.
 */
const MOST_CHARACTERS = 20_000;
const MOST_PROPERTIES = 200;

/** The most nodes that are compiled: a repetition of something empty adds no steps, but takes time. */
const MOST_NODES = 50_000;

/** The most steps of a program. Each character of a text takes at most this many steps. */
const MOST_STEPS = 5000;

/**
 * Checks that patterns can be read in a short time, before anything reads them.
 *
 * @throws Error if they cannot.
 */
export function assertReadable(patterns: readonly string[]): void {
  const characters = patterns.reduce((sum, one) => sum + one.length, 0);
  if (characters > MOST_CHARACTERS) throw new Error(`it has more than ${MOST_CHARACTERS} characters`);
  const properties = patterns.reduce((sum, one) => sum + one.split(/\\p\{/i).length - 1, 0);
  if (properties > MOST_PROPERTIES) throw new Error(`it has more than ${MOST_PROPERTIES} Unicode properties`);
}

/** Whether a text is a regular expression as JavaScript spells it with the `u` flag. Too long a text is none. */
export function isRegularExpression(text: string): boolean {
  try {
    assertReadable([text]);
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}

/** One step of the program that a pattern is compiled to. */
type Step =
  | { kind: 'character'; fits: (character: string) => boolean }
  | { kind: 'place'; at: Place }
  /** The program goes on at each of these steps. */
  | { kind: 'jump'; to: number[] }
  | { kind: 'end' };

/**
 * Compiles the `pattern` of a JSON Schema: a regular expression as JavaScript spells it with the `u` flag. JavaScript
 * itself tries one way after another, which can take as long as a text has ways; here all ways are followed at once, as
 * RE2 does, in time linear in the text. (RE2 itself is a third of the size that the workflow bundle may have.)
 *
 * @throws Error if it is not a regular expression, or has look-around, back-references or too many repetitions.
 */
export function compilePattern(pattern: string): Matcher {
  const program = new Compiler().compile(parsePattern(pattern));
  return (text, spend = () => {}) => new Run(program, spend).matches(text);
}

class Compiler {
  private readonly steps: Step[] = [];
  private nodes = 0;

  compile(node: PatternNode): readonly Step[] {
    this.add(node);
    this.push({ kind: 'end' });
    return this.steps;
  }

  private push<S extends Step>(step: S): S {
    if (this.steps.length >= MOST_STEPS) throw new Error('it has too many repetitions');
    this.steps.push(step);
    return step;
  }

  private add(node: PatternNode) {
    this.nodes += 1;
    if (this.nodes > MOST_NODES) throw new Error('it has too many repetitions');
    if (node.kind === 'all') for (const one of node.nodes) this.add(one);
    else if (node.kind === 'either') this.addEither(node.nodes);
    else if (node.kind === 'repeat') this.addRepeat(node);
    else this.push(node);
  }

  private addEither(nodes: readonly PatternNode[]) {
    const fork = this.push({ kind: 'jump', to: new Array<number>() });
    const ends = nodes.map((node) => {
      fork.to.push(this.steps.length);
      this.add(node);
      return this.push({ kind: 'jump', to: new Array<number>() });
    });
    for (const end of ends) end.to.push(this.steps.length);
  }

  private addRepeat({ node, least, most }: Extract<PatternNode, { kind: 'repeat' }>) {
    for (let i = 0; i < least; i++) this.add(node);
    if (most === Infinity) return this.addLoop(node);
    const exits: { to: number[] }[] = [];
    for (let i = least; i < most; i++) {
      exits.push(this.push({ kind: 'jump', to: [this.steps.length + 1] }));
      this.add(node);
    }
    for (const exit of exits) exit.to.push(this.steps.length);
  }

  private addLoop(node: PatternNode) {
    const start = this.steps.length;
    const fork = this.push({ kind: 'jump', to: [start + 1] });
    this.add(node);
    this.push({ kind: 'jump', to: [start] });
    fork.to.push(this.steps.length);
  }
}

/** Follows a program through one text. */
class Run {
  /** For each step: the last round in which the program reached the step, so that a round lists each step only once. */
  private readonly seen: Int32Array;
  private round = 0;
  private isMatch = false;
  private before: string | undefined;
  private after: string | undefined;

  constructor(
    private readonly program: readonly Step[],
    private readonly spend: (work: number) => void,
  ) {
    this.seen = new Int32Array(program.length);
  }

  matches(text: string): boolean {
    let from: number[] = [];
    for (const character of text) {
      this.after = character;
      const waiting = this.enter(from);
      if (this.isMatch) return true;
      this.spend(1 + waiting.length);
      from = [];
      for (const index of waiting) if (this.takes(index, character)) from.push(index + 1);
      this.before = character;
    }
    this.after = undefined;
    this.enter(from);
    return this.isMatch;
  }

  private takes(index: number, character: string) {
    const step = this.program[index];
    return step?.kind === 'character' && step.fits(character);
  }

  /** All steps that the program can reach before it reads another character. A match may also begin here. */
  private enter(from: number[]) {
    this.round += 1;
    const waiting: number[] = [];
    from.push(0);
    for (let next = from.pop(); next !== undefined; next = from.pop()) {
      const step = this.program[next];
      if (step === undefined || this.seen[next] === this.round) continue;
      this.seen[next] = this.round;
      if (step.kind === 'end') this.isMatch = true;
      else if (step.kind === 'jump') for (const to of step.to) from.push(to);
      else if (step.kind === 'character') waiting.push(next);
      else if (this.isAt(step.at)) from.push(next + 1);
    }
    return waiting;
  }

  private isAt(place: Place) {
    if (place === '^') return this.before === undefined;
    if (place === '$') return this.after === undefined;
    return (isWord(this.before) !== isWord(this.after)) === (place === '\\b');
  }
}

function isWord(character: string | undefined) {
  return character !== undefined && /^\w$/.test(character);
}

/** A parsed pattern. It only matters whether a text matches, not in which of several ways. */
type PatternNode =
  | { kind: 'character'; fits: (character: string) => boolean }
  | { kind: 'place'; at: Place }
  | { kind: 'all'; nodes: PatternNode[] }
  | { kind: 'either'; nodes: PatternNode[] }
  | { kind: 'repeat'; node: PatternNode; least: number; most: number };

/** Start and end of the text, a place where a word begins or ends, and a place where it does not. */
type Place = '^' | '$' | '\\b' | '\\B';

/**
 * Parses a regular expression as JavaScript spells it with the `u` flag.
 *
 * @throws Error if the text is not a regular expression, or has parts that cannot be matched in linear time.
 */
function parsePattern(source: string): PatternNode {
  assertReadable([source]);
  // This line throws if the source is malformed, so the reader below does not have to look for mistakes.
  new RegExp(source, 'u');
  return new Reader(source).alternatives();
}

const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const ESCAPE =
  /\\(?:u\{[^}]*\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|x..|c.|[pP]\{[^}]*\}|[^])/uy;
const CLASS = /\[(?:[^\]\\]|\\[^])*\]/uy;
const GROUP = /\((?:\?:|\?<[^=!>]+>)?/y;

class Reader {
  private at = 0;

  constructor(private readonly source: string) {}

  alternatives(): PatternNode {
    const nodes = [this.sequence()];
    while (this.source[this.at] === '|') {
      this.at += 1;
      nodes.push(this.sequence());
    }
    return nodes.length === 1 && nodes[0] !== undefined ? nodes[0] : { kind: 'either', nodes };
  }

  private sequence(): PatternNode {
    const nodes: PatternNode[] = [];
    while (this.at < this.source.length && !'|)'.includes(this.source[this.at] ?? '')) {
      nodes.push(this.quantified(this.atom()));
    }
    return { kind: 'all', nodes };
  }

  private quantified(node: PatternNode): PatternNode {
    const match = this.match(QUANTIFIER);
    if (match === undefined) return node;
    const [, sign, least = '0', comma, most = ''] = match;
    if (sign !== undefined)
      return { kind: 'repeat', node, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Infinity };
    const end = comma === undefined ? Number(least) : most === '' ? Infinity : Number(most);
    return { kind: 'repeat', node, least: Number(least), most: end };
  }

  private atom(): PatternNode {
    const first = this.source[this.at] ?? '';
    if (first === '(') return this.group();
    if (first === '[') return oneOf(this.match(CLASS)?.[0] ?? '');
    if (first === '\\') return this.escape();
    const character = String.fromCodePoint(this.source.codePointAt(this.at) ?? 0);
    this.at += character.length;
    if (character === '^' || character === '$') return { kind: 'place', at: character };
    return character === '.' ? oneOf('.') : { kind: 'character', fits: (one) => one === character };
  }

  private group(): PatternNode {
    const open = this.match(GROUP)?.[0] ?? '(';
    if (open === '(' && this.source[this.at] === '?')
      throw new Error('look-around and modifiers cannot be used');
    const inner = this.alternatives();
    this.at += 1;
    return inner;
  }

  private escape(): PatternNode {
    const escape = this.match(ESCAPE)?.[0] ?? '';
    if (/^\\[1-9k]/.test(escape)) throw new Error('back-references cannot be used');
    return escape === '\\b' || escape === '\\B' ? { kind: 'place', at: escape } : oneOf(escape);
  }

  private match(expression: RegExp): RegExpExecArray | undefined {
    // A copy, because a sticky expression remembers its place.
    const sticky = new RegExp(expression);
    sticky.lastIndex = this.at;
    const match = sticky.exec(this.source) ?? undefined;
    this.at += match?.[0].length ?? 0;
    return match;
  }
}

/**
 * A node for one character. JavaScript itself matches it, so everything that JavaScript knows of classes and Unicode
 * applies.
 */
function oneOf(source: string): PatternNode {
  const expression = new RegExp(`^${source}$`, 'u');
  const known = new Map<string, boolean>();
  const fits = (character: string) => {
    const before = known.get(character);
    if (before !== undefined) return before;
    const now = expression.test(character);
    if (known.size < 256) known.set(character, now);
    return now;
  };
  return { kind: 'character', fits };
}
