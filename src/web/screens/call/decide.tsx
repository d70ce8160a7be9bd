import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { defined } from '../../../contract/defined';
import { withDefaults } from '../../../contract/schema/schema';
import type { Issue } from '../../../contract/tool';
import type { RequestOpened } from '../../../history/events';
import type { CallDetails } from '../../../server/api';
import { type Choice, decisionText, hunkIds, spokenWhy, toDecision, whyNot } from '../../model/review';
import { type ArgumentsDraft, isChanged, issuesOf } from '../../model/draft';
import { countMarks, deceivingIn } from '../../../contract/text/unsafe-text';
import type { Unseen } from '../../ui/text';
import { useKeys, useNow } from '../../ui/app';
import { Key } from '../../ui/widgets';
import { sendDecision } from '../../http';
import { byteNote } from '../../model/labels';
import { LIMITS } from '../../../contract/limits';
import { Reason } from './edit';
import { type DecidingProps, type KeptTyped, useSend } from './send';

/** The state of a review: edits, hunks, what was seen, and what still prevents an approval. */
export function useReview(request: RequestOpened, details: CallDetails, kept: KeptTyped) {
  const edit = useEdit(request, details, kept);
  const hunks = useHunks(request, kept);
  const { reason } = kept.typed;
  const [unseen, setUnseen] = useState<Unseen>({ count: 1, next: () => undefined });
  const [isConfirmed, confirm] = useState(false);
  const deceiving = useMemo(() => deceivingIn(request), [request]);
  const now = useNow();
  const choice: Choice = { hunks: hunks.ticked, reason, ...defined({ edited: edit.edited }) };
  const fresh = useFresh();
  // What it shows is out of date, and what will be approved comes back to be looked at.
  const asksAgain = edit.isEdited && request.preview !== undefined;
  const why = whyNot({
    fresh,
    unseen: asksAgain ? 0 : unseen.count,
    hidden: asksAgain ? 0 : countMarks(deceiving),
    confirmed: isConfirmed,
    issues: edit.issues.length,
    hunksLeft: hunks.all.length === 0 || hunks.ticked.length > 0 || edit.isEdited,
    expired: request.deadline !== null && Date.parse(request.deadline) <= now,
  });
  const hasMistake = edit.issues.length > 0;
  const showNext = (): void => {
    if (hasMistake) document.querySelector<HTMLElement>('#edit [aria-invalid=true]')?.focus();
    else unseen.next()?.scrollIntoView({ block: 'center' });
  };
  useReviewKeys({ showNext, startEdit: edit.start, hunks });
  return {
    ...{ edit, hunks, setUnseen, isConfirmed, confirm, deceiving, choice, fresh, why, showNext, asksAgain },
    canShow: hasMistake || (unseen.count > 0 && !asksAgain),
    setRefused: edit.setRefused,
  };
}

/** The review of a request. */
export type Review = ReturnType<typeof useReview>;

/** The arguments while they are edited; `draft` is undefined until then. */
function useEdit(request: RequestOpened, { schema }: CallDetails, { typed, change }: KeptTyped) {
  const { arguments: from, seenDigest: seen } = request;
  const [refused, setRefused] = useState<readonly Issue[]>([]);
  const draft = typed.args?.seen === seen ? typed.args.draft : undefined;
  const set = (next: ArgumentsDraft | undefined): void => {
    change({ args: next && { draft: next, from, seen } });
    setRefused([]);
  };
  const isEdited = draft !== undefined && JSON.stringify(draft.value) !== JSON.stringify(from);
  return {
    ...{ draft, set, setRefused, isEdited },
    isChanged: draft !== undefined && isChanged(draft, from),
    /** The edited arguments with their defaults, as they would run. */
    edited: isEdited ? withDefaults(schema, draft.value) : undefined,
    start: () => (draft === undefined ? set({ value: from, texts: {} }) : undefined),
    drop: () => set(undefined),
    issues: draft === undefined ? [] : [...issuesOf(draft, schema), ...refused],
  };
}

/** A second click within this time was meant for the request before. Milliseconds. */
const SETTLE_MS = 800;

function useFresh(): boolean {
  const [isFresh, setFresh] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setFresh(false), SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isFresh;
}

function useHunks(request: RequestOpened, { typed, change }: KeptTyped) {
  const all = hunkIds(request);
  const { seenDigest: seen } = request;
  const ticked = typed.hunks?.seen === seen ? typed.hunks.ticked : all;
  const set = (next: readonly string[]): void => change({ hunks: { ticked: next, seen } });
  const toggle = (id: string): void =>
    set(ticked.includes(id) ? ticked.filter((one) => one !== id) : [...ticked, id]);
  const tickAll = (isTicked: boolean): void => set(isTicked ? all : []);
  return { all, ticked, toggle, tickAll };
}

interface KeyTargets {
  showNext: () => void;
  startEdit: () => void;
  hunks: ReturnType<typeof useHunks>;
}

/** `a` and `d` only move the focus: no single key decides. */
function useReviewKeys({ showNext, startEdit, hunks: { all, toggle } }: KeyTargets): void {
  const digits = all.length < 2 ? [] : all.slice(0, 9);
  useKeys({
    a: () => document.getElementById('approve')?.focus(),
    d: () => document.getElementById('reason')?.focus(),
    n: showNext,
    e: () => {
      startEdit();
      requestAnimationFrame(focusForm);
    },
    ...Object.fromEntries(digits.map((id, index) => [String(index + 1), () => toggle(id)])),
  });
}

function focusForm(): void {
  document.querySelector<HTMLElement>('#edit :is(input, textarea, .field select)')?.focus();
}

interface BarProps extends DecidingProps {
  request: RequestOpened;
  review: Review;
}

/** The reason and the buttons, always in view. */
export function DecisionBar(props: BarProps): JSX.Element {
  const { request, review, typed } = props;
  const [isWhyAsked, setWhyAsked] = useState(false);
  const { isSending, send } = useSend(props, sendDecision);
  const reason = byteNote(typed.reason, LIMITS.reasonBytes);
  const askWhy = (): void => document.getElementById('reason')?.focus();
  const decide = (kind: 'approve' | 'deny'): void => {
    if (reason.isOver) return askWhy();
    const body = toDecision(request, kind, review.choice);
    const isNow = kind === 'approve' && review.asksAgain;
    send(body, decisionText(request, body), { refused: review.setRefused, isNow });
  };
  // The model reads the reason, so the first click without one asks for it. The second click denies without it.
  const deny = (): void => {
    if (typed.reason.trim() !== '' || isWhyAsked) return decide('deny');
    setWhyAsked(true);
    askWhy();
  };
  const isWhyMissing = isWhyAsked && typed.reason.trim() === '';
  const note = isWhyMissing ? 'Say why, or press Deny again.' : reason.text;
  return (
    <footer class="decision-bar" aria-label="Decide">
      <p class="why" id="why">
        {review.why}
        {review.canShow && (
          <button class="button plain" type="button" onClick={review.showNext}>
            Show it <Key of="n" />
          </button>
        )}
      </p>
      <p class="sr-only" role="status">
        {spokenWhy(review.why)}
      </p>
      <p class={`note${reason.isOver ? ' bad' : ''}`} id="reason-note" role="status">
        {note}
      </p>
      <Reason {...props} {...reason} isEdited={review.edit.isChanged} deny={() => decide('deny')} />
      <Buttons {...{ review, isSending, deny }} approve={() => decide('approve')} />
    </footer>
  );
}

interface ButtonsProps {
  review: Review;
  isSending: boolean;
  approve: () => void;
  deny: () => void;
}

function Buttons({ review, isSending, approve, deny }: ButtonsProps): JSX.Element {
  const mayApprove = review.why === undefined && !isSending;
  return (
    <div class="buttons">
      <button
        class="button danger"
        type="button"
        aria-keyshortcuts="d"
        disabled={isSending}
        onClick={({ detail }) => (review.fresh || detail > 1 ? undefined : deny())}
      >
        Deny <Key of="d" />
      </button>
      <button
        id="approve"
        class="button primary"
        type="button"
        aria-disabled={!mayApprove}
        aria-describedby="why"
        aria-keyshortcuts="a"
        onClick={() => (mayApprove ? approve() : undefined)}
      >
        {isSending ? 'Sending …' : approveLabel(review)} <Key of="a" />
      </button>
    </div>
  );
}

function approveLabel({ edit, hunks: { all, ticked }, asksAgain }: Review): string {
  if (asksAgain) return 'See what it does now';
  if (edit.isEdited) return 'Approve with changes';
  if (ticked.length === 0 || ticked.length === all.length) return 'Approve';
  return `Approve ${ticked.length} of ${all.length} hunks`;
}
