import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { RequestOpened } from '../../../history/events';
import type { Issue } from '../../../contract/tool';
import { hunkIds, whyNot, type Choice } from '../../model/decision';
import { issuesOf, type ArgumentsDraft } from '../../model/form/draft';
import { deceivingIn } from '../../model/hidden';
import { WatchSeen } from '../../parts/seen';
import { useKeys } from '../../state/use-keys';
import { useNow } from '../../state/use-now';
import type { DecidingProps } from './call';
import { Context } from './context';
import { DecisionBar } from './decision-bar';
import { Facts } from './facts';
import { CallHead } from './head';
import { Refusal } from './refusal';
import { Proposal } from './proposal';
import { useSend } from './use-send';

type RequestProps = DecidingProps & { request: RequestOpened };

/** A request in full, and everything that decides it. */
export function RequestPanel(props: RequestProps): JSX.Element {
  const { details, call, request, refusal } = props;
  const panel = usePanel(props);
  return (
    <article class="call" aria-label={`Request ${call.callId}`}>
      <CallHead details={details} call={call}>
        <Refusal text={refusal} />
        <Facts request={request} timeoutMs={details.timeoutMs} />
      </CallHead>
      <Context details={details} call={call} />
      <WatchSeen report={panel.report}>
        <Proposal {...{ details, request, ...panel }} />
      </WatchSeen>
      <DecisionBar {...panel.bar} />
    </article>
  );
}

interface Unseen {
  count: number;
  next: () => Element | undefined;
}

function usePanel(props: RequestProps) {
  const { request, details, reason, setReason } = props;
  const [draft, setDraft] = useState<ArgumentsDraft>();
  const [ticked, setTicked] = useState<readonly string[]>(() => hunkIds(request));
  const [unseen, setUnseen] = useState<Unseen>({ count: 1, next: () => undefined });
  const [confirmed, setConfirmed] = useState(false);
  const [refused, setRefused] = useState<readonly Issue[]>([]);
  const report = useRef((count: number, next: Unseen['next']) => setUnseen({ count, next })).current;
  const deceiving = deceivingIn(request);
  const now = useNow();
  const issues = draft === undefined ? [] : [...issuesOf(draft, details.schema), ...refused];
  const isEdited = draft !== undefined && JSON.stringify(draft.value) !== JSON.stringify(request.arguments);
  const choice: Choice = { hunks: ticked, reason, ...(isEdited ? { edited: draft.value } : {}) };
  const why = whyNot({
    unseen: unseen.count,
    hidden: deceiving.hidden + deceiving.alike,
    confirmed,
    issues: issues.length,
    hunksLeft: ticked.length > 0 || hunkIds(request).length === 0 || isEdited,
    expired: request.deadline !== null && Date.parse(request.deadline) <= now,
  });
  const send = useSend({ ...props, choice, setRefused });
  const edit = (next: ArgumentsDraft | undefined): void => {
    setDraft(next);
    setRefused([]);
  };
  const toggle = (id: string): void =>
    setTicked((ids) => (ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]));
  const startEdit = (): void => edit(draft ?? { value: request.arguments, texts: {} });
  const showNext = (): void => unseen.next()?.scrollIntoView({ block: 'center' });
  useRequestKeys({ request, toggle, startEdit, showNext });
  return {
    ...{
      report,
      draft,
      edit,
      startEdit,
      issues,
      isEdited,
      ticked,
      toggle,
      deceiving,
      confirmed,
      setConfirmed,
    },
    bar: {
      ...{ why, isEdited, isSending: send.isSending, reason, setReason, startEdit, showNext },
      unseen: unseen.count,
      hunks: hunkIds(request),
      ticked,
      approve: send.approve,
      deny: send.deny,
    },
  };
}

interface KeyTargets {
  request: RequestOpened;
  toggle: (id: string) => void;
  startEdit: () => void;
  showNext: () => void;
}

/** `a` and `d` only move the focus: no single key decides. */
function useRequestKeys({ request, toggle, startEdit, showNext }: KeyTargets): void {
  const ids = hunkIds(request);
  const digits = ids.length < 2 ? [] : ids.slice(0, 9);
  useKeys({
    a: () => focus('approve'),
    d: () => focus('reason'),
    n: showNext,
    e: () => {
      startEdit();
      requestAnimationFrame(() =>
        document.querySelector<HTMLElement>('#edit input, #edit textarea, #edit select')?.focus(),
      );
    },
    ...Object.fromEntries(digits.map((id, index) => [String(index + 1), () => toggle(id)])),
  });
}

function focus(id: string): void {
  document.getElementById(id)?.focus();
}

export type RequestPanelState = ReturnType<typeof usePanel>;
