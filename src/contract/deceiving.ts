import type { JsonObject } from './json';
import { leavesOf } from './leaves';
import type { Preview } from './plan';
import { countDeceiving } from './visible';

/** Characters that do not show, or would be obeyed, and words with letters that pass for others. */
export interface Deceiving {
  hidden: number;
  alike: number;
}

/** How much of what an approver is shown of a call would deceive: in its arguments, their names, and its preview. */
export function deceivingIn(shown: { arguments: JsonObject; preview?: Preview }): Deceiving {
  const counts = textsOf(shown).map(countDeceiving);
  return {
    hidden: counts.reduce((sum, { hidden }) => sum + hidden, 0),
    alike: counts.reduce((sum, { alike }) => sum + alike, 0),
  };
}

function textsOf({ arguments: args, preview }: Parameters<typeof deceivingIn>[0]): string[] {
  const leaves = leavesOf(args).flatMap(({ path, value }) => [path, typeof value === 'string' ? value : '']);
  return [...leaves, ...previewTexts(preview)];
}

/** Where a plan is shown hunk by hunk, its text is not. */
function previewTexts(preview: Preview | undefined): string[] {
  if (preview?.plan === undefined || preview.plan.targetHash === '') return [preview?.text ?? ''];
  return [preview.plan.path, preview.plan.hunks.flatMap(({ lines }) => lines).join('\n')];
}
