import type { JSX } from 'preact';
import { segments, type Layout, type Segment } from '../../contract/visible';

const WHY: Readonly<Record<Extract<Segment, { kind: 'mark' }>['why'], string>> = {
  control: 'control character',
  bidi: 'mark that turns text around',
  invisible: 'character that does not show',
  'look-alike': 'letters that pass for others',
  blanks: 'blanks',
  combining: 'stacked marks',
  'line end': 'line end',
};

/** Text of a model, a tool or a person. It is never markup, and what would deceive stands as a mark. */
export function Text({ of, layout = 'line' }: { of: string; layout?: Layout }): JSX.Element {
  return <Pieces of={segments(of, layout)} />;
}

/** Pieces of such a text. */
export function Pieces({ of }: { of: readonly Segment[] }): JSX.Element {
  return (
    <>{of.map((piece, index) => (piece.kind === 'text' ? piece.text : <Mark key={index} {...piece} />))}</>
  );
}

function Mark({ why, shown, original }: Extract<Segment, { kind: 'mark' }>): JSX.Element {
  const codes = [...original]
    .slice(0, 8)
    .map((char) => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`);
  const label = `${WHY[why]}: ${shown}`;
  return (
    <span
      class={`mark mark-${why.replace(' ', '-')}`}
      role="img"
      aria-label={label}
      title={`${label} (${codes.join(' ')})`}
    >
      {shown}
    </span>
  );
}
