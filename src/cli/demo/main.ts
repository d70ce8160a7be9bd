import { rm } from 'node:fs/promises';
import { CountersignError } from '../../contract/errors';
import {
  askAtTerminal,
  buildStage,
  fixedAnswers,
  type Play,
  play,
  readDemoOptions,
  type Stage,
} from './play';
import { diffOfSnapshots, copyWorkspace, expected, SCENE, snapshot } from './scene';
import { EXIT, exitCodeOf } from '../exit-codes';
import { createScreen, createStyle, type Screen, wantsColor } from '../print/screen';
import { errorLines } from '../report-error';
import type { TurnEvent } from '../../history/events';
import { diffLines } from '../../history/preview-lines';
import { eventLines } from '../print/event';

/** `npm run demo`: one turn from nothing to a decided change, in this process. Loading this file runs the demo. */
async function demo(options: ReturnType<typeof readDemoOptions>, screen: Screen) {
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const { root, remove } = await copyWorkspace();
  const note = (text: string) => screen.note(screen.style.quiet(text));
  let stage: Stage | undefined;
  try {
    note(`the agent works on a copy: ${root}`);
    stage = await buildStage({ root, env: process.env, note });
    stop.signal.throwIfAborted();
    if (stage.uiUrl !== undefined) note(`Temporal's own UI, while this runs: ${stage.uiUrl}`);
    const answer = options.answer
      ? fixedAnswers(options.answer)
      : askAtTerminal(stop.signal, () => stop.abort());
    await perform(stage, root, { answer, screen, signal: stop.signal });
  } finally {
    await stage?.close();
    if (options.answer !== undefined || stop.signal.aborted) await remove();
    else await rm(`${root}/../state`, { recursive: true, force: true });
  }
}

async function perform(stage: Stage, root: string, how: Pick<Play, 'answer' | 'screen' | 'signal'>) {
  const { screen } = how;
  const before = await snapshot(root);
  screen.line();
  const played = await play({ ...stage, ...how });
  const after = await snapshot(root);
  const timeline = await stage.client.timeline(played.turn);
  screen.lines(epilogueLines(diffOfSnapshots(before, after), timeline, screen));
  judge(played, diffOfSnapshots(expected(before, played.text), after), screen);
}

function judge({ text }: Awaited<ReturnType<typeof play>>, wrong: string, screen: Screen) {
  if (wrong !== '') {
    throw new CountersignError(
      'failed',
      `the files are not what was decided:\n${wrong}`,
      'This is a mistake of ours; please report it.',
    );
  }
  const what =
    text === undefined ? 'no file was touched' : `${SCENE.file} says "${text}", and nothing else changed`;
  screen.lines(['', screen.style.good(`Checked on disk: ${what}.`)]);
}

async function main(): Promise<number> {
  const screen = createScreen(process.stdout, process.stderr, process.env);
  try {
    const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
    await demo(readDemoOptions(process.argv.slice(2), isTerminal), screen);
    return EXIT.done;
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') {
      screen.note('');
      screen.note('ended; server and worker are stopped');
      return EXIT.interrupted;
    }
    const style = createStyle(wantsColor(process.stderr, process.env));
    const debug = (process.env['COUNTERSIGN_DEBUG'] ?? '') !== '';
    for (const line of errorLines(error, { style, debug, typed: (text) => text })) screen.note(line);
    return exitCodeOf(error);
  }
}

void main().then((code) => {
  process.exitCode = code;
});

/** The last lines of the demo: the change on disk, and the timeline. */
function epilogueLines(changes: string, timeline: readonly TurnEvent[], screen: Screen): string[] {
  const { strong } = screen.style;
  return [
    strong('What changed on disk'),
    ...(changes === '' ? ['nothing'] : diffLines(changes, screen.style)),
    '',
    strong('The timeline of the turn, read back from its history'),
    ...timeline.flatMap((event) => (event.type === 'turn_ended' ? [] : eventLines(event, screen))),
    '',
    'The same by hand: docs/getting-started.md',
  ];
}
