import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { type Countersign, CountersignError, type InboxItem } from '../../lib/client';

/** A pause that was in effect, and the tools it held. */
export interface Held {
  tool: string;
  from: number;
  to: number;
}

/** Who looks at the inbox and decides by chance, and what they have said. */
export class People {
  /** Calls that somebody approved, or may have. */
  readonly approved = new Set<string>();
  /** How often somebody may have asked to run a call again, by its tag. */
  readonly again = new Map<string, number>();
  /** Uses of each grant that was given, or may have been. */
  readonly granted = new Map<string, number>();
  readonly revoked = new Map<string, number>();
  readonly held: Held[] = [];
  decisions = 0;
  doubts = 0;

  constructor(
    private readonly client: Countersign,
    private readonly raw: Client,
  ) {}

  /** One look at the inbox. What fails is tried again at the next look. */
  async look(): Promise<void> {
    const items = await this.client.inbox({ limit: 30 });
    await Promise.allSettled(items.map((item) => this.act(item)));
  }

  private act(item: InboxItem): Promise<unknown> {
    return item.kind === 'in_doubt' ? this.resolve(item) : this.decide(item);
  }

  private async resolve(item: InboxItem): Promise<void> {
    const { turn, callId } = item;
    this.doubts++;
    const drawn = Math.random();
    const resolution = drawn < 0.4 ? 'happened' : drawn < 0.7 ? 'did-not' : 'run-again';
    const tag = tagIn(item);
    if (resolution === 'run-again') this.again.set(tag, (this.again.get(tag) ?? 0) + 1);
    const answer = await this.client.resolve(turn, {
      callId,
      resolution,
      reason: 'by chance',
      approver: 'ann',
    });
    // Somebody else was first, so this one starts nothing.
    if (resolution === 'run-again' && answer.status === 'refused')
      this.again.set(tag, (this.again.get(tag) ?? 1) - 1);
  }

  private async decide(item: InboxItem): Promise<void> {
    const { turn, callId, callKey, tool, seenDigest = '' } = item;
    if (tool === 'transfer' && Math.random() < 0.25) await this.grant(item);
    this.decisions++;
    if (Math.random() < 0.15) {
      await this.client.decide(turn, { callId, decision: 'denied', reason: 'by chance', approver: 'ann' });
      return;
    }
    this.approved.add(callKey);
    const decision = {
      callId,
      callKey,
      seenDigest,
      decision: 'approved',
      approver: 'ann',
      decisionId: randomUUID(),
    } as const;
    if (Math.random() < 0.2) await this.raw.workflow.getHandle(turn).signal('approval', decision);
    else await this.client.decide(turn, decision);
    // A double click.
    if (Math.random() < 0.3) await this.client.decide(turn, decision);
  }

  private async grant({ turn, callId }: InboxItem): Promise<void> {
    const times = 1 + Math.floor(Math.random() * 8);
    const narrowing = { tag: { is: 'glob', glob: '*' } } as const;
    const { terms } = await this.client.grants.plan(turn, callId, { by: 'ann', times, narrowing });
    this.granted.set(terms.id, times);
    await this.client.grants.give(terms);
  }

  /** Takes back a grant that still allows something. */
  async revoke(): Promise<void> {
    const { grants } = await this.client.grants.list();
    const [found] = grants.filter(({ id, used, times = Infinity }) => used < times && !this.revoked.has(id));
    if (found === undefined) return;
    await this.client.grants.revoke({ id: found.id, by: 'bob' });
    this.revoked.set(found.id, Date.now());
  }

  /** Holds the calls of a tool for some seconds. */
  async pause(tool: string, lasts: Promise<unknown>): Promise<void> {
    await this.client.pause({ tool, reason: 'by chance', by: 'ann' });
    const from = Date.now();
    await lasts;
    this.held.push({ tool, from, to: Date.now() });
    await this.resume();
  }

  async resume(): Promise<void> {
    for (let tries = 0; tries < 60; tries++)
      try {
        await this.client.resume({ all: true, by: 'ann' });
        return;
      } catch (error) {
        if (error instanceof CountersignError && error.code === 'not_found') return;
      }
  }
}

/** Each call has a tag of its own, which its summary shows. */
export const tagIn = ({ summary }: Pick<InboxItem, 'summary'>): string => /tag-\d+/.exec(summary)?.[0] ?? '';
