import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';

/** Longer than any retry of a worker that was killed. */
const LONGEST_MS = 180_000;

/**
 * Effects of calls, counted outside of the workers: what really happened, whatever a turn says. Like any idempotent
 * service it takes what comes again under the same idempotency key for the same.
 */
export class Ledger {
  private readonly effects = new Map<string, Set<string>>();
  private readonly awaited = new Map<string, (() => void)[]>();

  private constructor(private readonly server: Server) {}

  static async open(): Promise<Ledger> {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        const [key = '', idempotencyKey = ''] = body.split(' ');
        ledger.add(key, idempotencyKey);
        response.end();
      });
    });
    // A connection that is closed while a worker sends on it would be a call that failed.
    server.keepAliveTimeout = 0;
    const ledger = new Ledger(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return ledger;
  }

  get url(): string {
    const address = this.server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}/`;
  }

  /** Counts an effect. */
  add(key: string, idempotencyKey: string): void {
    this.effects.set(key, (this.effects.get(key) ?? new Set()).add(idempotencyKey));
    for (const happened of this.awaited.get(key) ?? []) happened();
    this.awaited.delete(key);
  }

  /** When the effect of a key has happened. @throws Error where it does not within three minutes. */
  async until(key: string): Promise<void> {
    if (this.effects.has(key)) return;
    const others = this.awaited.get(key) ?? [];
    await new Promise<void>((resolve, reject) => {
      const late = (): void => reject(new Error(`the decision on ${key} had no effect in three minutes`));
      const timer = setTimeout(late, LONGEST_MS);
      const happened = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.awaited.set(key, [...others, happened]);
    });
  }

  /** Keys whose effect happened in another number than once, or that were never decided. Empty: nothing was lost or repeated. */
  wrong(decided: ReadonlySet<string>): string[] {
    const keys = new Set([...decided, ...this.effects.keys()]);
    return [...keys].filter((key) => (this.effects.get(key)?.size ?? 0) !== (decided.has(key) ? 1 : 0));
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
