import { CountersignError } from '../../contract/errors';

/** What a command may see unless set: what programs need to find their way, and nothing that is a key. */
export const VISIBLE: readonly string[] = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];

/** Variables that put code into every program, or hold the way into Temporal. */
const NEVER = /^(NODE_OPTIONS|BASH_ENV|ENV|LD_.*|DYLD_.*|TEMPORAL_.*|COUNTERSIGN_.*)$/i;

/** @throws CountersignError `tool_invalid` for a name that no command may ever see. */
export function assertVisible(names: readonly string[]): readonly string[] {
  const bad = names.find((name) => NEVER.test(name));
  if (bad === undefined) return [...names];
  throw new CountersignError('tool_invalid', `run_command: commands may not see the variable ${bad}`, {
    hint: `Take ${bad} out of \`env\`; it would put code into commands or give them the way into Temporal.`,
  });
}

/** The values of these variables, as far as they are set. Called when a command starts. */
export function environmentOf(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
