import type { PreparedCall, ValidCall } from '../../src/contract/call';
import type { ToolResult } from '../../src/contract/result';
import type { ThinkInput, ThinkOutput } from '../../src/contract/think';
import type { OpenItem } from '../../src/contract/open-item';
import type { ClosedMemo, OpenMemo } from '../../src/contract/turn';
import type { DecodedEvent, DecodedFailure } from '../../src/history/decode/events';
import { createFold } from '../../src/history/fold/fold';
import type { TurnEvent } from '../../src/history/events';
import { createStats, type Stats } from '../../src/history/stats';
import type { Authority } from '../../src/contract/authority';

/** The turn events of a whole history. */
export function foldAll(events: Iterable<DecodedEvent>): TurnEvent[] {
  const fold = createFold();
  return [...events].flatMap((event) => fold.push(event));
}

/** The stats of some turns. */
export function statsOf(turns: readonly (readonly TurnEvent[])[]): Stats {
  const stats = createStats({});
  for (const events of turns) stats.add(events);
  return stats.stats();
}

/** A decoded event without its number and time. */
type Bare = DecodedEvent extends infer E
  ? E extends DecodedEvent
    ? Omit<E, 'eventId' | 'at'>
    : never
  : never;

const START = Date.parse('2026-01-01T00:00:00.000Z');

/** Hand-made histories: numbers the events and gives each one second of its own. */
export class Script {
  readonly events: DecodedEvent[] = [];
  private extra = 0;

  /** Adds an event; returns its id. */
  add(bare: Bare): number {
    const eventId = this.events.length + 1;
    this.events.push({
      ...bare,
      eventId,
      at: new Date(START + eventId * 1000 + this.extra).toISOString(),
    } as DecodedEvent);
    return eventId;
  }

  /** Lets time pass. */
  wait(ms: number): this {
    this.extra += ms;
    return this;
  }

  started(prompt = 'go', input: object = {}): this {
    this.add({
      kind: 'started',
      turn: 't',
      runId: 'r',
      taskQueue: 'q',
      input: { agent: 'a', prompt, ...input },
    });
    return this;
  }

  task(): this {
    this.add({ kind: 'task_started' });
    this.add({ kind: 'task_completed' });
    return this;
  }

  /** An activity is scheduled; returns the id of its event. */
  scheduled(id: string, activityType: string, input: unknown = undefined, taskQueue = 'q'): number {
    return this.add({ kind: 'activity_scheduled', id, activityType, taskQueue, input });
  }

  think(step: number, calls: PreparedCall[], input: Partial<ThinkInput> = {}): this {
    const scheduledEventId = this.thinkScheduled(step, input);
    this.add({ kind: 'activity_started', scheduledEventId, attempt: 1 });
    this.add({ kind: 'activity_completed', scheduledEventId, result: thinkOutput(calls) });
    return this.task();
  }

  thinkScheduled(step: number, input: Partial<ThinkInput> = {}): number {
    const whole: ThinkInput = { agent: 'a', step, words: [], results: [], droppedBefore: 0, ...input };
    const activityType = 'countersign.think';
    return this.scheduled(`think-${step}`, activityType, whole);
  }

  open(items: OpenItem[], count = items.length): this {
    const memo: OpenMemo | null = count === 0 ? null : { key: 'key', count, items };
    this.add({ kind: 'memo', fields: { open: memo } });
    return this;
  }

  /** What waits from here on, and what the workflow closed by itself. */
  close(closed: ClosedMemo, items: OpenItem[] = [], count = items.length): this {
    const open: OpenMemo | null = count === 0 ? null : { key: 'key', count, items };
    this.add({ kind: 'memo', fields: { open, closed } });
    return this;
  }

  verdicts(verdicts: object[]): this {
    this.add({ kind: 'memo', fields: { verdicts } });
    return this;
  }

  signal(name: string, input: unknown): this {
    this.add({ kind: 'signaled', name, input, identity: 'cli@host' });
    return this;
  }

  update(name: string, input: object, answer: object): this {
    const updateId = `u${this.events.length}`;
    this.add({ kind: 'update_accepted', updateId, name, input, identity: 'web@host' });
    if ('code' in answer) {
      const failure: DecodedFailure = { message: 'no', kind: 'application', details: [answer] };
      this.add({ kind: 'update_completed', updateId, value: undefined, failure });
    } else this.add({ kind: 'update_completed', updateId, value: answer });
    return this;
  }

  /** Schedules a call's activity; returns the event's id. */
  call(of: PreparedCall, more: object = {}, generation = 0, taskQueue = 'q'): number {
    const { callId, id, tool } = of;
    const effect = of.kind === 'run' || of.kind === 'ask' ? of.settings.effect : 'unsafe';
    const args = of.kind === 'run' || of.kind === 'ask' ? of.arguments : {};
    const input = {
      callId,
      id,
      tool,
      callKey: `key:${callId}`,
      secret: 's',
      generation,
      arguments: args,
      effect,
      ...more,
    };
    const scheduled = this.scheduled(`call-${callId}-${generation}`, tool, input, taskQueue);
    this.add({ kind: 'activity_started', scheduledEventId: scheduled, attempt: 1 });
    return scheduled;
  }

  done(scheduledEventId: number, result: unknown): this {
    this.add({ kind: 'activity_completed', scheduledEventId, result });
    return this;
  }

  fails(scheduledEventId: number, failure: Partial<DecodedFailure>): this {
    const whole: DecodedFailure = { message: '', kind: 'application', details: [], ...failure };
    this.add({
      kind: 'activity_failed',
      scheduledEventId,
      failure: { message: 'activity', kind: 'other', details: [], cause: whole },
    });
    return this;
  }

  fold(): TurnEvent[] {
    return foldAll(this.events);
  }

  /** The turn events of the types asked for. */
  told<T extends TurnEvent['type']>(...types: T[]): Extract<TurnEvent, { type: T }>[] {
    const wanted = (event: TurnEvent): event is Extract<TurnEvent, { type: T }> =>
      types.some((type) => type === event.type);
    return this.fold().filter(wanted);
  }
}

export function ask(
  callId: string,
  more: Partial<ValidCall> = {},
  settings: Partial<ValidCall['settings']> = {},
): ValidCall {
  return {
    kind: 'ask',
    callId,
    id: `id-${callId}`,
    tool: 'pay',
    arguments: { n: 1 },
    argsDigest: 'd1',
    toolDigest: 't1',
    settings: {
      safety: 'dangerous',
      effect: 'unsafe',
      timeoutMs: 1000,
      heartbeatMs: 1000,
      retry: { maximumAttempts: 1, initialIntervalMs: 1, backoffCoefficient: 1 },
      requestExpiresMs: 60_000,
      startWithinMs: 1000,
      ...settings,
    },
    ...more,
  };
}

/** A rule by which as many people as `need` have to approve, of three. */
export function authority(need: number, more: Partial<Authority['rule']> = {}): Authority {
  const rule = { name: 'pay', then: 'ask' as const, rosters: [], need, groups: [], notRequester: false };
  const people = ['ann', 'ben', 'eve'].map((name) => ({ name, groups: [], delegates: [] }));
  const head = { fileDigest: 'f', ruleDigest: 'r', requesters: ['rita'], people };
  return { ...head, rule: { ...rule, denyNeeds: 1, assurance: 'claimed', ...more } };
}

/** The answer to a vote that waits for another one. */
export const waits = { needs: { approvals: 1, who: ['ben'] } };

/** A turn with a call in doubt that two people have to run again. */
export function doubtOfTwo(): Script {
  const script = requested({ authority: authority(2) });
  script.update(
    'decide',
    { callId: '1.1', decision: 'approved', approver: 'ann' },
    accepted('1.1', 'approved', waits),
  );
  script.update(
    'decide',
    { callId: '1.1', decision: 'approved', approver: 'ben' },
    accepted('1.1', 'approved', { approver: 'ben', decisionId: 'd-ben' }),
  );
  return script
    .fails(script.call(ask('1.1', { authority: authority(2) })), { message: 'pipe' })
    .open([item('1.1', { kind: 'in_doubt' })]);
}

/** A vote to run a call in doubt again. */
export function runAgain(script: Script, approver: string, more: object = {}): Script {
  const said = { callId: '1.1', resolution: 'run-again', approver, decisionId: `again-${approver}` };
  return script.update('resolve', said, {
    ...accepted('1.1', 'run-again', more),
    approver,
    decisionId: said.decisionId,
  });
}

/** A turn in which two people ran a call in doubt again, and a worker voided that: the call waits for a decision. */
export function voidedAgain(): Script {
  const script = runAgain(runAgain(doubtOfTwo(), 'ann', waits), 'ben');
  const again = script.call(ask('1.1', { authority: authority(2) }), {}, 1);
  return script
    .done(again, { askAgain: 'the rules have changed', secret: 's' })
    .task()
    .open([item('1.1')]);
}

export function run(callId: string, more: Partial<ValidCall> = {}): ValidCall {
  return ask(callId, { kind: 'run', tool: 'look', ...more }, { safety: 'safe', effect: 'pure' });
}

export function thinkOutput(calls: PreparedCall[], more: Partial<ThinkOutput> = {}): ThinkOutput {
  const fixed = {
    replyId: 'r',
    text: 'let me',
    schemas: {},
    model: 'm',
    finishReason: 'stop',
    order: 'lane' as const,
    maxSteps: 50,
  };
  return { ...fixed, calls, ...more };
}

export function result(callId: string, more: Partial<ToolResult> = {}): ToolResult {
  return {
    id: `id-${callId}`,
    callId,
    tool: 'pay',
    server: 'local',
    arguments: {},
    success: true,
    content: 'done',
    contentType: 'text',
    metadata: {
      execution_time_ms: 5,
      safety_level: 'safe',
      approved: false,
      attempt: 1,
      timestamp: '2026-01-01T00:00:00.000Z',
    },
    error: more.success === false ? { code: 'tool', message: 'it failed' } : undefined,
    ...more,
  };
}

export function item(callId: string, more: Partial<OpenItem> = {}): OpenItem {
  return {
    callId,
    kind: 'request',
    tool: 'pay',
    summary: `${callId} pay`,
    since: '2026-01-01T00:00:00.000Z',
    deadline: '2026-01-01T00:01:00.000Z',
    ...more,
  };
}

/** A turn with one request to pay. */
export const requested = (...more: [Partial<ValidCall>?, Partial<ValidCall['settings']>?]) =>
  new Script()
    .started()
    .task()
    .think(1, [ask('1.1', ...more)])
    .open([item('1.1')]);

export const accepted = (callId: string, decision: string, more: object = {}) => ({
  accepted: true,
  decisionId: `d-${callId}-${decision}`,
  callId,
  decision,
  approver: 'ann',
  at: '2026-01-01T00:00:30.000Z',
  ...more,
});
