import type { ApproversSource } from '../authority/rules/current-file';
import type { Approvers } from '../authority/rules/approvers-file';
import { someNames } from '../authority/votes/voters';
import type { InvalidCall } from '../contract/call';
import type { PrepareInput } from '../contract/think';
import { invalidCall } from './prepare-call';

/**
 * Why an admin's request to ask about a call again is refused. Undefined: the request is granted, or there is none.
 * Today's file says who may ask again, because the people whom the frozen rule names may all have left. A worker
 * without a file cannot ask again about a call with a rule.
 */
export async function renewalRefusal(
  approvers: ApproversSource | undefined,
  input: PrepareInput,
): Promise<InvalidCall | undefined> {
  if (input.askedAgain === undefined) return undefined;
  const { by, isRuled } = input.askedAgain;
  const file = await approvers?.current();
  const lacking = isRuled ? 'the worker that took it has no approvers file' : undefined;
  const why = file === undefined ? lacking : whyNotAdmin(file, by);
  return why === undefined ? undefined : invalidCall(input, { code: 'refused', message: why }, {});
}

/** Why a person who is not an admin is refused, with the names of the admins. Undefined: the person is an admin. */
function whyNotAdmin({ people, permitOf }: Approvers, name: string) {
  const isAdmin = (one: string) => permitOf(one).role === 'admin';
  if (isAdmin(name)) return undefined;
  const admins = people.flatMap((one) => (isAdmin(one.name) ? one.name : []));
  return `${name} is not an admin by the approvers file; these are: ${someNames(admins)}`;
}
