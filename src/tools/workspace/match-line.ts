import { RE2JS } from 're2js';
import { ToolError } from '../errors';

/** What to look for in a line. */
export interface LineQuery {
  query: string;
  regex: boolean;
  case_sensitive: boolean;
}

/**
 * Whether a line has the text. RE2 matches in time linear in the line, whatever the pattern.
 *
 * @throws ToolError where the pattern is none that RE2 knows.
 */
export function lineMatcher({ query, regex, case_sensitive }: LineQuery): (line: string) => boolean {
  if (!regex && case_sensitive) return (line) => line.includes(query);
  try {
    const flags = case_sensitive ? 0 : RE2JS.CASE_INSENSITIVE;
    const pattern = RE2JS.compile(regex ? query : RE2JS.quote(query), flags);
    return (line) => pattern.test(line);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ToolError(
      `The query is no regular expression that RE2 knows (no look-around, no back-references): ${why}`,
      {
        cause: error,
      },
    );
  }
}
