import type { JSX } from 'preact';
import { countdown, urgencyOf } from '../model/deadline';

/** When a request expires, counting down; its moment is in the title. */
export function Deadline({
  of: deadline,
  now,
  label,
}: {
  of: string | null;
  now: number;
  label?: string;
}): JSX.Element {
  const words = countdown(deadline, now);
  return (
    <time
      class={`deadline ${urgencyOf(deadline, now)}`}
      dateTime={deadline ?? undefined}
      title={
        deadline === null
          ? 'It waits until somebody decides'
          : `Expires ${new Date(deadline).toLocaleString()}`
      }
    >
      {label !== undefined && `${label} `}
      {words}
    </time>
  );
}
