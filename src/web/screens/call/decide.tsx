import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { asksAgainAfterEdit } from '../../../contract/decision';
import { withDefaults } from '../../../contract/schema/schema';
import type { Issue } from '../../../contract/tool';
import type { RequestOpened } from '../../../history/events';
import type { CallView } from '../../../history/view-types';
import type { CallDetails } from '../../../server/api';
import { type Choice, decisionText, hunkIds, toDecision } from '../../model/review';
import { type ArgumentsDraft, isChanged, issuesOf } from '../../model/draft';
import { countMarks, deceivingIn } from '../../../contract/text/unsafe-text';
import type { Unseen } from '../../ui/seen';
import { useKeys, useNow } from '../../ui/app';
import { focusToDecide, TO_DECIDE } from '../../ui/late-keys';
import { Key } from '../../ui/widgets';
import { sendDecision } from '../../http';
import { byteNote } from '../../model/labels';
import { LIMITS } from '../../../contract/limits';
import { focusSoon, ReasonField } from './edit';
import { type DecidingProps, type KeptTyped, useSend } from './send';
import { whyNot, type WhyNot } from '../../model/may-approve';

/** The state of a review: edits, hunks, what was seen, and what still prevents an approval. */
export function useReview(request: RequestOpened, details: CallDetails, kept: KeptTyped) {
  const edit = useEdit(request, details, kept);
  const hunks = useHunks(request, kept, votesOn(details));
  const { reason } = kept.typed;
  const [unseen, setUnseen] = useState<Unseen>({ count: 1, next: () => undefined });
  const [isConfirmed, confirm] = useState(false);
  const deceiving = useMemo(() => deceivingIn(request), [request]);
  const now = useNow();
  const choice: Choice = { hunks: hunks.ticked, reason, edited: edit.edited };
  const fresh = useFresh();
  // An edit outdates the preview. The request then comes back with the arguments that will be approved.
  const asksAgain = edit.isEdited && asksAgainAfterEdit(request);
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
  useReviewKeys({ showNext, startEdit: edit.start, hunks, hasVoted: details.ownVote !== undefined });
  return {
    edit,
    hunks,
    setUnseen,
    isConfirmed,
    confirm,
    deceiving,
    choice,
    fresh,
    why,
    showNext,
    asksAgain,
    canShow: hasMistake || (unseen.count > 0 && !asksAgain),
    setRefused: edit.setRefused,
  };
}

/** The review of a request. */
export type Review = ReturnType<typeof useReview>;

/** The arguments while they are edited. `draft` is undefined until editing starts. */
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
    draft,
    set,
    setRefused,
    isEdited,
    isChanged: draft !== undefined && isChanged(draft, from),
    /** The edited arguments with their defaults, as they would run. */
    edited: isEdited ? withDefaults(schema, draft.value) : undefined,
    start: () => {
      if (draft === undefined) set({ value: from, texts: {} });
      focusSoon('#edit :is(input, textarea, .field select)');
    },
    drop: () => set(undefined),
    issues: draft === undefined ? [] : [...issuesOf(draft, schema), ...refused],
  };
}

/** A second click within this time, in milliseconds, was meant for the previous request. */
const SETTLE_MS = 800;

/** Whether the panel appeared a moment ago. */
export function useFresh(): boolean {
  const [isFresh, setFresh] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setFresh(false), SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isFresh;
}

/** The votes on the call. */
function votesOn({ view, callId }: CallDetails): CallView['votes'] {
  return view.calls.find((call) => call.callId === callId)?.votes ?? [];
}

function useHunks(request: RequestOpened, { typed, change }: KeptTyped, votes: CallView['votes']) {
  const all = hunkIds(request);
  const { seenDigest: seen } = request;
  // Votes count together only for the same hunks, so everybody begins with those of the first approval.
  const voted = votes.find(({ decision }) => decision === 'approved')?.hunks;
  const ticked = typed.hunks?.seen === seen ? typed.hunks.ticked : (voted ?? all);
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
  /** Whether the person has voted, so that they have nothing to decide. */
  hasVoted: boolean;
}

/** The keys of a review. `a` and `d` only move the focus, so that no single key decides. */
function useReviewKeys({ showNext, startEdit, hunks: { all, toggle }, hasVoted }: KeyTargets): void {
  const digits = all.length < 2 ? [] : all.slice(0, 9);
  const keys = {
    a: focusToDecide,
    d: focusReason,
    e: startEdit,
    ...Object.fromEntries(digits.map((id, index) => [String(index + 1), () => toggle(id)])),
  };
  useKeys({ n: showNext, ...(hasVoted ? {} : keys) });
}

interface BarProps extends DecidingProps {
  request: RequestOpened;
  review: Review;
}

/** The reason and the buttons for a request. */
export function DecisionBar({ request, review, ...props }: BarProps): JSX.Element {
  const { isSending, send } = useSend(props, sendDecision);
  const isRead = review.edit.isChanged || props.typed.reason.trim() !== '';
  const said = isRead ? props.details.afterWords : undefined;
  const decide = (kind: 'approve' | 'deny'): void => {
    const body = toDecision(request, kind, review.choice);
    const isNow = kind === 'approve' && review.asksAgain;
    send(body, decisionText(request, body), { refused: review.setRefused, isNow });
  };
  return (
    <DecisionFooter
      {...props}
      isEdited={review.edit.isChanged}
      said={said}
      why={review.why}
      showNext={review.canShow ? review.showNext : undefined}
      deny={{ label: 'Deny', isAllowed: !isSending, isFresh: review.fresh, act: () => decide('deny') }}
      approve={{
        label: isSending ? 'Sending …' : approveLabel(review, request),
        isAllowed: review.why === undefined && !isSending,
        act: () => decide('approve'),
      }}
    />
  );
}

/** A button with its action. */
interface Act {
  label: string;
  isAllowed: boolean;
  /** Whether the button appeared a moment ago. A click is then meant for the button that was in this place before. */
  isFresh?: boolean;
  act: () => void;
}

interface FooterProps extends Pick<DecidingProps, 'typed' | 'change'> {
  /** The reason that still prevents an approval. */
  why: WhyNot | undefined;
  /** Moves the focus to the first obstacle to an approval. Undefined if there is no place to go to. */
  showNext: (() => void) | undefined;
  isEdited?: boolean;
  /** What follows for the person from what they typed. */
  said?: string | undefined;
  deny: Act;
  approve: Act;
}

/** Moves the focus to the reason. */
export function focusReason(): void {
  document.getElementById('reason')?.focus();
}

/** The reason and the buttons of a decision, always in view. */
export function DecisionFooter(given: FooterProps): JSX.Element {
  const { why, said, showNext, deny, approve, isEdited = false, ...props } = given;
  const { typed } = props;
  const [isWhyAsked, setWhyAsked] = useState(false);
  const reason = byteNote(typed.reason, LIMITS.reasonBytes);
  const isWhyMissing = typed.reason.trim() === '';
  const decide = ({ act }: Act): void => (reason.isOver ? focusReason() : act());
  // The model reads the reason, so the first click without a reason asks for a reason. The second click denies without
  // a reason.
  const denyOrAsk = (): void => {
    if (!isWhyMissing || isWhyAsked) return decide(deny);
    setWhyAsked(true);
    focusReason();
  };
  return (
    <footer class="decision-bar" aria-label="Decide">
      <p class="why" id="why">
        {why?.text}
        {showNext !== undefined && (
          <button class="button plain" type="button" onClick={showNext}>
            Show it <Key of="n" />
          </button>
        )}
      </p>
      <p class="sr-only" role="status">
        {why === undefined ? 'It may be approved now.' : why.spoken}
      </p>
      <p class={`note${reason.isOver ? ' bad' : ''}`} id="reason-note" role="status">
        {isWhyAsked && isWhyMissing
          ? `Say why, or press ${deny.label} again.`
          : reason.text === ''
            ? said
            : reason.text}
      </p>
      <ReasonField {...props} {...reason} isEdited={isEdited} deny={() => decide(deny)} />
      <Buttons
        {...{ deny: { ...deny, act: denyOrAsk }, approve: { ...approve, act: () => decide(approve) } }}
      />
    </footer>
  );
}

function Buttons({ deny, approve }: Pick<FooterProps, 'deny' | 'approve'>): JSX.Element {
  return (
    <div class="buttons">
      <button
        class="button danger"
        type="button"
        aria-keyshortcuts="d"
        disabled={!deny.isAllowed}
        onClick={({ detail }) => (deny.isFresh === true || detail > 1 ? undefined : deny.act())}
      >
        {deny.label} <Key of="d" />
      </button>
      <button
        id="approve"
        class="button primary"
        type="button"
        aria-disabled={!approve.isAllowed}
        aria-describedby="why"
        aria-keyshortcuts="a"
        {...TO_DECIDE}
        onClick={() => (approve.isAllowed ? approve.act() : undefined)}
      >
        {approve.label} <Key of="a" />
      </button>
    </div>
  );
}

function approveLabel(
  { edit, hunks: { all, ticked }, asksAgain }: Review,
  { preview }: RequestOpened,
): string {
  if (asksAgain) return preview === undefined ? 'See it with changes' : 'See what it does now';
  if (edit.isEdited) return 'Approve with changes';
  if (ticked.length === 0 || ticked.length === all.length) return 'Approve';
  return `Approve ${ticked.length} of ${all.length} hunks`;
}
