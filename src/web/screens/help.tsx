import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

const KEYS: readonly (readonly [string, string])[] = [
  ['j / k', 'next, previous in the list'],
  ['Enter', 'open it'],
  ['/', 'filter the inbox'],
  ['n', 'scroll to what was not in sight yet'],
  ['a, then Enter', 'approve; what you changed is approved with the changes'],
  ['e', 'change the arguments'],
  ['d, then Ctrl+Enter', 'deny, with a reason'],
  ['1 … 9', 'tick or untick a hunk'],
  ['u', 'the whole turn'],
  ['Esc', 'back'],
  ['g', 'the inbox'],
  ['t', 'turns'],
  ['s', 'stats'],
  ['?', 'this list'],
];

/** The keys. */
export function HelpDialog({ open, close }: { open: boolean; close: () => void }): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) ref.current?.showModal();
    else ref.current?.close();
  }, [open]);
  return (
    <dialog ref={ref} class="card" aria-labelledby="keys-title" onClose={close}>
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button class="button" type="submit">
          Close
        </button>
      </form>
    </dialog>
  );
}
