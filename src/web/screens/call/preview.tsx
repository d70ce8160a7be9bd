import type { JSX } from 'preact';
import type { FilePlan, Hunk, Preview } from '../../../contract/plan';
import { SeenText } from '../../parts/seen';
import { Text } from '../../parts/text';
import { DiffLines, HunkLines } from './diff';

interface PreviewProps {
  preview: Preview;
  /** Ids of the hunks that are ticked. */
  ticked: readonly string[];
  /** Absent where nothing can be chosen any more. */
  toggle?: (id: string) => void;
}

/** What a call will do: the diff of a file with a tick box a hunk, or its text. */
export function PreviewView({ preview, ticked, toggle }: PreviewProps): JSX.Element {
  const { text, plan } = preview;
  if (plan !== undefined && plan.targetHash !== '') return <Plan {...{ plan, ticked, toggle }} />;
  const shown = text.replace(/\n$/, '');
  if (/^@@ -\d/m.test(text)) return <DiffLines lines={shown.split('\n')} />;
  return (
    <pre class="code preview-text">
      <SeenText of={shown} />
    </pre>
  );
}

type PlanProps = Pick<PreviewProps, 'ticked'> & {
  plan: FilePlan;
  toggle: PreviewProps['toggle'] | undefined;
};

function Plan({ plan, ticked, toggle }: PlanProps): JSX.Element {
  const added = countOf(plan, '+');
  const removed = countOf(plan, '-');
  return (
    <div class="diff">
      <p class="diff-file">
        <code>
          <Text of={plan.path} />
        </code>
        {plan.baseHash === null && <span class="chip good">new file</span>}
        {plan.encoding === 'latin1' && <span class="chip quiet">not UTF-8: one character a byte</span>}
        <span class="diff-count">
          <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
        </span>
      </p>
      {plan.hunks.map((hunk) => (
        <HunkView
          key={hunk.id}
          {...{ hunk, toggle, isTicked: ticked.includes(hunk.id), canChoose: plan.hunks.length > 1 }}
        />
      ))}
    </div>
  );
}

interface HunkProps {
  hunk: Hunk;
  isTicked: boolean;
  canChoose: boolean;
  toggle: PreviewProps['toggle'] | undefined;
}

function HunkView({ hunk, isTicked, canChoose, toggle }: HunkProps): JSX.Element {
  const range = `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`;
  return (
    <section class={`hunk${isTicked ? '' : ' left-out'}`} aria-label={`Hunk ${hunk.id}`}>
      <div class="hunk-head">
        {canChoose && toggle !== undefined ? (
          <label>
            <input type="checkbox" checked={isTicked} onChange={() => toggle(hunk.id)} />
            Hunk {hunk.id}
          </label>
        ) : (
          <span>Hunk {hunk.id}</span>
        )}
        <code class="quiet">{range}</code>
        {!isTicked && <span class="chip quiet">left out</span>}
      </div>
      <HunkLines hunk={hunk} />
    </section>
  );
}

function countOf(plan: FilePlan, mark: string): number {
  return plan.hunks.flatMap(({ lines }) => lines).filter((line) => line.startsWith(mark)).length;
}
