import type { ComponentChildren, JSX } from 'preact';
import type { Tone } from '../model/words';

/** A word about a state. */
export function Chip({
  tone,
  children,
  title,
}: {
  tone: Tone;
  children: ComponentChildren;
  title?: string;
}): JSX.Element {
  return (
    <span class={`chip ${tone}`} title={title}>
      {children}
    </span>
  );
}
