import { z } from 'zod';
import type { Approvers } from '../../authority/approvers';
import type { RosterPerson } from '../../contract/authority/roster';
import { personIn } from '../../contract/authority/authority';
import { type Assurance, ASSURANCES } from '../../contract/authority/rule';
import { type Away, isOpenAt } from '../../contract/control/away';
import { isAway } from '../../contract/control/away-forms';
import { TIMES } from '../../contract/limits';
import { defined } from '../../contract/defined';
import { parseJson } from '../../contract/json';
import { frameOf, type ReadLine } from '../../history/audit/read';
import type { ScreenFormat } from '../print/screen';
import type { TableFact } from '../print/table';
import { awayKeyJudge, carriedIn, type KeyJudge, type KeyVerdict, type SignedAway } from './keys';
import { isDecision, isTakenOut, namespaceIn, valueOf } from './lines';
import type { RecordChecker } from './signatures';
import {
  countsText,
  createTally,
  kindsWith,
  type TallyKind,
  type Remark,
  remarkFacts,
  type Tallied,
  zeroWith,
} from './tally';
import { createWaiting, type Explained } from './waiting';

/**
 * The result of checking the out-of-office that a vote in somebody's place rests on. The results for signatures also
 * occur here. The others are:
 * - `claimed`: nobody signed the out-of-office, and the rule wants no more than a claim.
 * - `missing`: the file does not hold the out-of-office.
 * - `bad`: the voter could not vote by the out-of-office at that time, or its signature does not hold.
 * - `taken_out`: the out-of-office, or a value that it is compared with, is no longer in the file.
 */
type PlaceState = KeyVerdict['state'] | 'claimed' | 'missing' | 'taken_out';

/** The results for all votes in somebody's place. */
export type PlaceReport = Tallied<PlaceState>;

const KINDS: readonly TallyKind<PlaceState>[] = kindsWith([
  { state: 'claimed', words: 'only claimed' },
  { state: 'bad', words: 'bad out-of-office', list: 'unproven', isAlways: true },
  { state: 'missing', words: 'no out-of-office', list: 'unproven', isAlways: true },
]);
const ZERO = zeroWith({ claimed: 0, bad: 0, missing: 0 });

/**
 * Starts a check of the out-of-office entries that votes rest on. It uses the functions by which a worker checks them.
 * `named`: approvers files, today's first. Without files, the keys that the audit file carries are used.
 */
export async function createPlaceChecker(
  named: readonly Approvers[] = [],
): Promise<RecordChecker<PlaceReport>> {
  const judge = await placeJudge(named);
  const tally = createTally(KINDS, ZERO);
  const waiting = createWaiting({ by: 'away', over: 'place' });
  const calls = createCalls();
  let namespace = '';
  const settle = (one: Explained): void => {
    if (one.decision.sealed.has('place')) tally.add(judge({ ...one, ...calls.of(one.decision), namespace }));
  };
  return {
    push: (line) => {
      if (line.type === 'audit') namespace = namespaceIn(line);
      calls.note(line);
      for (const explained of waiting.push(line)) settle(explained);
      if (line.type === 'turn_ended') calls.drop(line);
    },
    finish: () => {
      for (const explained of waiting.rest()) settle(explained);
      return tally.done();
    },
  };
}

/** The facts that the file has about a call while votes on the call wait. */
interface CallNow {
  /**
   * The assurance that the rule of the request wants. Absent: the wanted assurance is not known, or a claim is enough.
   */
  wanted?: Assurance;
  /** Somebody voted on the call in another person's place. */
  isPlaced?: true;
  /** The last time that the call was started after such a vote, in milliseconds since 1970. */
  started?: number;
}

interface Calls {
  note(line: ReadLine): void;
  of(line: ReadLine): CallNow;
  /** The turn is over. */
  drop(line: ReadLine): void;
}

const about = z.object({
  turn: z.string(),
  call: z.string().default(''),
  assurance: z.enum(ASSURANCES).optional().catch(undefined),
});

function createCalls(): Calls {
  const turns = new Map<string, Map<string, CallNow>>();
  let isAnyPlaced = false;
  const change = (
    line: ReadLine,
    next: (before: CallNow | undefined, wanted?: Assurance) => CallNow | undefined,
  ) => {
    const { data } = about.safeParse(frameOf(line.body));
    if (data === undefined) return;
    const ofTurn = turns.get(data.turn) ?? new Map<string, CallNow>();
    const now = next(ofTurn.get(data.call), data.assurance);
    if (now !== undefined) turns.set(data.turn, ofTurn.set(data.call, now));
  };
  return {
    note: (line) => {
      if (line.type === 'request')
        change(line, (before, wanted = 'claimed') =>
          wanted === 'claimed' && before === undefined ? undefined : { ...before, wanted },
        );
      if (isDecision(line) && line.sealed.has('place')) {
        isAnyPlaced = true;
        change(line, ({ wanted } = {}) => ({ ...defined({ wanted }), isPlaced: true }));
      }
      if (line.type === 'start' && isAnyPlaced)
        change(line, (before) => before?.isPlaced && { ...before, started: Date.parse(line.at) });
    },
    of: (line) => {
      const { turn = '', call = '' } = about.safeParse(frameOf(line.body)).data ?? {};
      return turns.get(turn)?.get(call) ?? {};
    },
    drop: ({ body }) => void turns.delete(about.safeParse(frameOf(body)).data?.turn ?? ''),
  };
}

interface Judged {
  state: PlaceState;
  remark?: Remark<PlaceState>;
}

type PlaceJudge = (of: Explained & CallNow & { namespace: string }) => Judged;

/** The findings about an out-of-office entry. */
type Found = Pick<Remark<PlaceState>, 'state' | 'why'> | { state: 'verified' | 'carried' | 'claimed' };

const MISSING =
  'the file does not hold the out-of-office: no worker says by which one it started a call by this vote';

const placeSchema = z.object({ person: z.string(), entry: z.string() });
const personSchema = z.object({ person: z.string(), mail: z.string().optional() });
const awaySchema = z.object({ entry: z.custom<Away>(isAway), from: personSchema, to: personSchema });

async function placeJudge(files: readonly Approvers[]): Promise<PlaceJudge> {
  const judgeEntry = await entryJudge(files);
  return (one) => {
    const { decision } = one;
    const approver = valueOf(decision, 'approver');
    const found = judgeVote(one, judgeEntry);
    if (!('why' in found)) return found;
    const { turn = '', call = '' } = about.safeParse(frameOf(decision.body)).data ?? {};
    return {
      state: found.state,
      remark: { n: decision.n, turn, call, ...defined({ approver }), ...found },
    };
  };
}

function judgeVote(one: Parameters<PlaceJudge>[0], judgeEntry: EntryJudge): Found {
  const { decision, said } = one;
  const gone = (['place', 'approver'] as const).filter((name) => isTakenOut(decision, name));
  if (gone.length > 0)
    return { state: 'taken_out', why: `it depends on values that were taken out: ${gone.join(', ')}` };
  const place = placeSchema.safeParse(parseJson(valueOf(decision, 'place') ?? '')).data;
  if (place === undefined) return { state: 'bad', why: 'in whose place it was cast cannot be read' };
  if (said === undefined) return { state: 'missing', why: MISSING };
  if (isTakenOut(said, 'away')) return { state: 'taken_out', why: 'the out-of-office was taken out' };
  const away = awaySchema.safeParse(parseJson(valueOf(said, 'away') ?? '')).data;
  if (away === undefined)
    return { state: 'bad', why: 'the out-of-office that the file holds cannot be read' };
  const { entry } = away;
  if (entry.id !== place.entry)
    return { state: 'bad', why: `it is by the out-of-office ${place.entry}, and the file holds ${entry.id}` };
  const voter = valueOf(decision, 'approver') ?? '';
  return judgeEntry({ ...one, said, ...place, entry, people: [away.from, away.to].map(named), voter });
}

function named({ person, mail }: z.output<typeof personSchema>): RosterPerson {
  return { person, ...defined({ mail }) };
}

/** A vote in somebody's place, with the out-of-office that the file holds for the vote. */
interface EntryCheck extends CallNow {
  decision: ReadLine;
  said: ReadLine;
  namespace: string;
  entry: Away;
  voter: string;
  person: string;
  /** The other names of these people, as the worker says. */
  people: readonly RosterPerson[];
}

type EntryJudge = (check: EntryCheck) => Found;

async function entryJudge(files: readonly Approvers[]): Promise<EntryJudge> {
  const { whyNotTheirs, whyUnsure } = await import('../../authority/away-statement.js');
  const judgeKey: KeyJudge<SignedAway> = await awayKeyJudge(files);
  return (check) => {
    const { entry, wanted = 'claimed', said, namespace, decision } = check;
    const nameOf = namesBy(files, check.people);
    const seat = { voter: nameOf(check.voter), person: nameOf(check.person), nameOf };
    const why = whyNotTheirs(entry, seat) ?? whyClosed(check);
    if (why !== undefined) return { state: 'bad', why };
    const of = `the out-of-office of ${entry.from}`;
    if (entry.signature === undefined) {
      const unsure = whyUnsure(entry.from, 'claimed', wanted);
      return unsure === undefined ? { state: 'claimed' } : { state: 'bad', why: unsure };
    }
    const carried = carriedIn(said);
    if (carried === 'gone' && files.length === 0)
      return { state: 'taken_out', why: `the key of ${of} was taken out` };
    const at = momentIn(entry, Date.parse(decision.at));
    const verdict = judgeKey({ entry, namespace, at, carried: carried === 'gone' ? undefined : carried });
    const unsure = 'assurance' in verdict ? whyUnsure(entry.from, verdict.assurance, wanted) : undefined;
    if (unsure !== undefined) return { state: 'bad', why: unsure };
    if (verdict.state === 'verified' || verdict.state === 'carried') return { state: verdict.state };
    const { state } = verdict;
    return { state, why: `the signature on ${of}: ${verdict.why}` };
  };
}

/**
 * Returns a function that finds a person's name in the approvers files or, without files, in the worker's record. It
 * returns unknown names unchanged.
 */
function namesBy(files: readonly Approvers[], people: readonly RosterPerson[]): (name: string) => string {
  const carried = people.map(({ person, mail }) => ({ name: person, ...defined({ mail }) }));
  return (name) => {
    const [known] = files.flatMap((file) => file.personOf(name) ?? []);
    return known ?? (files.length === 0 ? personIn(carried, name) : undefined) ?? name;
  };
}

/** An out-of-office has to hold when the vote is cast, and when the call starts. */
function whyClosed({ entry, person, decision, started }: EntryCheck): string | undefined {
  const { start, end } = entry;
  const isOpen = (moment: number): boolean => isOpenAt(entry, momentIn(entry, moment));
  const window = `it holds from ${start} to ${end}`;
  if (!isOpen(Date.parse(decision.at))) return `${person} was not away when it was cast: ${window}`;
  if (started === undefined || isOpen(started)) return undefined;
  return `${person} was not away when the call started: ${window}`;
}

/** A moment by the server's clock, if the end of an entry was reached by the worker's clock, which may be behind. */
function momentIn({ end }: Pick<Away, 'end'>, moment: number): number {
  const last = Date.parse(end) - 1;
  return moment > last && moment - last < TIMES.clockSkew ? last : moment;
}

/** The facts to print about votes in somebody's place. None if there are no such votes. */
export function placeFacts(report: PlaceReport, format: Pick<ScreenFormat, 'style'>): TableFact[] {
  if (Object.values(report.counts).every((times) => times === 0)) return [];
  return [['in a place', countsText(KINDS, report)], ...remarkFacts(KINDS, report, format)];
}
