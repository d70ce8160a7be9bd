import { useEffect, useState } from 'preact/hooks';
import type { Issue } from '../../../contract/tool';
import type { RequestOpened } from '../../../history/events';
import type { CallDetails } from '../../../server/api';
import { hunkIds, whyNot, type Choice } from '../../model/decision';
import { issuesOf, type ArgumentsDraft } from '../../model/form/draft';
import { deceivingIn } from '../../../contract/deceiving';
import type { Unseen } from '../../parts/seen';
import { useKeys } from '../../state/use-keys';
import { useNow } from '../../state/use-now';

interface ReviewProps {
  request: RequestOpened;
  details: CallDetails;
  reason: string;
}

/** Everything that a person does with a request before deciding it, and what still stands in the way. */
export function useReview({ request, details, reason }: ReviewProps) {
  const edit = useEdit(request, details);
  const hunks = useHunks(request);
  const [unseen, setUnseen] = useState<Unseen>({ count: 1, next: () => undefined });
  const [isConfirmed, confirm] = useState(false);
  const deceiving = deceivingIn(request);
  const now = useNow();
  const choice: Choice = {
    ...{ hunks: hunks.ticked, reason },
    ...(edit.isEdited && edit.draft !== undefined ? { edited: edit.draft.value } : {}),
  };
  const fresh = useFresh();
  const why = whyNot({
    fresh,
    unseen: unseen.count,
    hidden: deceiving.hidden + deceiving.alike,
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
    ...{ edit, hunks, setUnseen, isConfirmed, confirm, deceiving, choice, fresh, why, showNext },
    canShow: hasMistake || unseen.count > 0,
    setRefused: edit.setRefused,
  };
}

/** What a panel shows of its review. */
export type Review = ReturnType<typeof useReview>;

/** The arguments while they are edited; `draft` is undefined until then. */
function useEdit(request: RequestOpened, { schema }: CallDetails) {
  const [draft, setDraft] = useState<ArgumentsDraft>();
  const [refused, setRefused] = useState<readonly Issue[]>([]);
  const set = (next: ArgumentsDraft | undefined): void => {
    setDraft(next);
    setRefused([]);
  };
  return {
    ...{ draft, set, setRefused },
    start: () => set(draft ?? { value: request.arguments, texts: {} }),
    drop: () => set(undefined),
    issues: draft === undefined ? [] : [...issuesOf(draft, schema), ...refused],
    isEdited: draft !== undefined && JSON.stringify(draft.value) !== JSON.stringify(request.arguments),
  };
}

/** A second click at the same place belongs to the request before. Milliseconds. */
const SETTLE_MS = 800;

function useFresh(): boolean {
  const [isFresh, setFresh] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setFresh(false), SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isFresh;
}

function useHunks(request: RequestOpened) {
  const all = hunkIds(request);
  const [ticked, setTicked] = useState<readonly string[]>(all);
  const toggle = (id: string): void =>
    setTicked((ids) => (ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]));
  return { all, ticked, toggle };
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
