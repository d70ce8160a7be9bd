import { z } from 'zod';
import { PERSON_NAME } from '../votes/names';
import { DAY, HOUR, LONGEST, MINUTE, SECOND } from '../../contract/limits';
import { type Mistake, type ReadYaml, readYaml } from '../../system/yaml';
import { ASSURANCES } from '../../contract/authority';

const filled = z.string().min(1);

/** The content of an approvers file, and the position of each part in its text. */
export type ReadFile = ReadYaml<FileContent>;

const MOST_PEOPLE = 5_000;
/** The most rules of a file. */
export const MOST_RULES = 1_000;
const MOST_AGENTS = 200;
const MOST_REVOKED = 10_000;
/** The most people who may vote on one request. The request keeps their names. */
export const MOST_VOTERS = 200;

const NAME_RULE = 'must have letters, digits and . _ @ + - only, at most 64';
const name = z.string().regex(PERSON_NAME, NAME_RULE);
const names = z.array(filled).min(1, 'must not be empty');
const entry = z
  .string()
  .refine((text) => PERSON_NAME.test(text.replace(/^group:/, '')), 'must be a person or group:<name>');
const roster = z.array(entry).min(1, 'must not be empty: nobody could decide');

const UNITS: Readonly<Record<string, number>> = { s: SECOND, m: MINUTE, h: HOUR, d: DAY };

const time = z.string().transform((text, context) => {
  const [, count = '', unit = ''] =
    /^(\d{1,9}) ?(s|m|h|d|seconds?|minutes?|hours?|days?)$/.exec(text.trim()) ?? [];
  const ms = Number(count) * (UNITS[unit.charAt(0)] ?? NaN);
  if (count !== '' && ms > 0 && ms <= LONGEST) return ms;
  context.addIssue('must be a time such as 30m, 1h or 2 days');
  return z.NEVER;
});

/** Public keys of a person or of web inboxes. A line with an RSA key of 16,384 bits takes 2,800 characters. */
const keys = z.array(filled.max(4096)).max(20, 'must be at most 20').default([]);

const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
  error: 'must be a day such as 2026-12-24, or a time such as 2026-12-24T08:00:00Z',
});

/** A person who votes in another's place. A day begins and ends in UTC, and the day of `until` still belongs to the time. */
const delegate = z.preprocess(
  (one) => (typeof one === 'string' ? { name: one } : one),
  z.strictObject({
    name,
    from: moment.transform((text) => new Date(text).toISOString()).optional(),
    until: moment
      .transform((text) => new Date(Date.parse(text) + (text.includes('T') ? 0 : DAY)).toISOString())
      .optional(),
  }),
);

const person = z.strictObject({
  groups: z.array(name).default([]),
  keys,
  /**
   * The lines that the page of the web inbox shows. A line with an RSA key of 8,192 bits and the longest id takes 2,800
   * characters.
   */
  passkeys: keys,
  delegates: z.array(delegate).default([]),
  /** The member id at Slack. It stays the same, while names at Slack can change. */
  slack: z
    .string()
    .regex(/^[UW][A-Z0-9]{1,20}$/, 'must be a member id of Slack, such as U02ABCDEF')
    .optional(),
  /** The subject under which the issuer of the web inbox knows the person. */
  oidc: filled.max(255).optional(),
  mail: z.email('must be an address').optional(),
});

const approvers = z.strictObject({
  any: roster.optional(),
  groups: z.array(name).min(1, 'must not be empty').optional(),
  need: z.int().min(1).max(50).default(1),
  notRequester: z.boolean().default(false),
  denyNeeds: z.int().min(1).max(50).default(1),
});

/** The fields with which each rule says which calls it fits, in this file and in a policy. */
export const ruleBase = {
  name: filled.max(100),
  tools: names.optional(),
  agents: names.optional(),
  when: filled.optional(),
};

const rule = z.strictObject({
  ...ruleBase,
  then: z.enum(['run', 'ask', 'refuse', 'by_safety']),
  approvers: approvers.optional(),
  assurance: z.enum(ASSURANCES).default('claimed'),
  expires: time.optional(),
  escalate: z.strictObject({ after: time, to: roster }).optional(),
});

/**
 * A key that no longer counts. It is named here, so that its signatures are reported as made with a revoked key, and not
 * with a key that is listed nowhere.
 */
const revoked = z.strictObject({
  key: filled.max(4096),
  since: moment,
});

/** Who may do what in the web inbox, and whose turns each person sees there. */
const roles = z.strictObject({
  admins: z.array(entry).min(1, 'must not be empty: nobody could stop what runs'),
  viewers: z.array(entry).min(1, 'must not be empty').optional(),
});
const visibility = z
  .record(
    entry,
    z.union([z.literal('all'), names.max(MOST_AGENTS)], {
      error: 'must be `all`, or a list of agents that is not empty',
    }),
  )
  .refine((lists) => Object.keys(lists).length > 0, 'must not be empty: nobody would see anything');

const fileSchema = z.strictObject({
  installation: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'must be 32 hex digits; `countersign approvers init` draws them'),
  /** Public keys of web inboxes. A web inbox signs with its key that the approver was signed in. */
  inboxKeys: keys,
  /** Where passkeys are made and used: the domain of the web inbox, and its addresses in a browser. */
  rpId: z
    .string()
    .max(253)
    .regex(
      // Browsers do not allow passkeys at an IP address. A name without a dot would mean all sites below it.
      /^(localhost|([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?)$/,
      'must be a domain such as inbox.example.com',
    )
    .optional(),
  origins: z.array(z.string().max(300)).min(1, 'must not be empty').max(20, 'must be at most 20').optional(),
  /** Groups that may be named although nobody is in them yet, each with its purpose. */
  groups: z.record(name, z.string()).default({}),
  people: z
    .record(name, person)
    .refine((people) => Object.keys(people).length <= MOST_PEOPLE, `must name at most ${MOST_PEOPLE} people`),
  revoked: z.array(revoked).max(MOST_REVOKED, `must be at most ${MOST_REVOKED}`).default([]),
  roles: roles.optional(),
  visibility: visibility.optional(),
  rules: z.array(rule).min(1, 'must not be empty').max(MOST_RULES, `must be at most ${MOST_RULES}`),
});

/** An approvers file as it is written, with defaults filled in and times in milliseconds. */
export type FileContent = z.output<typeof fileSchema>;
export type RuleContent = FileContent['rules'][number];

/** Reads an approvers file: YAML 1.2 of the form above. The meaning is checked later. */
export function readApproversFile(
  text: string,
): { ok: true; file: ReadFile } | { ok: false; mistakes: Mistake[] } {
  return readYaml<FileContent>(text, fileSchema);
}
