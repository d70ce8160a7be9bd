import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { absolute, median, type Measurement } from '../figure';
import { runTurn } from './step';

const ROUNDS = 5;
const EVENTS = 4000;
const lib = join(__dirname, '..', '..', 'lib');

/** A long turn as lines on a terminal once its history is there, in a new process each time: nothing is warm. */
export const timeline: Measurement = {
  name: 'timeline',
  async run(bench) {
    const turn = await runTurn(bench, 'long');
    const { firstRunId } =
      (await bench.client.workflow.getHandle(turn).describe()).raw.workflowExecutionInfo ?? {};
    const first = await bench.client.workflow.getHandle(turn, firstRunId ?? '').fetchHistory();
    const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
    const file = join(directory, 'history.json');
    writeFileSync(file, historyToJSON({ events: (first.events ?? []).slice(0, EVENTS) }));
    const samples = Array.from({ length: ROUNDS }, () =>
      Number(execFileSync(process.execPath, ['-e', TELL, lib, file], { encoding: 'utf8' })),
    );
    rmSync(directory, { recursive: true, force: true });
    bench.say(`a timeline of ${Math.min(EVENTS, first.events?.length ?? 0)} events`);
    return [absolute('timeline of 4,000 events', median(samples), { most: 300, unit: 'ms' })];
  },
};

const TELL = `
const [, lib, file] = process.argv;
const { parseExport } = require(lib + '/history/exported.js');
const { turnEventsOfRuns } = require(lib + '/history/exported.js');
const { timelineOf } = require(lib + '/history/timeline.js');
const { timelineLines } = require(lib + '/cli/print/timeline.js');
const { createScreen } = require(lib + '/cli/print/screen.js');
const runs = parseExport(require('fs').readFileSync(file, 'utf8'));
const quiet = { write: () => undefined };
const screen = createScreen(quiet, quiet, {});
const started = performance.now();
turnEventsOfRuns(runs).then((events) => {
  screen.lines(timelineLines(timelineOf(events), { screen, now: Date.now(), command: (args) => args }));
  console.log(performance.now() - started);
});
`;
