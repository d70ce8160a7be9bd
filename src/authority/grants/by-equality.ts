/** The refusal of a wider grant for a program: a command with a harmless beginning may have a harmful end. */
export const BY_EQUALITY = 'what a program runs is allowed by equality only';

/** Tools run the values of arguments with these names. */
const ARGUMENTS: readonly string[] = [
  'command',
  'cmd',
  'commandline',
  'argv',
  'script',
  'shell',
  'code',
  'sql',
];

/** Tools of these categories run the commands or code in their arguments. */
const CATEGORIES: readonly string[] = ['shell', 'execution'];

/** Whether a grant may allow an argument of this name by equality only. */
export function isRunArgument(name: string): boolean {
  return ARGUMENTS.includes(name.toLowerCase());
}

/** Whether a grant may allow every argument of a tool of these categories by equality only. */
export function isRunTool(categories: readonly string[]): boolean {
  return categories.some((one) => CATEGORIES.includes(one));
}
