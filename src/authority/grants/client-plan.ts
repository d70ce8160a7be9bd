import { randomUUID } from 'node:crypto';
import { assuranceText, isAssured } from '../rules/stricter-rule';
import { termsDigest } from './confirmations';
import { confirmerOf, giverOf } from './grant-votes';
import { covers } from './covers';
import { grantSentence, heldSentence } from './grant-text';
import { GRANT_TOO_LONG, type GrantSeen, type GrantTerms } from './grant';
import { type Condition, exactly, isExact, type Narrowing, narrowingProblem } from './narrowing';
import { CountersignError } from '../../contract/errors';
import { DAY, LIMITS, TIMES } from '../../contract/limits';
import type { RequestOpened } from '../../history/events';
import { type CallView, type TurnView, viewOf } from '../../history/view';
import type { GrantOptions, GrantPlan, ConfirmationPlan, GrantCoverage } from './client-types';
import type { Assurance } from '../../contract/authority';
import { readTurns } from '../../client/read-turns';
import type { TurnsQuery, TurnsPage } from '../../client/types';

/**
 * The grant that somebody would give on a call.
 *
 * @throws CountersignError `refused` if no grant may replace decisions on the call, or not a grant by this
 * person; `usage` for conditions or times that are wrong.
 */
export function planGrant(view: TurnView, callId: string, options: GrantOptions): GrantPlan {
  const call = view.calls.find((one) => one.callId === callId);
  const { request } = call ?? {};
  if (call === undefined || request === undefined)
    throw refused(`nobody was asked about ${callId}, so there is no decision to replace`);
  const { times = LIMITS.grantTimes, forMs = options.times === undefined ? undefined : DAY } = options;
  if (forMs === undefined) throw usage('a grant says for how long, or for how many calls');
  if (!Number.isInteger(times) || times < 1 || times > LIMITS.grantTimes)
    throw usage(`a grant is for 1 to ${LIMITS.grantTimes} calls`);
  if (!(forMs > 0) || forMs > TIMES.grantMost) throw usage(GRANT_TOO_LONG);
  const narrowing = narrowed(request, options.narrowing ?? {});
  const now = Date.now();
  const { by, authority } = giver(call, request, { by: options.by, now });
  const terms: GrantTerms = {
    id: randomUUID(),
    agent: view.agent,
    tool: call.tool,
    toolDigest: request.toolDigest,
    ruleDigest: request.authority?.ruleDigest ?? '',
    policyDigest: call.ruling?.digest ?? '',
    narrowing,
    times,
    by,
    at: new Date(now).toISOString(),
    until: new Date(now + forMs).toISOString(),
  };
  const assurance = request.authority?.rule.assurance ?? 'claimed';
  const held = heldSentence({ ...terms, authority }, now);
  return { terms, sentence: grantSentence(terms), assurance, authority, held };
}

/**
 * The confirmation that somebody would give to a grant.
 *
 * @throws CountersignError `refused` if they may not confirm it, or if nobody has to.
 */
export function planConfirmation(grant: GrantSeen, name: string): ConfirmationPlan {
  const now = Date.now();
  const confirmer = confirmerOf(grant, { name, now });
  if ('why' in confirmer) throw refused(confirmer.why);
  const { id, authority } = grant;
  const at = new Date(now).toISOString();
  return {
    asked: { id, voter: confirmer.voter, at, seenDigest: termsDigest(grant) },
    sentence: grantSentence(grant),
    assurance: authority?.rule.assurance ?? 'claimed',
  };
}

function narrowed({ arguments: args, grants, tool }: RequestOpened, given: Narrowing): Narrowing {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(args, name));
  if (unknown !== undefined) throw usage(`this call has no argument ${unknown}`);
  const all: Record<string, Condition> = { ...exactly(args), ...given };
  const problem = narrowingProblem(all);
  if (problem !== undefined) throw usage(`the grant cannot be narrowed so: ${problem}`);
  if (grants === 'equal' && !isExact(all))
    throw refused(`${tool} runs what its arguments say: a grant for it is for the same arguments only`);
  if (covers(all, args)) return all;
  throw usage('these conditions do not let this call itself through');
}

/** The person who gives the grant, and the authority that has to confirm it if the giver alone is not enough. */
function giver({ tool }: CallView, request: RequestOpened, { by, now }: { by: string; now: number }) {
  const { grants, unowned, byGate, authority } = request;
  if (grants === 'none') throw refused(`calls of ${tool} are decided one by one`);
  if (unowned === true || byGate === true)
    throw refused('a workflow of its own asks, and it takes decisions only');
  if (authority === undefined) return { by };
  const found = giverOf(authority, { name: by, now });
  if ('why' in found) throw refused(found.why);
  return found;
}

/**
 * Refuses a grant if the assurance of its giver is weaker than the rule wants.
 *
 * @throws CountersignError `refused`.
 */
export function requireAssured({ assurance: wanted }: Pick<GrantPlan, 'assurance'>, has: Assurance): void {
  if (isAssured(has, wanted)) return;
  throw refused(
    `its rule wants decisions ${assuranceText(wanted)}, and so a grant; this one would be ${assuranceText(has)}`,
    isAssured('signed', wanted)
      ? 'Give it at a terminal, with --sign, or in the web inbox, with a passkey of yours.'
      : 'Give it at a terminal, with --sign.',
  );
}

function refused(message: string, hint = 'See docs/grants.md.') {
  return new CountersignError('refused', message, hint);
}

function usage(message: string) {
  return new CountersignError('usage', message, 'see countersign approve --help');
}

/** The most turns that are read, and the longest time for reading them, in milliseconds. */
const MOST_TURNS = 50;
const MOST_MS = 5_000;

/**
 * The past calls that a grant would have allowed. Looks at the newest turns in which its tool asked somebody, for some
 * seconds at most.
 */
export async function coverageOf(
  client: Parameters<typeof readTurns>[0] & { turns(query: TurnsQuery): Promise<Pick<TurnsPage, 'turns'>> },
  terms: Pick<GrantTerms, 'agent' | 'tool' | 'narrowing'>,
): Promise<GrantCoverage> {
  const { agent, tool, narrowing } = terms;
  const until = performance.now() + MOST_MS;
  const { turns } = await client.turns({ agent, tool, limit: MOST_TURNS });
  const found: GrantCoverage = { covered: 0, denied: 0, calls: 0, turns: 0 };
  for await (const events of readTurns(client, turns, () => undefined)) {
    found.turns += 1;
    for (const call of viewOf(events).calls) {
      if (call.tool !== tool || call.request === undefined) continue;
      found.calls += 1;
      if (!covers(narrowing, call.arguments)) continue;
      found.covered += 1;
      if (call.outcome === 'denied') found.denied += 1;
    }
    if (performance.now() > until) break;
  }
  return found;
}

/** The result of looking at past calls, in words. */
export function coverageText({ covered, denied, calls, turns }: GrantCoverage): string {
  const looked = `${calls} calls of the last ${turns} turns in which somebody was asked`;
  const not = denied === 0 ? '' : `, ${denied} of which somebody denied`;
  return `Of ${looked} it would have allowed ${covered}${not}.`;
}
