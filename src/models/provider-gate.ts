import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { span } from '../contract/text/times';
import type { Usage } from '../contract/spending/usage';
import { queueAfter } from '../tools/within';
import { type Admission, ModelError, type Settle } from './model';
import {
  lastMinute,
  type LimitWindow,
  minuteWait,
  type Passed,
  readWindows,
  windowWait,
} from './provider-limits';

/**
 * The most time that a request waits here, in milliseconds: because of limits that the provider reported, and in total.
 */
const MOST_MS = { said: 60_000, inAll: 90_000 } as const;

/** Models for which these values are equal share the limits of a provider. */
interface Shared {
  baseUrl: string;
  model: string;
  apiKey: string | undefined;
}

const gates = new Map<string, ProviderGate>();

/** The gate of all models of this process with the same address, name and key. */
export function providerGate({ baseUrl, model, apiKey = '' }: Shared): ProviderGate {
  const name = createHash('sha256')
    .update(JSON.stringify([baseUrl, model, apiKey]))
    .digest('hex');
  const gate = gates.get(name) ?? new ProviderGate();
  gates.set(name, gate);
  return gate;
}

/** Lets requests through one after the other, when the provider and the config have room for them. */
export class ProviderGate {
  private windows: LimitWindow[] = [];
  private passed: Passed[] = [];
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(private readonly most: { said: number; inAll: number } = MOST_MS) {}

  /** Reads what a response says about the limits. Called with each response. */
  heard({ headers, status }: Pick<Response, 'headers' | 'status'>): void {
    const windows = readWindows(headers, status, { wall: Date.now(), steady: performance.now() });
    if (windows.length > 0) this.windows = windows;
  }

  /**
   * Waits until there is room, at most 90 s.
   *
   * @throws ModelError `rate_limit` if that is not enough; the signal's reason if it aborts.
   */
  async admit(asked: Admission, perMinute?: number): Promise<Settle> {
    const { tokens, signal } = asked;
    if (this.waiting === 0 && this.waitMs(tokens, perMinute) <= 0) return this.let(tokens);
    asked.onWait();
    this.waiting += 1;
    const ended = AbortSignal.any([signal, AbortSignal.timeout(this.most.inAll)]);
    const toError = (): unknown => (signal.aborted ? signal.reason : this.full(tokens, perMinute));
    const queued = queueAfter(this.last, () => this.pass(tokens, perMinute, ended), {
      signal: ended,
      toError,
    });
    this.last = queued.all;
    try {
      return await queued.own;
    } catch (error) {
      throw ended.aborted ? toError() : error;
    } finally {
      this.waiting -= 1;
    }
  }

  private async pass(tokens: number, perMinute: number | undefined, signal: AbortSignal): Promise<Settle> {
    const from = performance.now();
    for (;;) {
      const left = from + this.most.said - performance.now();
      // After this time the reported limits are dropped, until a response reports them again.
      if (left <= 0) this.windows = [];
      const ms = this.waitMs(tokens, perMinute);
      if (ms <= 0) return this.let(tokens);
      await delay(left > 0 ? Math.min(ms, left) : ms, undefined, { signal });
    }
  }

  private waitMs(tokens: number, perMinute: number | undefined): number {
    const now = performance.now();
    const said = this.windows.map((window) => windowWait(window, tokens, now));
    const own = perMinute === undefined ? 0 : minuteWait(this.passed, { tokens, perMinute }, now);
    return Math.max(0, own, ...said);
  }

  /** Counts a request as sent. The tokens that it really used are settled later. */
  private let(tokens: number): Settle {
    const one = { at: performance.now(), tokens };
    this.passed = [...lastMinute(this.passed, one.at), one];
    this.windows = this.windows.map((window) => {
      const { unit, remaining } = window;
      return { ...window, remaining: Math.max(0, remaining - (unit === 'requests' ? 1 : tokens)) };
    });
    return (used) => {
      one.tokens = tokensOf(used) ?? one.tokens;
    };
  }

  private full(tokens: number, perMinute: number | undefined): ModelError {
    const retryAfterMs = Math.max(1_000, Math.ceil(this.waitMs(tokens, perMinute)));
    const message = `its limit had no room for this request within ${span(this.most.inAll)}; it was not sent`;
    return new ModelError('rate_limit', message, { retryable: true, retryAfterMs });
  }
}

function tokensOf({ inputTokens, outputTokens }: Usage = {}): number | undefined {
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return (inputTokens ?? 0) + (outputTokens ?? 0);
}
