import type { Segment } from '../../contract/visible';

/** Fits one screen, also on a phone. */
const BLOCK_LINES = 16;
const BLOCK_CHARS = 1_200;

/**
 * Pieces of a text in blocks of about a screen each: a person has seen the whole once the end of each was in sight.
 * Nothing is lost, and a mark stays whole. At least one block.
 */
export function blocksOf(pieces: readonly Segment[]): Segment[][] {
  const blocks: Segment[][] = [[]];
  let room = { lines: BLOCK_LINES, chars: BLOCK_CHARS };
  for (const piece of pieces.flatMap(split)) {
    const shown = piece.kind === 'text' ? piece.text : piece.shown;
    if (room.lines <= 0 || room.chars < Math.min(shown.length, BLOCK_CHARS)) {
      blocks.push([]);
      room = { lines: BLOCK_LINES, chars: BLOCK_CHARS };
    }
    blocks.at(-1)?.push(piece);
    room = { lines: room.lines - (shown.endsWith('\n') ? 1 : 0), chars: room.chars - shown.length };
  }
  return blocks;
}

/** A text by lines, and lines that are too long by characters. */
function split(piece: Segment): Segment[] {
  if (piece.kind === 'mark') return [piece];
  const lines = piece.text.match(/[^\n]*\n|[^\n]+/g) ?? [];
  return lines.flatMap(cut).map((text) => ({ kind: 'text', text }));
}

function cut(line: string): string[] {
  if (line.length <= BLOCK_CHARS) return [line];
  const chars = [...line];
  const count = Math.ceil(chars.length / BLOCK_CHARS);
  return Array.from({ length: count }, (_, n) =>
    chars.slice(n * BLOCK_CHARS, (n + 1) * BLOCK_CHARS).join(''),
  );
}
