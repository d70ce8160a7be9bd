import type { ComponentChildren } from 'preact';
import { describeFile } from '../../contract/text/bytes';
import { codePointOf } from '../../contract/text/look-alikes';
import { type TextUse, type Layout, type Segment, segments } from '../../contract/text/unsafe-text';

const WHY: Readonly<Record<Extract<Segment, { kind: 'mark' }>['why'], string>> = {
  control: 'control character',
  bidi: 'mark that turns text around',
  invisible: 'character that does not show',
  'look-alike': 'letters that pass for others',
  blanks: 'blanks',
  combining: 'stacked marks',
  'line end': 'line end',
  'right-to-left': 'letters from right to left',
  bracket: 'sign of marks',
};

/** Text of a model, a tool or a person. It never becomes markup, and deceptive characters are shown as marks. */
export function Text({ of, layout = 'line', kind }: TextProps) {
  return <Pieces of={segments(of, layout, kind)} {...{ layout, kind }} />;
}

/** Exact text, in the letters of code. */
export function Code({ of }: { of: string }) {
  return (
    <code>
      <Text of={of} />
    </code>
  );
}

interface TextProps {
  of: string;
  layout?: Layout;
  /**
   * `prose` for the words of people and models. Any other text is shown from left to right, in the order in which a
   * program reads its characters.
   */
  kind?: TextUse;
}

/**
 * The segments of a text. They do not change the direction of the text around them, nor does the text around change
 * theirs.
 */
export function Pieces(props: PiecesProps) {
  return <Ordered {...props}>{drawPieces(props.of)}</Ordered>;
}

interface PiecesProps extends Omit<TextProps, 'of'> {
  of: readonly Segment[];
}

/** Renders segments. The caller puts them into `Ordered`. */
export function drawPieces(of: readonly Segment[]): ComponentChildren[] {
  return of.map((piece, index) => (piece.kind === 'text' ? piece.text : <Mark key={index} {...piece} />));
}

/** Wraps its children so that they are shown in the order of the segments. */
export function Ordered({ of, layout, kind, children }: PiecesProps & { children: ComponentChildren }) {
  const isClipped = of.some((piece) => COMBINING.test(piece.kind === 'text' ? piece.text : piece.original));
  const className = isClipped ? 'clipped' : undefined;
  return kind === 'prose' ? (
    <bdi class={layout === 'block' ? `lines ${className ?? ''}` : className}>{children}</bdi>
  ) : (
    <bdo dir="ltr" class={className}>
      {children}
    </bdo>
  );
}

/** Marks on letters, which may draw over the text around them. */
const COMBINING = /\p{M}/u;

function Mark({ why, shown, original }: Extract<Segment, { kind: 'mark' }>) {
  const codes = [...original].slice(0, 8).map(codePointOf);
  // The page shows these letters in the order in which they run, so they can stay letters.
  const text = why === 'right-to-left' ? `⟦${original}⟧` : shown;
  const label = `${WHY[why]}: ${text}`;
  return (
    <span
      class={`mark mark-${why.replace(' ', '-')}`}
      role="img"
      aria-label={label}
      title={`${WHY[why]}: ${shown} (${codes.join(' ')})`}
    >
      {text}
    </span>
  );
}

/** Text for places that cannot hold elements, such as an option or a title. Deceptive characters are shown as marks. */
export function visibleText(text: string): string {
  return segments(text, 'line')
    .map((piece) => (piece.kind === 'text' ? piece.text : piece.shown))
    .join('');
}

/** The reason that a person gave, behind other text. The quotes are ours, so they are not marked. */
export function Reason({ of }: { of: string | undefined }) {
  if (of === undefined) return null;
  return (
    <>
      {' '}
      · “<Text of={of} />”
    </>
  );
}

/** The files of a person's message. */
export function Files({ of = [] }: { of: Parameters<typeof describeFile>[0][] | undefined }) {
  return (
    <>
      {of.map((file, index) => (
        <p key={index} class="quiet">
          <Text of={describeFile(file)} />
        </p>
      ))}
    </>
  );
}
