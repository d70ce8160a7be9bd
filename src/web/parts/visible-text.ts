import { segments } from '../../contract/visible';

/** Text for places that take no elements, such as an option or a title; what would deceive stands as a mark. */
export function visibleText(text: string): string {
  return segments(text)
    .map((piece) => (piece.kind === 'text' ? piece.text : piece.shown))
    .join('');
}
