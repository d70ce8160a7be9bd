import type { Build, Builds, Countersign } from '../../client';
import { DEPLOYMENT } from '../../contract/names';
import { shellWord } from '../../contract/text/shell-word';
import { counted } from '../../history/labels';
import { failed, type Finding } from './machine';

/** Checks which build of a deployment is the current one, and which turns and sessions keep the other builds in use. */
export async function checkBuilds(client: Pick<Countersign, 'builds'>, deployment: string): Promise<Finding> {
  const name = `builds of ${deployment}`;
  try {
    const builds = await client.builds(deployment);
    if (builds === undefined) return { name, state: 'ok', detail: 'none: workers run without a build id' };
    return judgeBuilds(name, builds);
  } catch (error) {
    return failed(name, error);
  }
}

function judgeBuilds(name: string, { deployment, current, builds }: Builds): Finding {
  const detail = [
    ...(current === null ? ['none is current: turns begin on workers without a build id'] : []),
    ...builds.filter(isShown).map(buildText),
  ].join('; ');
  const held = builds.find((build) => build.state === 'draining' && build.turns + build.sessions > 0);
  if (held === undefined) return { name, state: 'ok', detail };
  const of = deployment === DEPLOYMENT ? '' : ` --deployment ${shellWord(deployment)}`;
  const todo = `\`countersign drain ${shellWord(held.build)}${of}\` moves what only waits. Keep a worker of that build until nothing is open on it.`;
  return { name, state: 'warning', detail, todo };
}

/** Whether a build is shown. A drained build without turns and sessions is left out. */
function isShown({ state, turns, sessions }: Build): boolean {
  return state !== 'drained' || turns + sessions > 0;
}

function buildText({ build, state, turns, waiting, inDoubt, sessions }: Build): string {
  const why = [
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(inDoubt > 0 ? [`${inDoubt} in doubt`] : []),
  ].join(', ');
  const open = `${counted(turns, 'turn')} open${why === '' ? '' : ` (${why})`}`;
  return `${build} is ${state}: ${open}${sessions > 0 ? `, ${counted(sessions, 'session')}` : ''}`;
}
