import type { CallRuling } from '../../contract/policy-rule';

/** The answer of the policy rules for a call. */
export function describeRuling({ rule, then, until }: CallRuling): string {
  const says = {
    run: until === undefined ? 'lets it run' : `lets it run until ${until}`,
    ask: 'asks',
    refuse: 'refuses it',
  };
  return `the rule '${rule}' ${says[then]}`;
}
