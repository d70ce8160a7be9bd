import type { Countersign, SessionView } from '../client';
import { CountersignError } from '../contract/errors';

/** The session with exactly this id, if there is one. */
export async function sessionOf(client: Countersign, id: string): Promise<SessionView | undefined> {
  try {
    return await client.session(id).history();
  } catch (error) {
    const isOther = error instanceof CountersignError && ['not_found', 'usage'].includes(error.code);
    if (isOther) return undefined;
    throw error;
  }
}
