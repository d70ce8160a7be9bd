import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Review } from './use-review';
import type { Sending } from './use-send';

interface BarProps {
  review: Review;
  sending: Sending;
  reason: string;
  setReason: (reason: string) => void;
}

/** The answers, always in sight. */
export function DecisionBar(props: BarProps): JSX.Element {
  const { review, sending, reason, setReason } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat) sending.deny();
    if (event.key === 'Escape') field.current?.blur();
  };
  return (
    <footer class="decision-bar" aria-label="Decide">
      <p class="why" id="why">
        {review.why}
        {review.canShow && (
          <button class="button plain" type="button" onClick={review.showNext}>
            Show it <kbd>n</kbd>
          </button>
        )}
      </p>
      <label class="sr-only" for="reason">
        Reason
      </label>
      <textarea
        id="reason"
        ref={field}
        rows={1}
        maxLength={4_000}
        value={reason}
        placeholder="Reason: the model reads it (Ctrl+Enter denies)"
        onInput={({ currentTarget }) => setReason(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Buttons {...props} askWhy={() => field.current?.focus()} />
    </footer>
  );
}

function Buttons({ review, sending, reason, askWhy }: BarProps & { askWhy: () => void }): JSX.Element {
  const { why } = review;
  const wasAsked = useRef(false);
  // The model reads the reason, so the first try to deny without one asks for it; the second does without.
  const deny = ({ detail }: MouseEvent): void => {
    if (review.fresh || detail > 1) return;
    if (reason.trim() !== '' || wasAsked.current) return sending.deny();
    wasAsked.current = true;
    askWhy();
  };
  const mayApprove = why === undefined && !sending.isSending;
  return (
    <div class="buttons">
      <button class="button danger" type="button" disabled={sending.isSending} onClick={deny}>
        Deny <kbd>d</kbd>
      </button>
      <button
        id="approve"
        class="button primary"
        type="button"
        aria-disabled={!mayApprove}
        aria-describedby="why"
        onClick={() => (mayApprove ? sending.approve() : undefined)}
      >
        {sending.isSending ? 'Sending …' : approveWords(review)} <kbd>a</kbd>
      </button>
    </div>
  );
}

function approveWords({ edit, hunks: { all, ticked } }: Review): string {
  if (edit.isEdited) return 'Approve with changes';
  if (ticked.length === 0 || ticked.length === all.length) return 'Approve';
  return `Approve ${ticked.length} of ${all.length} hunks`;
}
