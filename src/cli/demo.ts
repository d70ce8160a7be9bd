/** `npm run demo`: one turn from nothing to a decided change, in this process. Loading this file runs it. */
import { rm } from 'node:fs/promises';
import { CountersignError } from '../contract/errors';
import { askAtTerminal, fixedAnswers, type Answerer } from './demo/ask';
import { epilogueLines } from './demo/epilogue';
import { readDemoOptions, type DemoOptions } from './demo/options';
import { play, type Played } from './demo/play';
import { expected, mismatch, SCENE } from './demo/scene';
import { buildStage, type Stage } from './demo/stage';
import { copyWorkspace, snapshot } from './demo/workspace';
import { EXIT, exitCodeOf } from './exit-codes';
import { createScreen, type Screen } from './print/screen';
import { createStyle, wantsColor } from './print/style';
import { errorLines } from './report-error';

async function demo(options: DemoOptions, screen: Screen): Promise<void> {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const { root, remove } = await copyWorkspace();
  const note = (text: string): void => screen.note(screen.style.quiet(text));
  let stage: Stage | undefined;
  try {
    note(`the agent works on a copy: ${root}`);
    stage = await buildStage({ root, env: process.env, note });
    stop.signal.throwIfAborted();
    if (stage.uiUrl !== undefined) note(`Temporal's own UI, while this runs: ${stage.uiUrl}`);
    const answer = answererOf(options, stop);
    await perform(stage, { root, answer, signal: stop.signal }, screen);
  } finally {
    await stage?.close();
    if (options.answer !== undefined || stop.signal.aborted) await remove();
    else await rm(`${root}/../state`, { recursive: true, force: true });
  }
}

function answererOf({ answer }: DemoOptions, stop: AbortController): Answerer {
  if (answer !== undefined) return fixedAnswers(answer);
  return askAtTerminal(process.env, stop.signal, () => stop.abort());
}

interface Performance {
  root: string;
  answer: Answerer;
  signal: AbortSignal;
}

async function perform(stage: Stage, { root, answer, signal }: Performance, screen: Screen): Promise<void> {
  const before = await snapshot(root);
  screen.line();
  const played = await play({ ...stage, answer, screen, signal });
  const after = await snapshot(root);
  const timeline = await stage.desk.timeline(played.turn);
  screen.lines(epilogueLines({ before, after, timeline }, screen));
  judge(played, mismatch(expected(before, played.text), after), screen);
}

function judge({ text }: Played, wrong: string, screen: Screen): void {
  if (wrong !== '') {
    throw new CountersignError('turn_failed', `the files are not what was decided:\n${wrong}`, {
      hint: 'This is a mistake of ours; please report it.',
    });
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
    if (isAbort(error)) {
      screen.note('\nended; server and worker are stopped');
      return EXIT.interrupted;
    }
    const style = createStyle(wantsColor(process.stderr, process.env));
    const debug = (process.env['COUNTERSIGN_DEBUG'] ?? '') !== '';
    for (const line of errorLines(error, { style, debug })) screen.note(line);
    return exitCodeOf(error);
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

void main().then((code) => {
  process.exitCode = code;
});
