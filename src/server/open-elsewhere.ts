import { LRUCache } from 'lru-cache';

/** A page says so every 10 seconds. One that is silent for longer was closed. */
const SILENT_MS = 25_000;
const MOST_CALLS = 10_000;

/** Who has which call open now. This process knows it, and history never does. */
export class Lookers {
  private readonly calls = new LRUCache<string, Map<string, number>>({ max: MOST_CALLS });

  /** Notes that a person opened a call, which they may see. */
  open(user: string, call: string): void {
    this.calls.set(call, new Map(this.calls.get(call)).set(user, Date.now()));
  }

  /** Notes that a person still has a call open that they opened. Returns the others who have. */
  stay(user: string, call: string): string[] {
    const people = this.calls.get(call);
    if (people?.has(user) !== true) return [];
    people.set(user, Date.now());
    const open = [...people].filter(([name, at]) => name !== user && Date.now() - at < SILENT_MS);
    return open.map(([name]) => name).sort();
  }
}
