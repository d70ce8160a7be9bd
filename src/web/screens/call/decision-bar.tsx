import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';

interface BarProps {
  /** Why approving has to wait. */
  why: string | undefined;
  unseen: number;
  isEdited: boolean;
  isSending: boolean;
  hunks: readonly string[];
  ticked: readonly string[];
  reason: string;
  setReason: (reason: string) => void;
  startEdit: () => void;
  showNext: () => void;
  approve: () => void;
  deny: () => void;
}

/** The answers, always in sight. */
export function DecisionBar(props: BarProps): JSX.Element {
  const { why, unseen, reason, setReason, showNext } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat) props.deny();
    if (event.key === 'Escape') field.current?.blur();
  };
  return (
    <footer class="decision-bar" aria-label="Decide">
      <p class="why" id="why" role="status">
        {why}
        {unseen > 0 && (
          <button class="button plain" type="button" onClick={showNext}>
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

function Buttons(props: BarProps & { askWhy: () => void }): JSX.Element {
  const { why, isSending, reason, approve, askWhy } = props;
  const wasAsked = useRef(false);
  // The model reads the reason, so the first try to deny without one asks for it; the second does without.
  const deny = (): void => {
    if (reason.trim() !== '' || wasAsked.current) return props.deny();
    wasAsked.current = true;
    askWhy();
  };
  const mayApprove = why === undefined && !isSending;
  return (
    <div class="buttons">
      <button class="button danger" type="button" disabled={isSending} onClick={deny}>
        Deny <kbd>d</kbd>
      </button>
      <button
        id="approve"
        class="button primary"
        type="button"
        aria-disabled={!mayApprove}
        aria-describedby="why"
        onClick={() => (mayApprove ? approve() : undefined)}
      >
        {approveWords(props)} <kbd>a</kbd>
      </button>
    </div>
  );
}

function approveWords({ isSending, isEdited, hunks, ticked }: BarProps): string {
  if (isSending) return 'Sending …';
  if (isEdited) return 'Approve with changes';
  if (ticked.length === 0 || ticked.length === hunks.length) return 'Approve';
  return `Approve ${ticked.length} of ${hunks.length} hunks`;
}
