import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { CallView } from '../../../history/view-types';
import type { CallDetails } from '../../../server/api';
import { hrefOf } from '../../model/route';
import { phaseWords } from '../../model/words';
import { Chip } from '../../parts/chip';
import { Text } from '../../parts/text';
import { goTo } from '../../state/use-route';

/** Which call this is, and the way back and to its turn. */
export function CallHead({
  details,
  call,
  children,
}: {
  details: CallDetails;
  call: CallView;
  children?: ComponentChildren;
}): JSX.Element {
  const { view } = details;
  const [words, tone] = phaseWords(call.phase, call.result?.success);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => (isFocusLost() ? title.current?.focus() : undefined), []);
  return (
    <header class="call-head">
      <p class="crumbs">
        <button class="button plain back" type="button" onClick={() => goTo({ at: 'inbox' })}>
          ← Inbox
        </button>
        <span>
          <Text of={view.agent} />
        </span>
        <a href={hrefOf({ at: 'turn', turn: view.turn })}>
          <Text of={view.turn} />
        </a>
        <span>call {call.callId}</span>
      </p>
      <h2 class="call-title" tabIndex={-1} ref={title}>
        <code>
          <Text of={call.tool} />
        </code>
        <Chip tone={tone}>{words}</Chip>
      </h2>
      {children}
    </header>
  );
}

/** Whoever opened this by a link that is hidden now, or decided the one before, would start from the top of the page. */
function isFocusLost(): boolean {
  const { activeElement } = document;
  return (
    activeElement === null || activeElement === document.body || activeElement.getClientRects().length === 0
  );
}
