import { useEffect } from 'preact/hooks';
import { relative } from '../../contract/text/times';
import { counted } from '../../history/labels';
import type { GrantRow, HeldPause } from '../../server/api';
import { send } from '../http';
import { useAppContext, useNow, usePolled } from '../ui/app';
import { Text } from '../ui/text';
import { SureButton } from '../ui/widgets';

/** What is paused, and what may run without asking, above every screen. */
export function Chips() {
  const { inbox, session } = useAppContext();
  const grants = useGrants();
  const { paused = [] } = inbox.pulse ?? {};
  return (
    <>
      <div class="chips-line" role="status" aria-live="polite" aria-label="What is paused">
        {paused.map((pause) => (
          <span class="pause" key={pause.text}>
            <Text of={pause.text} /> {pause.of && session.role === 'admin' && <Resume of={pause.of} />}
          </span>
        ))}
      </div>
      {grants.length > 0 && <Grants of={grants} />}
    </>
  );
}

/** How many grants are named, each with a button that revokes it. */
const MOST = 2;

function Grants({ of }: { of: readonly GrantRow[] }) {
  const now = useNow(10_000);
  const { session } = useAppContext();
  const more = of.length - MOST;
  return (
    <section class="chips-line" aria-label="What may run without asking">
      {of.slice(0, MOST).map(({ id, tool, by, used, times, until }) => (
        <span class="granted" key={id}>
          <a href="#/grants">
            <Text of={tool} /> runs without asking
          </a>{' '}
          {counted(times - used, 'time')} more, ends {relative(until, now)}{' '}
          {session.role !== 'viewer' && <Revoke id={id} what={`${tool} by ${by}`} />}
        </span>
      ))}
      {more > 0 && <a href="#/grants">{counted(more, 'grant')} more</a>}
    </section>
  );
}

/** After how many milliseconds the grants are read again. */
const AGAIN_MS = 60_000;

/** The grants that still allow something. They change seldom, and somebody who gives one sees it at once. */
function useGrants(): readonly GrantRow[] {
  const { notices } = useAppContext();
  const { data = [], look } = usePolled<GrantRow[]>('api/grants', AGAIN_MS);
  useEffect(() => void look(), [notices]);
  return data.filter(({ used, times }) => used < times);
}

interface EndProps {
  label: string;
  path: string;
  body: object;
  done: string;
  /** Called after the answer. */
  then?: () => Promise<void>;
}

/** A button that ends something. The first click only asks. */
function End({ label, path, body, done, then }: EndProps) {
  const { notify, fail } = useAppContext();
  const end = async () => {
    const reply = await send('POST', path, { body });
    if (!reply.ok) fail(reply);
    else notify({ text: done, tone: 'good' });
    await then?.();
  };
  return <SureButton label={label} act={() => void end()} />;
}

function Resume({ of }: { of: NonNullable<HeldPause['of']> }) {
  return <End label="Resume" path="api/pauses/end" body={of} done="Resumed: held calls start again." />;
}

interface RevokeProps extends Pick<EndProps, 'then'> {
  id: string;
  what: string;
}

/** A button that revokes a grant. */
export function Revoke({ id, what, then }: RevokeProps) {
  const done = `Revoked: ${what}. Such calls ask again.`;
  return <End label="Revoke" path={`api/grants/${id}/revocation`} body={{}} {...{ done, then }} />;
}
