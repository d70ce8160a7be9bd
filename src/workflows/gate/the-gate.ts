import { type Payload, RawValue } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  getCurrentDetails,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { isObject } from '../../contract/json';
import { attributeKey, FAILURES, SIGNALS } from '../../contract/names';
import { type CarriedGate, GATE_FAILURES, isCarriedGate } from '../../contract/gate';
import { carriedDecisions, makeApprovals } from '../../lifecycle/state';
import { act, type ApprovalContext } from '../call-life';
import { ChangeNotifier } from '../changes';
import { DeadlineTimer } from '../deadline-timer';
import {
  DECISION_MESSAGES,
  RESOLUTION_MESSAGES,
  setAbandonHandler,
  setOutcomeHandler,
  setVerdictHandlers,
} from '../verdict-handlers';
import { MessageQueue } from '../message-queue';
import { decodedValueOf } from '../messages';
import { Publisher } from '../publish';
import { currentDetails } from '../summary';
import { setBesideTheirs } from './beside-theirs';

/** The state of a gate, which its callers do not see. */
export interface GateState extends ApprovalContext {
  /** The type of the workflow: rules and signatures know its calls by it. */
  readonly agent: string;
  readonly originalRunId: string;
  readonly queue: MessageQueue;
  /** The number of requests so far. */
  asked: number;
  /** The ids of the calls that are prepared now. */
  readonly opening: Set<string>;
  /** The open calls that this workflow runs, by the scope in which they were asked for. */
  readonly watched: WeakMap<CancellationScope, Set<string>>;
  /** The headers of the activities that may start, by the ids of the activities. */
  readonly headers: Map<string, Payload>;
  readonly changes: ChangeNotifier;
}

// A workflow has one gate. Temporal loads modules separately for each workflow, so each workflow has its own.
let gate: GateState | undefined;
let isInstalled = false;
let noted: CarriedGate | undefined;
let isCreated = false;

/** Notes that the bundle has the interceptor of the plugin. */
export function installGate(): void {
  isInstalled = true;
  isCreated = false;
  gate = undefined;
  noted = undefined;
}

/** Notes what the run before left. What cannot be read is left out. */
export function noteCarried(value: unknown): void {
  if (isCarriedGate(value)) noted = value;
}

/** What the run before left, as far as it can be read. */
export function leftBefore(): CarriedGate | undefined {
  return noted;
}

/** The gate of this workflow, if anything has asked yet. */
export function openGate(): GateState | undefined {
  return gate;
}

/**
 * The gate of this workflow. The first call makes it, and with it the handlers of decisions, the search attributes and
 * the memo. A workflow that never asks has none of them.
 */
export function theGate(carried?: CarriedGate): GateState {
  return (gate ??= makeGate(noted ?? carried));
}

/**
 * The gate of this workflow, for its own code.
 *
 * @throws ApplicationFailure, not retryable: `countersign.gate_missing` in a bundle without the plugin, and
 * `countersign.gate` the second time.
 */
export function createOnce(carried?: CarriedGate): GateState {
  if (!isInstalled) throw ApplicationFailure.nonRetryable(MISSING, GATE_FAILURES.missing);
  if (isCreated)
    throw ApplicationFailure.nonRetryable(
      'a workflow has one gate; ask it as often as you like',
      FAILURES.gate,
    );
  isCreated = true;
  return theGate(carried);
}

const MISSING =
  'the workflow bundle has no gate: give the worker, and a bundle of your own, `plugins: [new CountersignPlugin({ gate: {} })]` of countersign/plugin';

/** The state of a gate for the next run. */
export function carryGate({ asked, approvals }: GateState): CarriedGate {
  return { asked, spent: carriedDecisions(approvals) };
}

function makeGate(carried?: CarriedGate): GateState {
  const { workflowType } = workflowInfo();
  const context: ApprovalContext = {
    approvals: makeApprovals(carried?.spent),
    stepKey: '',
    signalVerdicts: [],
    signalCount: 0,
    signalsWaiting: 0,
    revision: 0,
  };
  const timer = new DeadlineTimer(context, new CancellationScope({ cancellable: false }));
  const queue = new MessageQueue(() => void act(context, { type: 'reset' }));
  const changes = new ChangeNotifier(
    context,
    [timer, new Publisher(context, keepOwn(), false, writeMemo)],
    queue,
  );
  const made: GateState = Object.assign(context, {
    agent: workflowType,
    originalRunId: workflowInfo().originalExecutionRunId,
    queue,
    asked: carried?.asked ?? 0,
    opening: new Set<string>(),
    watched: new WeakMap<CancellationScope, Set<string>>(),
    headers: new Map<string, Payload>(),
    changes,
  });
  const isOurs = (name: string, message?: RawValue) => isFor(made, name, message);
  setBesideTheirs(isOurs, () => {
    setVerdictHandlers(made, queue, DECISION_MESSAGES);
    setVerdictHandlers(made, queue, RESOLUTION_MESSAGES);
    setOutcomeHandler(made, queue);
    setAbandonHandler(made, queue);
  });
  upsertSearchAttributes([{ key: attributeKey('agent'), value: workflowType }]);
  void CancellationScope.nonCancellable(() => changes.run());
  return made;
}

/** Whether a message is for an open call of the gate. An abandonment is for all calls that are open. */
function isFor({ approvals: { calls } }: ApprovalContext, name: string, message?: RawValue) {
  if (name === SIGNALS.abandon) return calls.size > 0;
  const said = decodedValueOf(message);
  const { callId, callKey } = isObject(said) ? said : {};
  return [...calls.values()].some((one) => one.call.callId === callId || one.callKey === callKey);
}

/** A value that is plain JSON in a memo, whatever converter the workflow has. The workflow itself sees the value. */
class PlainValue extends RawValue {
  constructor(private readonly value: unknown) {
    super(value);
  }

  toJSON() {
    return this.value;
  }
}

/** Writes fields of the memo that everybody can read. Null removes one. */
export function writeMemo(fields: Record<string, unknown>): void {
  const plain = ([key, value]: [string, unknown]): [string, unknown] => [
    key,
    value === null ? null : new PlainValue(value),
  ];
  upsertMemo(Object.fromEntries(Object.entries(fields).map(plain)));
}

/**
 * Makes the text for the current details. It names the waiting calls. When nothing waits, it is the workflow's own
 * details again.
 */
function keepOwn(): ConstructorParameters<typeof Publisher>[1] {
  let own: string | undefined;
  return (open) => {
    if (open.length > 0) {
      own ??= getCurrentDetails();
      return currentDetails(open, 0);
    }
    const details = own ?? getCurrentDetails();
    own = undefined;
    return details;
  };
}
