import type { CallRuling } from '../../contract/authority/policy';

/** The answer of the policy rules for a call, in lines. */
export function describeRuling({ rule, then, until, shadow = [] }: CallRuling): string[] {
  const says = {
    run: until === undefined ? 'lets it run' : `lets it run until ${until}`,
    ask: 'asks',
    refuse: 'refuses it',
  };
  const would = { run: 'let it run', ask: 'ask', refuse: 'refuse it' };
  return [
    ...(rule === undefined || then === undefined ? [] : [`the rule '${rule}' ${says[then]}`]),
    ...shadow.map((one) => `with the shadow rule '${one.rule}' the policy would ${would[one.would]}`),
  ];
}
