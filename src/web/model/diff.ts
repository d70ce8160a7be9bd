import type { FilePlan, Hunk } from '../../contract/plan';
import type { Segment } from '../../contract/text/unsafe-text';
import { wordParts } from './review';

/** The kind of a line in a diff. `meta`: the line is in neither the old nor the new text. */
type LineKind = 'added' | 'removed' | 'same' | 'meta';

/**
 * A line of a diff with its number in the file before and after the change. A number is empty if the line is not in
 * that file.
 */
export interface DiffLine {
  kind: LineKind;
  before: number | '';
  after: number | '';
  /** The text with its `+`, `-` or space. */
  line: string;
}

const KINDS: Readonly<Record<string, LineKind>> = { '+': 'added', '-': 'removed', '\\': 'meta' };

/** The lines of a hunk with their numbers. */
export function numbered({ oldStart, newStart, lines }: Hunk): DiffLine[] {
  let before = oldStart;
  let after = newStart;
  return lines.map((line) => {
    const kind = KINDS[line[0] ?? ''] ?? 'same';
    const isOld = kind === 'removed' || kind === 'same';
    const isNew = kind === 'added' || kind === 'same';
    return { kind, line, before: isOld ? before++ : '', after: isNew ? after++ : '' };
  });
}

/**
 * The lines of a unified diff that came as text. They have no numbers: such a diff gives its positions only in its
 * headers.
 */
export function unnumbered(text: string): DiffLine[] {
  return text.split('\n').map((line) => {
    const kind = /^(---|\+\+\+|@@)/.test(line) ? 'meta' : (KINDS[line[0] ?? ''] ?? 'same');
    return { kind, line, before: '', after: '' };
  });
}

/** The number of digits of the largest line number of a plan, so that the columns of all hunks have the same width. */
export function digitsOf({ hunks }: FilePlan): number {
  const ends = hunks.flatMap(({ oldStart, oldLines, newStart, newLines }) => [
    oldStart + oldLines,
    newStart + newLines,
  ]);
  return String(Math.max(1, ...ends)).length;
}

/** A part of a line, by its UTF-16 units, with its style. */
export interface Look {
  from: number;
  to: number;
  look: string;
}

/** Longer lines are compared as a whole: comparing them word by word would take long and show little. */
const WORD_BY_WORD = 600;
/** Two lines that have less than this share in common count as different lines, and not as a change of words. */
const ALIKE = 0.4;

/** Maps the index of each removed line to the index of the added line that it became, and the other way around. */
export function partnersOf(lines: readonly DiffLine[]): Map<number, number> {
  const partners = new Map<number, number>();
  let removed: number[] = [];
  let added: number[] = [];
  const pair = () => {
    for (const [was, is] of pairsOf(lines, removed, added)) partners.set(was, is).set(is, was);
    [removed, added] = [[], []];
  };
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same' || (kind === 'removed' && added.length !== 0)) pair();
    if (kind === 'removed') removed.push(index);
    if (kind === 'added') added.push(index);
  }
  pair();
  return partners;
}

/**
 * Pairs removed lines with added lines. If there are equally many of both, they are paired in order. Otherwise each
 * removed line is paired with the most similar of the next added lines.
 */
function pairsOf(
  lines: readonly DiffLine[],
  removed: readonly number[],
  added: readonly number[],
): [number, number][] {
  if (removed.length === added.length) return removed.map((was, index) => [was, added[index] ?? was]);
  const textOf = (index: number) => lines[index]?.line.slice(1).trim() ?? '';
  let next = 0;
  return removed.flatMap((was) => {
    const near = added.slice(next, next + MOST_NEAR).map((is) => likeness(textOf(was), textOf(is)));
    const best = Math.max(0, ...near);
    const is = added[next + near.indexOf(best)];
    if (best < ALIKE || is === undefined) return [];
    next += near.indexOf(best) + 1;
    return [[was, is] satisfies [number, number]];
  });
}

/** The most added lines that are compared with one removed line. */
const MOST_NEAR = 20;

/** The share of two texts that is the same at their beginnings and ends, from 0 to 1. */
function likeness(one: string, other: string) {
  const [shorter, longest] = [Math.min(one.length, other.length), Math.max(one.length, other.length)];
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  return longest === 0 ? 0 : (start + end) / longest;
}

/**
 * The words of `line` that `partner` lacks, as ranges to highlight. None if a line is too long, or if the two have
 * little in common.
 */
export function changedWords(line: DiffLine, partner: DiffLine): Look[] {
  if (Math.max(line.line.length, partner.line.length) > WORD_BY_WORD) return [];
  const parts = wordParts(partner.line.slice(1), line.line.slice(1));
  const lengthOf = (kind: string) =>
    parts.reduce((sum, part) => sum + (part.kind === kind ? part.text.trim().length : 0), 0);
  const longest = Math.max(line.line.trim().length, partner.line.trim().length);
  if (lengthOf('same') < ALIKE * longest) return [];
  let at = 1;
  return parts.flatMap(({ kind, text }) => {
    if (kind === 'removed') return [];
    const look = { from: at, to: (at += text.length), look: 'word' };
    return kind === 'added' ? [look] : [];
  });
}

/** A piece of a line with its style. Empty: the style of the line. */
interface StyledPiece {
  piece: Segment;
  look: string;
}

/** Pieces of a line, divided where the style changes. A mark stays whole. */
export function styled(pieces: readonly Segment[], looks: readonly Look[]): StyledPiece[] {
  let at = 0;
  return pieces.flatMap((piece) => {
    const start = at;
    at += piece.kind === 'text' ? piece.text.length : piece.original.length;
    const over = looks.filter(({ from, to }) => from < at && to > start);
    if (over.length === 0) return [{ piece, look: '' }];
    return piece.kind === 'text'
      ? dividedText(piece.text, start, over)
      : [{ piece, look: namesOf(over, start, at) }];
  });
}

function dividedText(text: string, start: number, looks: readonly Look[]): StyledPiece[] {
  const end = start + text.length;
  const edges = looks.flatMap(({ from, to }) => [from, to]).filter((edge) => edge > start && edge < end);
  const cuts = [...new Set([start, ...edges, end])].sort((a, b) => a - b);
  return cuts.slice(1).map((to, index) => {
    const from = cuts[index] ?? start;
    const piece: Segment = { kind: 'text', text: text.slice(from - start, to - start) };
    return { piece, look: namesOf(looks, from, to) };
  });
}

function namesOf(looks: readonly Look[], from: number, to: number) {
  return looks
    .filter((one) => one.from < to && one.to > from)
    .map(({ look }) => look)
    .join(' ');
}
