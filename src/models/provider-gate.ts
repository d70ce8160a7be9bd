import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '../contract/defined';
import { span } from '../contract/text/times';
import type { Usage } from '../contract/spending/usage';
import { queueAfter } from '../tools/within';
import { type Admission, ModelError, type Settle } from './model';
import { retryAfter } from './provider-errors';

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

/**
 * The rest of one limit of a provider, as the provider reported it. The limit fills up evenly until `fullAt`. Times are
 * from a clock that only goes forward.
 */
export interface LimitWindow {
  unit: 'tokens' | 'requests';
  remaining: number;
  heardAt: number;
  fullAt: number;
  /** Absent: the provider does not say how large the full limit is. */
  limit?: number;
}

/** The time of day, and a clock that does not change when somebody sets the time of day. Both are in milliseconds. */
export interface Clocks {
  wall: number;
  steady: number;
}

type Unit = LimitWindow['unit'];

/**
 * The headers in which providers report limits: the unit that is counted, and the name of the header for each value.
 */
const FAMILIES: readonly { unit: Unit; name: (what: 'limit' | 'remaining' | 'reset') => string }[] = [
  { unit: 'tokens', name: (what) => `x-ratelimit-${what}-tokens` },
  { unit: 'requests', name: (what) => `x-ratelimit-${what}-requests` },
  { unit: 'tokens', name: (what) => `anthropic-ratelimit-tokens-${what}` },
  { unit: 'tokens', name: (what) => `anthropic-ratelimit-input-tokens-${what}` },
  { unit: 'requests', name: (what) => `anthropic-ratelimit-requests-${what}` },
];

/** A limit that needs longer than this to fill up does not fill up while a call waits. */
const LONGEST_MS = 3_600_000;

/**
 * The rest of each limit, as the headers of a response report it. Empty if no header can be read. Headers may hold any
 * text: a value that is negative, cut or in another form is ignored.
 *
 * @param status 429 with `retry-after`: nothing is taken before that.
 */
export function readWindows(headers: Headers, status: number, clocks: Clocks): LimitWindow[] {
  const windows = FAMILIES.flatMap(({ unit, name }): LimitWindow[] => {
    const remaining = countIn(headers.get(name('remaining')));
    const resetMs = resetIn(headers.get(name('reset')), wallOf(headers, clocks));
    if (remaining === undefined || resetMs === undefined) return [];
    const limit = countIn(headers.get(name('limit')));
    return [{ unit, remaining, ...until(resetMs, clocks), ...defined({ limit }) }];
  });
  const asked = status === 429 ? retryAfter(Object.fromEntries(headers), clocks.wall) : undefined;
  if (asked === undefined) return windows;
  return [...windows, { unit: 'requests', remaining: 0, ...until(asked, clocks) }];
}

function until(ms: number, { steady }: Clocks): Pick<LimitWindow, 'heardAt' | 'fullAt'> {
  return { heardAt: steady, fullAt: steady + Math.min(LONGEST_MS, ms) };
}

function countIn(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * The time of day by the provider's clock, because the provider's times are based on that clock. The clock of this
 * machine may be wrong.
 */
function wallOf(headers: Headers, { wall }: Clocks): number {
  const theirs = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(theirs) ? wall : theirs;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const SPAN = /^(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?$/;

/** Milliseconds until a reset: `6m0s` and `12ms` as OpenAI writes, seconds, or a time as Anthropic writes. */
function resetIn(text: string | null, wall: number): number | undefined {
  if (text === null || text === '') return undefined;
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Number(text) * 1000;
  if (TIME.test(text)) {
    const at = Date.parse(text);
    return Number.isNaN(at) ? undefined : Math.max(0, at - wall);
  }
  const [found, hours = 0, minutes = 0, seconds = 0, ms = 0] = SPAN.exec(text) ?? [];
  if (found === undefined) return undefined;
  return Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000 + Number(ms);
}

/** The time until a window has room for a request of `tokens` tokens, in milliseconds. 0: there is room. */
export function windowWait(window: LimitWindow, tokens: number, now: number): number {
  const { unit, remaining, heardAt, fullAt, limit } = window;
  const needed = unit === 'requests' ? 1 : tokens;
  const left = fullAt - now;
  if (left <= 0 || remaining >= needed) return 0;
  if (limit === undefined || limit <= remaining) return left;
  // A request larger than the whole limit never fits: the provider has to refuse it.
  const share = (Math.min(needed, limit) - remaining) / (limit - remaining);
  return Math.max(0, Math.ceil(heardAt + share * (fullAt - heardAt) - now));
}

/** A request that was let through, with its tokens: an estimate, until the number of used tokens is known. */
export interface Passed {
  at: number;
  tokens: number;
}

const MINUTE_MS = 60_000;

/** The requests of the last minute. */
export function lastMinute(passed: readonly Passed[], now: number): Passed[] {
  return passed.filter(({ at }) => at > now - MINUTE_MS);
}

/**
 * The time until a request of `tokens` tokens fits `perMinute`, in milliseconds. 0: it fits. A request that is larger
 * than the whole limit is sent alone.
 */
export function minuteWait(
  passed: readonly Passed[],
  { tokens, perMinute }: { tokens: number; perMinute: number },
  now: number,
): number {
  const counted = lastMinute(passed, now);
  const room = perMinute - Math.min(tokens, perMinute);
  let sum = counted.reduce((total, one) => total + one.tokens, 0);
  if (sum <= room) return 0;
  for (const { at, tokens: gone } of counted) {
    sum -= gone;
    if (sum <= room) return Math.min(MINUTE_MS, at + MINUTE_MS - now);
  }
  return MINUTE_MS;
}
