import { useState } from 'preact/hooks';
import { day, relative } from '../../contract/text/times';
import type { DecidedAnswer, InboxPage, PauseBody } from '../../server/api';
import { send } from '../http';
import { hasFailed } from '../model/decided';
import { grouped } from '../model/inbox';
import { useAppContext, useNow, usePolled } from '../ui/app';
import { FormDialog, Select, Opener } from '../ui/widgets';

/** The right pane while nothing is open: what waits, what this person decided today, and the switch that pauses. */
export function Today({ page }: { page: InboxPage }) {
  const { session } = useAppContext();
  const now = useNow(10_000);
  const { data: decided } = usePolled<DecidedAnswer>('api/decided');
  const today = (decided?.calls ?? []).filter(({ at }) => day(at) === day(new Date(now).toISOString()));
  const failed = today.filter(hasFailed);
  const oldest = page.rows.map(({ since }) => since).sort()[0];
  const facts: readonly (readonly [string, string, boolean])[] = [
    ['Waits', grouped(page.waiting), true],
    ['In doubt', grouped(page.doubts), page.doubts > 0],
    ['Oldest here', oldest === undefined ? '' : relative(oldest, now), oldest !== undefined],
    ['Decided by you today', grouped(today.length), true],
    ['Of these failed', grouped(failed.length), failed.length > 0],
  ];
  return (
    <div class="today">
      <h2>Today</h2>
      <dl class="facts">
        {facts.map(
          ([name, value, isShown]) =>
            isShown && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
      <p>
        <a href="#/decided">Decided by you</a> · <a href="#/grants">Grants</a>
      </p>
      {page.matching > 0 && <p class="quiet">Choose one, or press j.</p>}
      {session.role !== 'viewer' && <PauseSwitch page={page} />}
    </div>
  );
}

/** A button that holds calls on every worker, after the person has said which and why. */
function PauseSwitch({ page }: { page: InboxPage }) {
  const { session, notify, fail } = useAppContext();
  const [body, setBody] = useState<PauseBody>({ reason: '' });
  const names = (all: string, of: InboxPage['tools']): [string, string][] => [
    ['', all],
    ...of.map(({ name }): [string, string] => [name, name]),
  ];
  const pause = async (close: () => void) => {
    const reply = await send('POST', 'api/pauses', { body });
    if (!reply.ok) return fail(reply);
    close();
    notify({ text: 'In effect: no worker starts these calls now.', tone: 'good' });
  };
  return (
    <p>
      <Opener
        label="Pause calls …"
        dialog={(close) => (
          <FormDialog
            name="pause"
            title="Pause calls"
            label="Pause"
            isAllowed={body.reason.trim() !== ''}
            isDanger
            act={() => void pause(close)}
            close={close}
          >
            <p class="quiet">
              No worker starts such a call, approved or not. Requests wait on, and may be decided.
              {session.role !== 'admin' && ' Only an admin ends a pause.'}
            </p>
            <label>
              Of{' '}
              <Select
                id="pause-agent"
                label="Agent"
                value={body.agent ?? ''}
                options={names('all agents', page.agents)}
                choose={(agent) => setBody({ ...body, agent: agent || undefined })}
              />
            </label>
            <label>
              Calls of{' '}
              <Select
                id="pause-tool"
                label="Tool"
                value={body.tool ?? ''}
                options={names('all tools with an effect', page.tools)}
                choose={(tool) => setBody({ ...body, tool: tool || undefined })}
              />
            </label>
            <label>
              Why{' '}
              <input
                id="pause-reason"
                dir="auto"
                required
                maxLength={200}
                value={body.reason}
                onInput={({ currentTarget }) => setBody({ ...body, reason: currentTarget.value })}
              />
            </label>
          </FormDialog>
        )}
      />
    </p>
  );
}
