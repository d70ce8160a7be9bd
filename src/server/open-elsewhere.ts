import { LRUCache } from 'lru-cache';

/** Who has which call open now. This process knows it, and history never does. */
interface Lookers {
  /** Notes that a person opened a call, which they may see. */
  open(user: string, call: string): void;
  /** Notes that a person still has a call open that they opened. Returns the others who have. */
  stay(user: string, call: string): string[];
}

/** A page says so every 10 seconds. One that is silent for longer was closed. */
const SILENT_MS = 25_000;
const MOST_CALLS = 10_000;

/** Nobody has a call open yet. `now` is the clock, in milliseconds. */
export function createLookers(now: () => number = Date.now): Lookers {
  const calls = new LRUCache<string, Map<string, number>>({ max: MOST_CALLS });
  return {
    open(user, call) {
      calls.set(call, new Map(calls.get(call)).set(user, now()));
    },
    stay(user, call) {
      const people = calls.get(call);
      if (people?.has(user) !== true) return [];
      people.set(user, now());
      const open = [...people].filter(([name, at]) => name !== user && now() - at < SILENT_MS);
      return open.map(([name]) => name).sort();
    },
  };
}
