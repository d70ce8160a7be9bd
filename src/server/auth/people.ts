import { CountersignError } from '../../contract/errors';
import type { Permit } from '../../contract/authority/permits';
import { defined } from '../../contract/defined';
import type { Right } from '../api';
import { RIGHTS } from './users';

/** Who somebody is, as an issuer or a proxy vouches for it. */
export interface Identity {
  /** Its own, lasting name of them. Absent where only a mail is known. */
  subject?: string;
  /** A mail address that was verified. */
  mail?: string;
  /** Groups that it says they are in. */
  groups: readonly string[];
  /** What an issuer signed for this sign-in. It is shown there when they sign out; a proxy has none. */
  idToken?: string;
}

/** The people of an approvers file. */
export interface People {
  /** The person of a name or a mail address, whatever its case. */
  personOf(mail: string): string | undefined;
  /** The person whose `oidc` a subject is. */
  personOfSubject(subject: string): string | undefined;
  /** Whether a person is known by a subject, and by that alone. */
  hasSubject(person: string): boolean;
  /** Groups of the file. */
  groupsOf(person: string): readonly string[];
  /** What somebody may do here and what they see, by a name or a mail address; also of those who are not in the file. */
  permitOf(name: string): Permit;
}

/** Who may do what, by name of a person or as `group:<name>`. */
export interface Access {
  mayFork: readonly string[];
  mayConverse: readonly string[];
}

/** Finds the person that an identity is, today. */
export interface Directory {
  /** @throws CountersignError `person_unknown`. */
  find(identity: Identity): Promise<{ user: string; rights: readonly Right[] }>;
}

/**
 * A directory over the approvers file. Groups that an issuer names count for rights only: who votes, and with what assurance, is
 * in the file.
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

/** Whether a list of people and groups has a person, or a group of theirs. */
export function isListed(
  list: readonly string[],
  { user, groups }: { user: string; groups: readonly string[] },
): boolean {
  return list.includes(user) || groups.some((group) => list.includes(`group:${group}`));
}

/**
 * The person of the file. A subject comes first. The mail of a person who has one in the file does not count: addresses are
 * given to somebody else one day.
 */
function personFor({ subject, mail }: Identity, people: People): string | undefined {
  const bySubject = subject === undefined ? undefined : people.personOfSubject(subject);
  if (bySubject !== undefined) return bySubject;
  // The name of a person is not an address, unless it looks like one.
  const byMail = mail?.includes('@') === true ? people.personOf(mail) : undefined;
  return byMail === undefined || people.hasSubject(byMail) ? undefined : byMail;
}

function personUnknown({ subject, mail }: Identity): CountersignError {
  const names = [
    ...(mail === undefined ? [] : [`the mail ${mail}`]),
    ...(subject === undefined ? [] : [`the subject ${subject}`]),
  ];
  const by = names.length === 0 ? 'without a verified mail' : `by ${names.join(' and ')}`;
  return new CountersignError(
    'person_unknown',
    `you signed in ${by}, which is nobody in the approvers file`,
    {
      hint: 'ask whoever keeps the approvers file to add your mail, or your subject as `oidc`',
      data: defined({ mail, subject }),
    },
  );
}
