import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { hrefOf } from '../model/route';
import { Text } from '../parts/text';
import type { Notice } from '../state/desk';

/** What went well goes by itself; what failed stays until it is read. */
const STAYS_MS = 8_000;

/** The last notice, read out where a screen reader listens. */
export function Notices({ notice, close }: { notice: Notice | undefined; close: () => void }): JSX.Element {
  useEffect(() => {
    if (notice === undefined || notice.tone === 'bad') return;
    const timer = setTimeout(close, STAYS_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <div class="notices" role="status" aria-live="polite">
      {notice !== undefined && (
        <p class={`notice ${notice.tone}`}>
          <span>
            <Text of={notice.text} />
          </span>
          {notice.to !== undefined && <a href={hrefOf(notice.to.route)}>{notice.to.label}</a>}
          <button class="button plain" type="button" aria-label="Close this notice" onClick={close}>
            ✕
          </button>
        </p>
      )}
    </div>
  );
}
