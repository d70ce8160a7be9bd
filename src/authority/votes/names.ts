/**
 * The letters of a person's name. Names go into history, so only plain letters are allowed: a name with look-alike
 * letters would pass for another person's name.
 */
export const PERSON_NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/;

/** The form in which names are compared. Upper and lower case do not matter. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}

/** Whether two names mean the same person. */
export function isSameName(one: string, other: string): boolean {
  return nameKey(one) === nameKey(other);
}

/** The prefix of a group's name in lists that also name people. */
export const GROUP = 'group:';
