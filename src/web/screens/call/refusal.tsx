import type { JSX } from 'preact';
import { Text } from '../../parts/text';

/** Why the last decision was refused; read out at once. */
export function Refusal({ text }: { text: string | undefined }): JSX.Element {
  return (
    <div role="alert">
      {text !== undefined && (
        <p class="banner bad">
          <strong>Not taken.</strong> <Text of={text} />
        </p>
      )}
    </div>
  );
}
