import { readFile } from 'node:fs/promises';
import { GROUP, nameKey } from '../votes/names';
import { actionFor, isStricter, stricterRule } from './stricter-rule';
import type { Permit } from './permits';
import { digestJson, digestText } from '../../contract/digest';
import { CountersignError, errorMessage } from '../../contract/errors';
import { systemReason } from '../../contract/text/system-errors';
import { checkFile, type KnownNames } from './check-rules';
import { actionBy, type RuleCondition } from './condition';
import type { Passkey, PasskeySite } from '../signatures/passkey';
import { permitsOf } from './roles-and-visibility';
import { formsOf, type Matching, type RuledCall, rulesThatFit } from './which-rules-fit';
import { type FileContent, MOST_VOTERS, readApproversFile, type RuleContent } from './approvers-schema';
import type { CheckedPasskeys, RevokedKeys } from './check-keys';
import type { SignerKey } from '../signatures/ssh-key';
import { type Mistake, mistakeLine, mistakeLines } from '../../system/yaml';
import type { RuleAction, RuleSnapshot, Voter, Authority } from '../../contract/authority';

/** The first rule that fits a call, and the action for the call. */
export interface Ruling {
  /** The action that follows from the rule and the tool's safety together. */
  action: Exclude<RuleAction, 'by_safety'>;
  rule: RuleSnapshot;
  ruleDigest: string;
  /** Why the condition of the rule could not be evaluated. The call is then refused. */
  failed?: string;
  /** The names of the earlier rules for this tool and agent. These rules do not fit the call. */
  passed: readonly string[];
}

/** The content of one approvers file. Immutable: a changed file becomes a new object. */
export interface Approvers {
  readonly file: string;
  readonly installation: string;
  /** SHA-256 of the file's text. */
  readonly digest: string;
  readonly people: readonly Voter[];
  readonly rules: readonly RuleSnapshot[];
  /** The first rule that fits a call. Where its forms fit several rules, these are joined. Never throws. */
  rulingOn(call: RuledCall): Ruling;
  /**
   * The authority under a rule, in the form that a request keeps. `asked`: the names that the people who asked for the
   * turn gave.
   */
  authorityBy(ruling: Pick<Ruling, 'rule' | 'ruleDigest'>, asked: readonly string[]): Authority;
  /** The person with this name or mail address, in upper or lower case. */
  personOf(name: string): string | undefined;
  /** The person whose `oidc` equals this subject. */
  personOfSubject(subject: string): string | undefined;
  /** The person whose `slack` equals this id. */
  personOfSlack(id: string): string | undefined;
  /** The `slack` of a person. Takes the name in the file. */
  slackOf(person: string): string | undefined;
  /** Whether a person has an `oidc`. Takes the name in the file. */
  hasSubject(person: string): boolean;
  /** The groups of a person. Takes the name in the file. */
  groupsOf(person: string): readonly string[];
  /**
   * The permit of a person in the web inbox. Takes a name or a mail address, also of somebody who is not in the file.
   */
  permitOf(name: string): Permit;
  /** Agents that `visibility` names. */
  readonly visibleAgents: readonly string[];
  /** The keys of a person. Takes the name in the file. */
  keysOf(person: string): readonly SignerKey[];
  /** The passkeys of a person. Takes the name in the file. */
  passkeysOf(person: string): readonly Passkey[];
  /** The site where passkeys are used. Undefined: the file names no site. */
  readonly passkeySite: PasskeySite | undefined;
  /** The person to whom the passkey with this id belongs. */
  ownerOfPasskey(id: string): string | undefined;
  /** The person to whom the key with this fingerprint belongs. */
  ownerOf(fingerprint: string): string | undefined;
  /** Keys of web inboxes. */
  readonly inboxKeys: readonly SignerKey[];
  /** Keys that are revoked. `keysOf`, `passkeysOf` and `inboxKeys` leave them out. */
  readonly revoked: RevokedKeys;
  /** How a call may leave a rule by its spelling. Empty if the tools are not known. */
  readonly warnings: readonly string[];
}

/**
 * Reads and checks an approvers file.
 *
 * @throws CountersignError `config_invalid` with each mistake, its line and column; `file_failed` if there is none
 * to read.
 */
export async function loadApprovers(file: string, known?: KnownNames): Promise<Approvers> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const why = systemReason(error) ?? errorMessage(error);
    const hint =
      '`countersign approvers init` writes a first file; --approvers or the config names another one.';
    throw new CountersignError('file_failed', `reading ${file} failed: ${why}`, { cause: error, hint });
  }
  return parseApprovers(text, file, known);
}

/** Like `loadApprovers`, but takes the text of the file. */
export function parseApprovers(text: string, file: string, known?: KnownNames): Approvers {
  const read = readApproversFile(text);
  if (!read.ok) throw invalid(file, read.mistakes);
  const { conditions, keys, passkeys, revoked, mistakes, warnings } = checkFile(read.file, known);
  if (mistakes.length > 0) throw invalid(file, mistakes);
  const { people, rules, installation } = read.file.content;
  const ruled = rules.map((rule, at) => ruledBy(rule, conditions.get(at)));
  const voters = Object.entries(people).map(([name, { groups, delegates, mail }]) => ({
    name,
    groups,
    delegates,
    mail,
  }));
  const digest = digestText(text);
  const persons = new Map(
    Object.entries(people).flatMap(([name, { mail }]) =>
      [name, mail ?? name].map((one) => [nameKey(one), name] as const),
    ),
  );
  const owners = new Map(
    [...keys.people].flatMap(([name, all]) => all.map(({ fingerprint }) => [fingerprint, name] as const)),
  );
  const personOf = (name: string) => persons.get(nameKey(name));
  const isTaken = (key: { fingerprint: string; id?: string }) =>
    [key.fingerprint, key.id].every((mark) => mark === undefined || revoked.since(mark) === undefined);
  const keysOf = new Map([...keys.people].map(([name, all]) => [name, all.filter(isTaken)] as const));
  const permits = permitsOf(read.file.content);
  return Object.freeze<Approvers>({
    file,
    installation,
    digest,
    people: voters,
    authorityBy: (ruling, asked) => authorityBy({ digest, people: voters, personOf }, ruling, asked),
    rules: ruled.map(({ snapshot }) => snapshot),
    rulingOn: rulings(ruled),
    personOf,
    ...lookUpsIn(people),
    permitOf: (name) => permits(personOf(name)),
    visibleAgents: agentsIn(read.file.content),
    keysOf: (person) => keysOf.get(person) ?? [],
    ownerOf: (fingerprint) => owners.get(fingerprint),
    inboxKeys: keys.inbox.filter(isTaken),
    revoked,
    warnings,
    ...passkeysIn(passkeys, isTaken),
  });
}

function passkeysIn(
  { people, site }: CheckedPasskeys,
  isTaken: (key: Passkey) => boolean,
): Pick<Approvers, 'passkeysOf' | 'passkeySite' | 'ownerOfPasskey'> {
  const owners = new Map([...people].flatMap(([name, all]) => all.map(({ id }) => [id, name] as const)));
  const taken = new Map([...people].map(([name, all]) => [name, all.filter(isTaken)] as const));
  return {
    passkeysOf: (person) => taken.get(person) ?? [],
    passkeySite: site,
    ownerOfPasskey: (id) => owners.get(id),
  };
}

/** Makes the look-ups of people by their subject at the OIDC issuer and their member id at Slack, and the other way. */
function lookUpsIn(people: FileContent['people']) {
  const all = new Map(Object.entries(people));
  const by = (field: 'oidc' | 'slack') =>
    new Map([...all].flatMap(([name, { [field]: id }]) => (id === undefined ? [] : [[id, name] as const])));
  const [subjects, members] = [by('oidc'), by('slack')];
  return {
    personOfSubject: (subject: string) => subjects.get(subject),
    hasSubject: (person: string) => all.get(person)?.oidc !== undefined,
    groupsOf: (person: string) => all.get(person)?.groups ?? [],
    personOfSlack: (id: string) => members.get(id),
    slackOf: (person: string) => all.get(person)?.slack,
  };
}

function authorityBy(
  { digest, people, personOf }: Pick<Approvers, 'digest' | 'people' | 'personOf'>,
  { rule, ruleDigest }: Pick<Ruling, 'rule' | 'ruleDigest'>,
  asked: readonly string[],
): Authority {
  const requesters = [...new Set(asked.map((name) => personOf(name) ?? name))];
  const listed = concernedBy(rule, people, requesters);
  return {
    fileDigest: digest,
    ruleDigest,
    rule,
    requesters,
    people: rule.rosters.length === 0 && listed.length > MOST_VOTERS ? undefined : listed,
  };
}

/**
 * The people whom a rule concerns. Without rosters, this is everybody. Otherwise, these are the people of the rosters
 * and of the escalation, their delegates, and the people who asked. The latter are among them so that their delegates
 * are known: to be in this list gives nobody a vote.
 */
function concernedBy(
  { rosters, escalate }: RuleSnapshot,
  people: readonly Voter[],
  requesters: readonly string[],
): Voter[] {
  if (rosters.length === 0) return [...people];
  const named = new Set([...rosters.flat(), ...(escalate?.to ?? [])]);
  const isNamed = ({ name, groups }: Voter) =>
    named.has(name) || groups.some((group) => named.has(`${GROUP}${group}`));
  const delegates = new Set(people.filter(isNamed).flatMap((one) => one.delegates.map(({ name }) => name)));
  return people.filter((one) => isNamed(one) || delegates.has(one.name) || requesters.includes(one.name));
}

function invalid(file: string, mistakes: readonly Mistake[]) {
  const lines = mistakes.map((one) => mistakeLine(file, one));
  return new CountersignError('config_invalid', mistakeLines(lines), {
    hint: 'Correct the file; `countersign approvers` looks at it again.',
    data: { mistakes: [...mistakes] },
  });
}

/** A rule with its digest and its parsed condition. */
interface Ruled extends Matching {
  snapshot: RuleSnapshot;
  digest: string;
}

function ruledBy(rule: RuleContent, condition: RuleCondition | undefined): Ruled {
  const { approvers, escalate, expires: expiresMs } = rule;
  const snapshot: RuleSnapshot = Object.freeze({
    name: rule.name,
    then: rule.then,
    rosters: approvers?.any === undefined ? [] : [approvers.any],
    need: approvers?.need ?? 1,
    groups: approvers?.groups ?? [],
    notRequester: approvers?.notRequester ?? false,
    denyNeeds: approvers?.denyNeeds ?? 1,
    assurance: rule.assurance,
    expiresMs,
    escalate: escalate === undefined ? undefined : { afterMs: escalate.after, to: escalate.to },
  });
  const { tools, agents, when } = rule;
  return {
    snapshot,
    digest: digestJson({ ...snapshot, tools, agents, when }),
    tools,
    agents,
    condition,
  };
}

function rulings(ruled: readonly Ruled[]): Approvers['rulingOn'] {
  const looks = rulesThatFit(ruled);
  const first = (call: RuledCall): Ruling => {
    const passed: string[] = [];
    for (const { rule: one, outcome } of looks(call)) {
      const { snapshot: rule, digest: ruleDigest } = one;
      const does = actionBy(outcome, actionFor(rule.then, call.safety));
      if (does !== undefined) return { ...does, rule, ruleDigest, passed };
      passed.push(rule.name);
    }
    throw new Error('the last rule fits every call');
  };
  return (call) => formsOf(call).map(first).reduce(stricterRuling);
}

/** The stricter of two rulings. If both ask people, it is as strict as both rules. */
function stricterRuling(one: Ruling, other: Ruling): Ruling {
  if (one.action !== other.action) return isStricter(other.action, one.action) ? other : one;
  if (one.action !== 'ask' || one.ruleDigest === other.ruleDigest) return one;
  const [name, then] = [`${one.rule.name}, ${other.rule.name}`, one.rule.then];
  const rule = { ...stricterRule(one.rule, other.rule), name, then };
  return { ...one, rule, ruleDigest: digestJson([one.ruleDigest, other.ruleDigest]) };
}

/** The agents that `visibility` names. */
function agentsIn({ visibility = {} }: FileContent) {
  return [...new Set(Object.values(visibility).flatMap((agents) => (agents === 'all' ? [] : agents)))];
}
