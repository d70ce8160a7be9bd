import { useEffect, useMemo, useState } from 'preact/hooks';
import { asksAgainAfterEdit } from '../../../contract/decision';
import { withDefaults } from '../../../contract/schema/schema';
import type { Issue } from '../../../contract/tool';
import type { RequestOpened } from '../../../history/events';
import type { CallDetails } from '../../../server/api';
import { type Choice, decisionText, hunkIds, toDecision } from '../../model/review';
import { type ArgumentsDraft, isChanged, issuesOf } from '../../model/draft';
import { countMarks, deceivingIn } from '../../../contract/text/unsafe-text';
import type { Unseen } from '../../ui/seen';
import { useKeys, useNow } from '../../ui/app';
import { focusToDecide, TO_DECIDE } from '../../ui/late-keys';
import { Button, Key } from '../../ui/widgets';
import { sendDecision } from '../../http';
import { byteNote } from '../../model/labels';
import { LIMITS } from '../../../contract/limits';
import { WORDS_COUNT } from '../../../contract/question';
import { focusSoon, ReasonField } from './edit';
import { LinesInput } from './inputs';
import { type DecidingProps, type KeptTyped, useSend } from './send';
import { whyNot, type WhyNot } from '../../model/may-approve';

/** The state of a review: edits, hunks, what was seen, and what still prevents an approval. */
export function useReview(request: RequestOpened, details: CallDetails, kept: KeptTyped) {
  const edit = useEdit(request, details, kept);
  const hunks = useHunks(request, kept, details);
  const { reason, suggestion } = kept.typed;
  const [unseen, setUnseen] = useState<Unseen>({ count: 1, next: () => undefined });
  const [isConfirmed, confirm] = useState(false);
  const deceiving = useMemo(() => deceivingIn(request), [request]);
  const now = useNow();
  const choice: Choice = { hunks: hunks.ticked, reason, suggestion, edited: edit.edited };
  const fresh = useFresh();
  // An edit outdates the preview. The request then comes back with the arguments that will be approved.
  const asksAgain = edit.isEdited && asksAgainAfterEdit(request);
  const why = whyNot({
    fresh,
    unseen: asksAgain ? 0 : unseen.count,
    hidden: asksAgain ? 0 : countMarks(deceiving),
    confirmed: isConfirmed,
    issues: edit.issues.length,
    suggested: suggestion.trim() !== '',
    hunksLeft: hunks.all.length === 0 || hunks.ticked.length > 0 || edit.isEdited,
    expired: request.deadline !== null && Date.parse(request.deadline) <= now,
    never: details.offers.includes(edit.isEdited ? 'edit' : 'approve') ? undefined : neverText(details),
  });
  const hasMistake = edit.issues.length > 0;
  const showNext = () => {
    if (hasMistake) document.querySelector<HTMLElement>('#edit [aria-invalid=true]')?.focus();
    else unseen.next()?.scrollIntoView({ block: 'center' });
  };
  useReviewKeys({ showNext, startEdit: edit.start, hunks, offers: details.offers });
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

/** Why this person can never approve a request. */
function neverText({ changed, whyNot = '' }: CallDetails) {
  if (changed !== undefined) return 'Its tool changed: deny it, so that the model can ask again.';
  return `You may only deny it: ${whyNot}.`;
}

/** The review of a request. */
export type Review = ReturnType<typeof useReview>;

/** The arguments while they are edited. `draft` is undefined until editing starts. */
function useEdit(request: RequestOpened, { schema }: CallDetails, { typed, change }: KeptTyped) {
  const { arguments: from, seenDigest: seen } = request;
  const [refused, setRefused] = useState<readonly Issue[]>([]);
  const draft = typed.args?.seen === seen ? typed.args.draft : undefined;
  const set = (next: ArgumentsDraft | undefined) => {
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
    issues: draft ? [...issuesOf(draft, schema), ...refused] : [],
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

function useHunks(
  request: RequestOpened,
  { typed, change }: KeptTyped,
  { view, callId, offers }: CallDetails,
) {
  const all = hunkIds(request);
  const { seenDigest: seen } = request;
  const call = view.calls.find((one) => one.callId === callId);
  const mayTick = offers.includes('hunks');
  // Votes count together only for the same hunks, so others take those of the first approval.
  const voted = call?.votes.find(({ decision }) => decision === 'approved')?.hunks;
  const ticked = mayTick && typed.hunks?.seen === seen ? typed.hunks.ticked : (voted ?? all);
  const set = (next: readonly string[]) => change({ hunks: { ticked: next, seen } });
  const toggle = (id: string) =>
    set(ticked.includes(id) ? ticked.filter((one) => one !== id) : [...ticked, id]);
  const tickAll = (isTicked: boolean) => set(isTicked ? all : []);
  /** Begins a line about a hunk in the reason, which the model reads, whatever is decided. */
  const comment = (id: string) => {
    const { reason } = typed;
    change({ reason: `${reason}${reason === '' || reason.endsWith('\n') ? '' : '\n'}Hunk ${id}: ` });
    focusReason();
  };
  return { all, mayTick, ticked, toggle, tickAll, comment };
}

interface KeyTargets {
  showNext: () => void;
  startEdit: () => void;
  hunks: ReturnType<typeof useHunks>;
  offers: CallDetails['offers'];
}

/** The keys of a review. `a` and `d` only move the focus, so that no single key decides. */
function useReviewKeys({ showNext, startEdit, hunks: { all, mayTick, toggle }, offers }: KeyTargets) {
  const digits = mayTick ? all.slice(0, 9) : [];
  useKeys({
    n: showNext,
    a: focusToDecide,
    d: focusReason,
    ...(offers.includes('edit') ? { e: startEdit } : {}),
    ...Object.fromEntries(digits.map((id, index) => [String(index + 1), () => toggle(id)])),
  });
}

interface BarProps extends DecidingProps {
  request: RequestOpened;
  review: Review;
}

/** What a suggestion does, before it is sent. */
const CLOSES = 'This request closes. What the model then asks for is a new one.';

/** The reason and the buttons for a request. */
export function DecisionBar({ request, review, ...props }: BarProps) {
  const { isSending, send } = useSend(props, sendDecision);
  const { reason, suggestion } = props.typed;
  const isRead = review.edit.isChanged || reason.trim() !== '';
  const after = props.details.afterWords;
  const said = suggestion.trim() === '' ? (isRead ? after : undefined) : `${CLOSES} ${after ?? WORDS_COUNT}`;
  const { votesMissing = 1 } = props.details;
  const { denyNeeds = 1 } = request.authority?.rule ?? {};
  const isOneOfSeveral = votesMissing > 1;
  const decide = (kind: 'approve' | 'deny') => {
    const body = toDecision(request, kind, review.choice);
    const isNow = kind === 'approve' && review.asksAgain;
    const isVote = kind === 'approve' ? isOneOfSeveral && !isNow : denyNeeds > 1;
    send(body, decisionText(request, body, isVote), { refused: review.setRefused, isNow });
  };
  return (
    <DecisionFooter
      {...props}
      isEdited={review.edit.isChanged}
      said={said}
      maySuggest
      why={review.why}
      showNext={review.canShow ? review.showNext : undefined}
      deny={{
        label: denyNeeds > 1 ? 'Vote to deny' : 'Deny',
        isAllowed: !isSending,
        isFresh: review.fresh,
        act: () => decide('deny'),
      }}
      approve={{
        label: isSending ? 'Sending …' : approveLabel(review, request, isOneOfSeveral),
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
  said?: string;
  /** Whether a denial may say what the model should do instead. */
  maySuggest?: boolean;
  deny: Act;
  approve: Act;
}

/** Moves the focus to the reason. */
export function focusReason(): void {
  document.getElementById('reason')?.focus();
}

/** The reason and the buttons of a decision, always in view. */
export function DecisionFooter(given: FooterProps) {
  const { why, said, maySuggest = false, showNext, deny, approve, isEdited = false, ...props } = given;
  const { typed, change } = props;
  const { suggestion } = typed;
  const [isInstead, setInstead] = useState(suggestion !== '');
  const [isWhyAsked, setWhyAsked] = useState(false);
  const reason = byteNote(typed.reason.trim() + suggestion, LIMITS.reasonBytes);
  const isWhyMissing = (typed.reason + suggestion).trim() === '';
  const decide = ({ act }: Act) => (reason.isOver ? focusReason() : act());
  const suggest = () => {
    setInstead(true);
    focusSoon('#instead');
  };
  // The model reads the reason, so the first click without a reason asks for a reason. The second click denies without
  // a reason.
  const denyOrAsk = () => {
    if (!isWhyMissing || isWhyAsked) return decide(deny);
    setWhyAsked(true);
    focusReason();
  };
  return (
    <footer class="decision-bar" aria-label="Decide">
      <p class="why" id="why">
        {why?.text}
        {showNext && (
          <Button look="plain" onClick={showNext}>
            Show it <Key of="n" />
          </Button>
        )}
      </p>
      <p class="sr-only" role="status">
        {why ? why.spoken : 'It may be approved now.'}
      </p>
      <p class={`note${reason.isOver ? ' bad' : ''}`} id="reason-note" role="status">
        {isWhyAsked && isWhyMissing
          ? `Say why, or press ${deny.label} again.`
          : reason.text === ''
            ? said
            : reason.text}
      </p>
      <ReasonField {...props} {...reason} isEdited={isEdited} deny={() => decide(deny)} />
      {maySuggest && isInstead && (
        <LinesInput
          id="instead"
          label="Do this instead"
          rows={2}
          text={suggestion}
          setText={(suggestion) => change({ suggestion })}
        />
      )}
      <Buttons
        {...{ deny: { ...deny, act: denyOrAsk }, approve: { ...approve, act: () => decide(approve) } }}
        instead={maySuggest && !isInstead ? suggest : undefined}
        label={suggestion.trim() === '' ? deny.label : `${deny.label} and suggest`}
      />
    </footer>
  );
}

interface ButtonsProps extends Pick<FooterProps, 'deny' | 'approve'> {
  /** The label of the denial. */
  label: string;
  /** Opens the field for what the model should do instead. Undefined: it is open, or there is none. */
  instead: (() => void) | undefined;
}

function Buttons({ deny, approve, label, instead }: ButtonsProps) {
  useKeys({ i: () => instead?.() });
  return (
    <div class="buttons">
      <Button
        look="danger"

        aria-keyshortcuts="d"
        disabled={!deny.isAllowed}
        onClick={({ detail }) => (deny.isFresh === true || detail > 1 ? undefined : deny.act())}
      >
        {label} <Key of="d" />
      </Button>
      {instead && (
        <Button aria-keyshortcuts="i" onClick={instead}>
          Instead … <Key of="i" />
        </Button>
      )}
      <Button
        id="approve"
        look="primary"

        aria-disabled={!approve.isAllowed}
        aria-describedby="why"
        aria-keyshortcuts="a"
        {...TO_DECIDE}
        onClick={() => (approve.isAllowed ? approve.act() : undefined)}
      >
        {approve.label} <Key of="a" />
      </Button>
    </div>
  );
}

function approveLabel(
  { edit, hunks: { all, ticked }, asksAgain }: Review,
  { preview }: RequestOpened,
  isVote: boolean,
) {
  if (asksAgain) return preview ? 'See what it does now' : 'See it with changes';
  if (edit.isEdited) return 'Approve with changes';
  const word = isVote ? 'Vote to approve' : 'Approve';
  if (ticked.length === 0 || ticked.length === all.length) return word;
  return `${word} ${ticked.length} of ${all.length} hunks`;
}
