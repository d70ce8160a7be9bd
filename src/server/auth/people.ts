import { CountersignError } from '../../contract/errors';
import type { Permit } from '../../authority/rules/permits';
import type { Right } from '../api';
import { RIGHTS } from './users';

/** A person's identity, for which an issuer or a proxy vouches. */
export interface Identity {
  /** The issuer's own, permanent name for the person. Absent if only a mail address is known. */
  subject?: string;
  /** A verified mail address. */
  mail?: string;
  /** Groups of the person, as the issuer lists them. */
  groups: readonly string[];
  /**
   * The token that the issuer signed for this sign-in. The issuer gets it back when the person signs out. Absent for a
   * sign-in by a proxy.
   */
  idToken?: string;
}

/** The people of an approvers file. */
export interface People {
  /** The person with this name or mail address. Upper and lower case count as the same. */
  personOf(mail: string): string | undefined;
  /** The person whose `oidc` entry is this subject. */
  personOfSubject(subject: string): string | undefined;
  /** Whether the file has a subject for a person. Only the subject then identifies them. */
  hasSubject(person: string): boolean;
  /** The groups of a person in the file. */
  groupsOf(person: string): readonly string[];
  /**
   * What a person may do and see here, by their name or mail address. It also covers people who are not in the file.
   */
  permitOf(name: string): Permit;
}

/** The people with each right, by name or as `group:<name>`. */
export interface Access {
  mayFork: readonly string[];
  mayConverse: readonly string[];
}

/** Finds the person of an identity, by today's file. */
interface Directory {
  /** @throws CountersignError `not_allowed`. */
  find(identity: Identity): Promise<{ user: string; rights: readonly Right[] }>;
}

/**
 * A directory over the approvers file. Groups that an issuer names count only for rights. Which people vote, and with
 * which assurance, is up to the approvers file.
 */
export function createDirectory({
  people,
  access,
}: {
  people: () => Promise<People>;
  access: Access;
}): Directory {
  return {
    find: async (identity) => {
      const file = await people();
      const user = personFor(identity, file);
      if (user === undefined) throw personUnknown(identity);
      const groups = [...identity.groups, ...file.groupsOf(user)];
      return { user, rights: RIGHTS.filter((right) => isListed(access[LISTS[right]], { user, groups })) };
    },
  };
}

const LISTS: Readonly<Record<Right, keyof Access>> = { 'fork-live': 'mayFork', converse: 'mayConverse' };

/** Whether a list of people and groups contains a person or one of their groups. */
function isListed(
  list: readonly string[],
  { user, groups }: { user: string; groups: readonly string[] },
): boolean {
  return list.includes(user) || groups.some((group) => list.includes(`group:${group}`));
}

/**
 * The person in the file. The subject is tried first. If the file has a subject for a person, the person's mail address
 * does not count, because an address may be given to somebody else later.
 */
function personFor({ subject, mail }: Identity, people: People): string | undefined {
  const bySubject = subject === undefined ? undefined : people.personOfSubject(subject);
  if (bySubject !== undefined) return bySubject;
  // `personOf` also finds people by their names, so only a text that looks like an address is looked up.
  const byMail = mail?.includes('@') === true ? people.personOf(mail) : undefined;
  return byMail === undefined || people.hasSubject(byMail) ? undefined : byMail;
}

function personUnknown({ subject, mail }: Identity): CountersignError {
  const names = [
    ...(mail === undefined ? [] : [`the mail ${mail}`]),
    ...(subject === undefined ? [] : [`the subject ${subject}`]),
  ];
  const by = names.length === 0 ? 'without a verified mail' : `by ${names.join(' and ')}`;
  return new CountersignError('not_allowed', `you signed in ${by}, which is nobody in the approvers file`, {
    hint: 'ask whoever keeps the approvers file to add your mail, or your subject as `oidc`',
    data: { mail, subject },
  });
}
