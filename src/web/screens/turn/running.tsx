import type { JSX } from 'preact';
import { ACTIVITY_STATE_WORDS } from '../../../contract/activity-state';
import { span } from '../../../contract/times';
import type { Pending, PendingActivity } from '../../../client/types';
import { Text } from '../../parts/text';
import { useNow } from '../../state/use-now';

/** What runs right now, and queues that nobody works on. */
export function Running({ pending }: { pending: Pending }): JSX.Element | null {
  const now = useNow();
  const { activities, idleQueues } = pending;
  if (activities.length + idleQueues.length === 0) return null;
  return (
    <section class="running" aria-label="Right now">
      {idleQueues.map((queue) => (
        <p key={queue} class="banner ask">
          No worker takes work from the queue{' '}
          <code>
            <Text of={queue} />
          </code>
          . Start one with <code>countersign worker</code>.
        </p>
      ))}
      <ul>
        {activities.map((activity) => (
          <ActivityLine key={`${activity.what}${activity.callId ?? ''}`} {...{ activity, now }} />
        ))}
      </ul>
    </section>
  );
}

function ActivityLine({ activity, now }: { activity: PendingActivity; now: number }): JSX.Element {
  const { callId, name, state, attempt, startedAt, worker, lastFailure } = activity;
  return (
    <li>
      <span class="pulse" aria-hidden="true" /> {callId}{' '}
      <code>
        <Text of={callId === undefined ? 'the model' : name} />
      </code>{' '}
      {ACTIVITY_STATE_WORDS[state]}
      {startedAt !== undefined && ` for ${span(Math.max(0, now - Date.parse(startedAt)))}`}
      {attempt > 1 && `, attempt ${attempt}`}
      {worker !== undefined && state === 'started' && (
        <span class="quiet">
          {' '}
          on <Text of={worker} />
        </span>
      )}
      {lastFailure !== undefined && (
        <span class="quiet">
          {' '}
          (last failure: <Text of={lastFailure} />)
        </span>
      )}
    </li>
  );
}
