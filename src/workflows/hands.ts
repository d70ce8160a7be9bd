import type { CancellationScope } from '@temporalio/workflow';
import type { Bell } from './bell';
import type { Publisher } from './publish';
import type { Turn } from './turn';

/** What the steps of a turn work with. */
export interface Hands {
  /** Cancelled with the turn. */
  work: CancellationScope;
  /** Goes on when the turn is cancelled. */
  shield: CancellationScope;
  publisher: Publisher;
  bell: Bell;
}

/** A quiet turn is in its work all the time; to enter it for each activity costs two promises. */
export function inWork<T>({ isQuiet }: Turn, { work }: Hands, job: () => Promise<T>): Promise<T> {
  return isQuiet ? job() : work.run(job);
}
