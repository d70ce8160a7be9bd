import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { CountersignError } from '../contract/errors';
import { TIMES } from '../contract/limits';
import { DEPLOYMENT, UPDATES, WORKFLOWS } from '../contract/names';
import { describeTurn } from '../history/read';
import { ask, detailsOf, isLimited, isNotFound, isSilence, isTransient } from '../history/server-errors';
import { buildNotFound, openOn, settledDeployment } from './builds';
import type { ClientContext } from './context';
import { LIST_PAGE, listPages } from './list';
import type { BuildId, Drained, DrainOptions } from './types';

const { VersioningBehavior } = temporal.api.enums.v1;

type Execution = temporal.api.workflow.v1.IWorkflowExecutionInfo;

/** The most turns that are asked at the same time. */
const AT_ONCE = 10;
/**
 * The average number of turns that are asked in a second. The limit is needed because each turn is prepared anew on the
 * current build.
 */
const PER_SECOND = 20;

/** An open turn or session of the build that is drained. */
interface Open {
  id: string;
  runId: string;
}

/**
 * Asks every open turn and session of a build to move to the current build. Each is asked at a random moment, and the
 * outcome of each is reported. A turn moves only while it waits for people and nobody has decided anything in it. A
 * session moves only between turns. Needs workers of both builds.
 */
export async function* drainBuild(
  context: ClientContext,
  { deployment = DEPLOYMENT, build }: BuildId,
  options: DrainOptions = {},
): AsyncGenerator<Drained> {
  await requireOther(context, { deployment, build });
  const all = await openOf(context, { deployment, build });
  const spreadMs = options.spreadMs ?? (all.length / PER_SECOND) * 1000;
  // `performance.now` does not change when somebody sets the time of day. A clock that is set back would keep turns
  // waiting.
  const started = performance.now();
  const waiting = all
    .map((open) => ({ open, at: started + Math.random() * spreadMs }))
    .sort((a, b) => a.at - b.at);
  const running = new Set<Promise<Ended>>();
  let silent = 0;
  const next = async (): Promise<Drained> => {
    const { self, drained } = await Promise.race(running);
    running.delete(self);
    silent = drained.outcome === 'held' && drained.why === 'no_worker' ? silent + 1 : 0;
    if (silent >= AT_ONCE)
      throw new CountersignError('still_waiting', `no worker of build ${build} answers`, {
        hint: 'what is open on it can move only while a worker of that build runs: start one, and drain again',
        data: { build },
      });
    return drained;
  };
  for (const { open, at } of waiting) {
    while (running.size >= AT_ONCE) yield next();
    await delay(Math.max(0, at - performance.now()));
    const self: Promise<Ended> = drainOne(context, { open, build }).then((drained) => ({ self, drained }));
    // The listing may fail before anybody waits for it. The error is then thrown later, by `next`.
    self.catch(() => undefined);
    running.add(self);
  }
  while (running.size > 0) yield next();
}

interface Ended {
  self: Promise<Ended>;
  drained: Drained;
}

/**
 * Checks that a build exists and is not the current one. @throws CountersignError `not_found`, `refused`
 * for the current build.
 */
async function requireOther(context: ClientContext, { deployment, build }: Required<BuildId>) {
  const found = await settledDeployment(context, deployment);
  if (found?.builds.some((one) => one.build === build) !== true) throw buildNotFound({ deployment, build });
  if (found.current !== build) return;
  throw new CountersignError('refused', `build ${build} is the current one: its turns belong there`, {
    hint: 'make another build current first: countersign deploy <build>',
    data: { deployment, build },
  });
}

async function openOf(context: ClientContext, build: BuildId) {
  const all: Open[] = [];
  await ask(context, 'listing turns', async () => {
    all.length = 0;
    for (const type of [WORKFLOWS.turn, WORKFLOWS.session])
      for await (const page of listPages(context.lister, openOn(build, type), LIST_PAGE))
        all.push(...page.map(({ workflowId: id, runId }) => ({ id, runId })));
  });
  return all;
}

/**
 * The most times that a turn is asked. A turn may agree and then stay, because a decision arrived at the same moment.
 */
const MOST_ASKED = 3;

async function drainOne(
  context: ClientContext,
  { open, build }: { open: Open; build: string },
): Promise<Drained> {
  const { id } = open;
  let { runId } = open;
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const held = await askToMove(context, { id, runId });
    if (held !== undefined) return { id, outcome: 'held', ...held };
    const now = await runAfter(context, { id, runId, build });
    if (now.outcome !== 'stayed') return { id, outcome: now.outcome };
    runId = now.runId;
  }
  return { id, outcome: 'held', why: 'busy', reason: 'it changed each time it was asked; drain again' };
}

type Held = Omit<Extract<Drained, { outcome: 'held' }>, 'id' | 'outcome'>;

/** Asks one turn or session to move. Undefined if the turn or session agreed, or if this run has ended. */
async function askToMove(context: ClientContext, { id, runId }: Open): Promise<Held | undefined> {
  const handle = context.client.workflow.getHandle(id, runId);
  try {
    await context.connection.withDeadline(Date.now() + TIMES.updateAnswer, () =>
      handle.executeUpdate<void, []>(UPDATES.move, { args: [] }),
    );
    return undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (error instanceof WorkflowUpdateFailedError) return heldBy(error);
    if (isSilence(error))
      return { why: 'no_worker', reason: 'no worker of this build answers: start one, and drain again' };
    // The server would refuse the next question, too.
    if (isLimited(error)) return { why: 'busy', reason: detailsOf(error) };
    // The workflow is about to end this run.
    if (isTransient(error)) return undefined;
    throw error;
  }
}

/** Why a turn stays. Undefined if its run ends at this moment. Whether the turn moved is read later. */
function heldBy({ cause }: WorkflowUpdateFailedError): Held | undefined {
  if (!(cause instanceof ApplicationFailure) || cause.type === 'AcceptedUpdateCompletedWorkflow')
    return undefined;
  return { why: 'busy', reason: cause.message };
}

/** The time in which a turn that agreed must begin its next run, and the time between two looks. */
const MOVES_MS = 5_000;
const LOOK_MS = 100;

/**
 * The outcome for a turn or session that agreed to move. If it continued as new because its history was long, its new
 * run may be on the old build.
 */
async function runAfter(
  context: ClientContext,
  { id, runId, build }: Open & { build: string },
): Promise<{ outcome: 'moved' | 'ended' } | { outcome: 'stayed'; runId: string }> {
  const until = performance.now() + MOVES_MS;
  for (;;) {
    const info = (await describeTurn(context.source, id))?.workflowExecutionInfo;
    const now = info?.execution?.runId;
    if (info == null || now == null || info.closeTime != null)
      return { outcome: now == null || now === runId ? 'ended' : 'moved' };
    if (now !== runId)
      return isPinnedTo(info, build) ? { outcome: 'stayed', runId: now } : { outcome: 'moved' };
    if (performance.now() >= until) return { outcome: 'stayed', runId };
    await delay(LOOK_MS);
  }
}

function isPinnedTo({ versioningInfo }: Execution, build: string) {
  const isPinned = versioningInfo?.behavior === VersioningBehavior.VERSIONING_BEHAVIOR_PINNED;
  return isPinned && versioningInfo.deploymentVersion?.buildId === build;
}
