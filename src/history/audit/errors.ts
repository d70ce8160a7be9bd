import { CountersignError } from '../../contract/errors';

/** What is wrong with a record. `index` counts from 0, `line` from 1. */
export interface Bad {
  index: number;
  line: number;
  reason: string;
}

/** The file is not what was written: the first record that shows it. */
export function broken(bad: Bad): CountersignError {
  const message = `record ${bad.index} (line ${bad.line}) is not as it was written: ${bad.reason}`;
  return new CountersignError('audit_broken', message, {
    hint: 'what comes before it is as it was written; compare the rest with another copy, or export anew from Temporal',
    data: { ...bad },
  });
}

/** The file is none of ours, or of a later version. */
export function notAudit(why: string): CountersignError {
  return new CountersignError('audit_invalid', `this is no audit file that can be read: ${why}`, {
    hint: 'countersign audit export writes one',
  });
}

/** The file is signed with another key than the one it has to be. */
export function otherKey(found: string, expected: string): CountersignError {
  return new CountersignError('audit_key', `the file is signed with another key: ${found}`, {
    hint: `it has to be ${expected}; a file that was written anew with a key of its own looks like this`,
    data: { found, expected },
  });
}

/** Records that no signed head vouches for. */
export function unsigned({ signed, records }: { signed: number; records: number }): CountersignError {
  const count = records - signed;
  const message = `${count} of ${records} records come after the last signed head: nobody vouches for them`;
  return new CountersignError('audit_unsigned', message, {
    hint: 'an export that was cut off leaves this; run countersign audit export again, it writes them anew and signs',
    data: { signed, unsigned: count },
  });
}
