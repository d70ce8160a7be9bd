import type { JSX } from 'preact';
import type { Pending, PendingActivity } from '../../../client/types';
import { describeActivity, failingTaskText } from '../../../history/labels';
import { useNow } from '../../ui/app';
import { Code, Text } from '../../ui/text';

/** The activities that run now, the task queues without a worker, and why the turn does not progress. */
export function Running({ pending }: { pending: Pending }): JSX.Element | null {
  const now = useNow();
  const { failingTask, activities, idleQueues } = pending;
  if (failingTask === undefined && activities.length + idleQueues.length === 0) return null;
  return (
    <section class="running" aria-label="Right now">
      {idleQueues.map((queue) => (
        <p key={queue} class="banner ask">
          No worker takes work from the queue <Code of={queue} />. Start one with{' '}
          <code>countersign worker</code>.
        </p>
      ))}
      {failingTask !== undefined && (
        <p class="banner ask">
          This turn stands still: <Text of={failingTaskText(failingTask)} />
        </p>
      )}
      <ul>
        {activities.map((activity) => (
          <ActivityLine key={`${activity.what}${activity.callId ?? ''}`} {...{ activity, now }} />
        ))}
      </ul>
    </section>
  );
}

function ActivityLine({ activity, now }: { activity: PendingActivity; now: number }): JSX.Element {
  const { callId, name } = activity;
  return (
    <li>
      <span class="pulse" aria-hidden="true" /> {callId}{' '}
      <Code of={callId === undefined ? 'the model' : name} /> <Text of={describeActivity(activity, now)} />
    </li>
  );
}
