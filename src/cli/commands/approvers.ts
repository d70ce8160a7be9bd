import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Approvers, Ruling } from '../../authority/rules/approvers-file';
import type { KnownNames } from '../../authority/rules/check-rules';
import { approvalsNeeded, assuranceText, isAssured } from '../../authority/rules/stricter-rule';
import { countVotes, type VoteCount } from '../../authority/votes/count-votes';
import { TASK_QUEUE } from '../../contract/names';
import { counted, authorityOn } from '../../history/labels';
import type { Config } from '../../tools/define-config';
import { type Context, osUser } from '../context';
import { writeNewFile } from '../../system/named-files';
import { loadConfig } from '../load-config';
import { escapeText } from '../../contract/text/escape';
import { APPROVERS_FILE } from '../review/sign';
import { findCall, namedCall, parseTarget } from '../target';
import { WHY_NOT, assuranceWanted } from '../../authority/votes/voters';
import { seatingOf, type VoteRefusal } from '../../authority/votes/who-may-vote';
import { span } from '../../contract/text/times';
import type { CallView, TurnView } from '../../history/view';
import type { RuleSnapshot, Authority, Assurance, DatedVote } from '../../contract/authority';
import { ruleInForce } from '../../authority/votes/authority-in-force';
import { usageError } from '../../contract/errors';
import type { SignedAt } from '../../authority/signatures/facts-to-sign';
import { shortDigest } from '../../contract/worker-name';

/** `approvers [config]`, `approvers init` and `approvers explain`. */
export function addApprovers(program: Command, context: Context): void {
  const approvers = program
    .command('approvers [config]')
    .description('check the file of who may decide, its keys too, against the tools and agents of a config')
    .action((config: string | undefined) => check(config, context));
  approvers
    .command('init [file]')
    .description('write a first file, with you in it')
    .action((file: string | undefined) => init(file, context));
  approvers
    .command('explain <turn/call>')
    .description('say which rule a call was asked about by, who may decide it by that rule, and why')
    .action((target: string) => explain(target, context));
}

async function init(file = APPROVERS_FILE, context: Context) {
  const { screen, print, typed } = context;
  const installation = randomBytes(16).toString('hex');
  await writeNewFile(file, firstFile(installation), 0o644);
  const loaded = await loadConfig(undefined).catch(() => undefined);
  const warnings = unnamedWarning(file, loaded?.config);
  const inForce = await filesInForce(loaded?.config.taskQueue ?? TASK_QUEUE, context);
  print({ file, installation, warnings, inForce }, () => [
    screen.style.good(`wrote ${escapeText(file)}`),
    typed(
      'Add the people who decide, review the rules like code, and look at it with `countersign approvers`.',
    ),
    screen.style.quiet(inForceLine(inForce)),
    ...warnings.map((warning) => screen.style.warn(escapeText(warning))),
  ]);
}

/**
 * The first approvers file. It works unchanged: the safety of a tool decides whether a call asks, and one person
 * decides.
 */
function firstFile(installation: string) {
  // The name of an account may be a name that the file does not accept.
  const you =
    osUser()
      .replace(/[^A-Za-z0-9._@+-]/g, '')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 64) || 'me';
  return `# Who may decide. First match wins; conditions are CEL.
# Quoted: digits alone would be a number.
installation: '${installation}'
people:
  # A key signs its owner's decisions: a line such as \`cat ~/.ssh/id_ed25519.pub\` shows.
  ${JSON.stringify(you)}: { groups: [owners], keys: [] }
rules:
  # - name: large refunds
  #   tools: [refund_order]
  #   when: args.cents > 50000
  #   then: ask
  #   approvers: { any: ['group:owners'], need: 2, notRequester: true }
  #   expires: 2 days
  - name: default
    then: by_safety
`;
}

async function check(named: string | undefined, context: Context) {
  const { screen, print } = context;
  const { config } = await loadConfig(named);
  // Loaded here, so that no other command waits for the definitions of tools.
  const { rulesAbout } = await import('../../tools/define-config.js');
  const known = rulesAbout(config);
  const approvers = await load(context, known);
  const warnings = [
    ...unnamedWarning(approvers.file, config),
    ...warningsAbout(approvers),
    ...approvers.warnings,
    ...unseenAgents(approvers, known),
  ];
  const { people, rules, digest } = approvers;
  const inForce = await filesInForce(config.taskQueue, context);
  print(
    {
      file: approvers.file,
      digest,
      people: people.length,
      rules: rules.length,
      warnings,
      inForce,
    },
    () => [
      screen.style.good(
        `${escapeText(approvers.file)} is in order: ${people.length === 1 ? '1 person' : `${people.length} people`}, ${counted(rules.length, 'rule')}`,
      ),
      `${screen.style.quiet('digest')}  ${digest}`,
      screen.style.quiet(inForceLine(inForce, digest)),
      ...warnings.map((warning) => screen.style.warn(escapeText(warning))),
    ],
  );
}

/** Loaded here, so that no other command waits for YAML and CEL. */
async function load(
  { approversFile: file = APPROVERS_FILE }: Context,
  known?: KnownNames,
): Promise<Approvers> {
  const { loadApprovers } = await import('../../authority/rules/approvers-file.js');
  return loadApprovers(file, known);
}

function warningsAbout(approvers: Approvers) {
  return approvers.rules.flatMap((rule) => [
    ...(rule.notRequester
      ? [
          `'${rule.name}': a turn that does not say who asked for it can be decided by nobody, because that person must not decide it`,
          ...(isTight(rule, approvers)
            ? [
                `'${rule.name}': once one of its people answers the agent, edits a call or gives a reason, too few others can approve`,
              ]
            : []),
        ]
      : []),
    ...unsignedWarning(rule, approvers),
  ]);
}

/**
 * The agents that `visibility` names and the config does not have. A web inbox may show agents of other configs, so
 * these names are not mistakes.
 */
function unseenAgents({ visibleAgents }: Approvers, { agents }: KnownNames) {
  return visibleAgents
    .filter((name) => agents?.includes(name) === false)
    .map((name) => `\`visibility\` names the agent '${name}', and this config has no agent of that name`);
}

/** Who may vote under a rule. The requester has no name here, so nobody is left out as the requester. */
function ablePeople(rule: Ruling['rule'], people: Approvers['people']) {
  return countVotes(rule, [], { people, requesters: [''], now: Date.now() }).mayVote;
}

/** Whether a rule that leaves out who asked has nobody to spare. */
function isTight(rule: Ruling['rule'], { people }: Approvers) {
  // Only one other person is missing.
  return ablePeople(rule, people).length <= approvalsNeeded(rule);
}

/** Warns if there are too few keys for the signatures that a rule asks for. */
function unsignedWarning(rule: Ruling['rule'], { people, keysOf, inboxKeys }: Approvers): string[] {
  if (rule.assurance === 'signed_in' && inboxKeys.length === 0)
    return [
      `'${rule.name}': decisions have to be signed in, and \`inboxKeys\` names no web inbox that could sign`,
    ];
  if (rule.assurance !== 'signed_ssh') return [];
  // Only keys matter here.
  const able = ablePeople(rule, people).filter((name) => keysOf(name).length > 0);
  const need = approvalsNeeded(rule);
  if (able.length >= need) return [];
  return [
    `'${rule.name}': ${counted(need, 'signature')} by SSH keys needed, and these people have a key: ${able.join(', ') || 'nobody'}`,
  ];
}

async function explain(target: string, context: Context) {
  const named = parseTarget(target);
  namedCall(named.call);
  const { screen, json, print } = context;
  await context.withClient(async (client) => {
    const view = await client.view(await client.find(named.turn));
    const call = findCall(view, named.call);
    const authority = authorityOfRequest(view, call);
    if (authority === undefined)
      return json
        ? screen.json({ turn: view.turn, callId: call.callId, rule: null })
        : screen.line(context.typed(UNJUDGED));
    const approvers = await load(context);
    const votes = await provenVotesOn(approvers, { view, call, place: client.placeOf(view) });
    const about = explanationOf(view, call, { authority, approvers, votes, now: Date.now() });
    print(about, () => explanationLines(about).map((line) => escapeText(line)));
  });
}

const UNJUDGED =
  'No approvers file judged this call when it was asked: anybody may decide here. `countersign approvers init` writes one.';

/** The most time for one question to a server that may not be there, in milliseconds. */
const ASK_MS = 2_000;

/**
 * The approvers files with which the workers of a queue started, by their short digests. Undefined: no server answers in
 * time. A file can be written and checked without one.
 */
async function filesInForce(queue: string, { withClient }: Context): Promise<string[] | undefined> {
  const { approversOf, workersOf } = await import('../../client/pollers.js');
  try {
    return await withClient(
      ({ client: { connection }, namespace }) =>
        connection.withDeadline(Date.now() + ASK_MS, async () =>
          approversOf(await workersOf(connection, namespace, { name: queue, half: 'turns' })),
        ),
      { timeoutMs: ASK_MS },
    );
  } catch {
    return undefined;
  }
}

function inForceLine(inForce: readonly string[] | undefined, digest = '') {
  if (inForce === undefined) return 'No server answers, so it is not known which file the workers use.';
  if (inForce.length === 0) return 'No worker has said yet which approvers file it uses.';
  if (inForce.every((one) => one === 'none')) return 'The workers use no approvers file: anybody may decide.';
  const isThis = inForce.every((one) => one === shortDigest(digest));
  if (isThis) return 'The workers started with this file.';
  return `The workers started with: ${inForce.join(', ')}. They read their file again when it changes.`;
}

/** Says that no worker reads a file, unless the config names it. Undefined: there is no config that can be loaded. */
function unnamedWarning(file: string, config: Config | undefined): string[] {
  const { approvers } = config ?? {};
  if (approvers !== undefined && resolve(approvers) === resolve(file)) return [];
  return [
    `No worker reads this file: the config does not name it. Add to the config: approvers: ${JSON.stringify(file)}`,
  ];
}

/** The facts about who may decide a call, as `--json` prints them. */
interface Explanation extends VoteCount {
  /** The votes so far, and what each of them proves by the file that is here. */
  votes: readonly ProvenVote[];
  turn: string;
  callId: string;
  tool: string;
  /** The rule by which the call was asked about. */
  rule: RuleSnapshot;
  ruleDigest: string;
  /** SHA-256 of the file from which the rule is, and of the file that is here. */
  fileDigest: string;
  digest: string;
  requesters: readonly string[];
  mayNot: { name: string; why: VoteRefusal }[];
}

/** The authority of a request. Undefined: no file judged it, so anybody may decide. */
function authorityOfRequest({ turn }: TurnView, call: CallView): Authority | undefined {
  if (call.request) return authorityOn(call);
  throw usageError(
    `${turn}/${call.callId} asked nobody`,
    'Only calls that wait or waited for a decision are explained.',
  );
}

/**
 * Explains a call by its own request, whatever the file says that is here.
 *
 * @param now milliseconds since 1970.
 */
function explanationOf(
  { turn }: TurnView,
  { callId, tool }: CallView,
  {
    authority,
    approvers,
    votes,
    now,
  }: { authority: Authority; approvers: Approvers; votes: readonly ProvenVote[]; now: number },
): Explanation {
  const { ruleDigest, fileDigest, requesters } = authority;
  const rule = ruleInForce(authority);
  const people = authority.people ?? approvers.people;
  const among = { people, requesters, now };
  const seatingFor = seatingOf(rule, among);
  const mayNot = people.flatMap(({ name }) => {
    const seating = seatingFor(name, now);
    return seating.ok ? [] : [{ name, why: seating.why }];
  });
  const judged = votes.map((vote) => ({
    ...vote,
    counts: vote.counts && seatingFor(vote.voter, Date.parse(vote.at)).ok,
  }));
  return {
    turn,
    callId,
    tool,
    rule,
    ruleDigest,
    fileDigest,
    digest: approvers.digest,
    requesters,
    mayNot,
    votes: judged,
    ...countVotes(
      rule,
      judged.filter(({ counts }) => counts),
      among,
    ),
  };
}

/** An explanation in lines for a person. */
function explanationLines(about: Explanation): string[] {
  const { rule, fileDigest, digest, mayVote, mayNot, requesters } = about;
  const isHere = fileDigest === digest;
  const head = [
    `${about.turn}/${about.callId} ${about.tool}`,
    `rule       ${rule.name}`,
    `file       ${shortDigest(fileDigest)}${isHere ? '' : `, when it was asked; the file here is ${shortDigest(digest)}`}`,
    `asked by   ${requesters.join(', ') || 'nobody is named'}`,
  ];
  const { groups, assurance, expiresMs, escalate } = rule;
  const groupsText = groups.length === 0 ? '' : `, one of each of ${groups.join(', ')}`;
  return [
    ...head,
    `needs      ${counted(approvalsNeeded(rule), 'approval')}${groupsText}, ${assuranceText(assurance)}`,
    ...(expiresMs === undefined ? [] : [`expires    ${span(expiresMs)} after it was asked`]),
    ...(escalate ? [`then asks  ${escalate.to.join(', ')} after ${span(escalate.afterMs)}`] : []),
    ...about.votes.map(
      ({ voter, decision, proof, counts }) =>
        `has voted  ${voter}: ${decision}; ${proof}${counts ? '' : ': it does not count'}`,
    ),
    `${assurance === 'claimed' ? 'may vote' : 'may sign'}   ${mayVote.join(', ') || 'nobody'}`,
    ...mayNot.map(({ name, why }) => `may not    ${name}: ${WHY_NOT[why]}`),
    ...(about.isStuck ? ['Too few people may vote: nobody can approve it.'] : []),
  ];
}

/** Checks the signatures of the votes on a call, as the worker does directly before the handler runs. */
async function provenVotesOn(
  approvers: Approvers,
  { view, call, place }: { view: TurnView; call: CallView; place: Omit<SignedAt, 'installation'> },
): Promise<ProvenVote[]> {
  const { assuranceOf, VOTE_FAULTS } = await import('../../authority/signatures/vote-signature.js');
  const { factsToSign } = await import('../../authority/signatures/facts-to-sign.js');
  const facts = factsToSign(view, call, { installation: approvers.installation, ...place });
  const said = [...call.decisions, ...call.resolutions].filter(
    ({ judgement }) => judgement.accepted === true,
  );
  return call.votes.map(({ voter, decision, hunks, at: castAt }) => {
    const cast = { voter, decision, at: castAt };
    const wanted = assuranceWanted(call.request?.authority, decision);
    const isEnough = (has: Assurance) => wanted === undefined || isAssured(has, wanted);
    const event = said.findLast((one) => (approvers.personOf(one.approver) ?? one.approver) === voter);
    const { signature, reason, decisionId } = event ?? {};
    if (facts === undefined || signature === undefined)
      return { ...cast, proof: 'claimed', counts: isEnough('claimed') };
    const { kind, armored, at, notAfter, statement } = signature;
    const word = event?.type === 'resolved' ? ('run-again' as const) : decision;
    const vote = {
      decisionId,
      decision: word,
      reason,
      approver: voter,
      at,
      notAfter,
      seenDigest: facts.seenDigest,
      hunks: hunks && [...hunks],
    };
    const judged = assuranceOf(
      { ...vote, signature: { kind, armored, statement } },
      { facts, approvers, now: Date.now() },
    );
    if (!judged.ok) return { ...cast, proof: VOTE_FAULTS[judged.why], counts: decision === 'denied' };
    const { assurance, fingerprint } = judged;
    const proof = [assuranceText(assurance), fingerprint ?? []].flat().join(', ');
    return { ...cast, proof, counts: isEnough(assurance) };
  });
}

/** A vote, and what it proves according to an approvers file. */
interface ProvenVote extends Pick<DatedVote, 'voter' | 'decision' | 'at'> {
  /** What the vote proves, in words. */
  proof: string;
  /** Whether the vote has at least the assurance that the rule of its request requires. */
  counts: boolean;
}
