import type { TurnEvent } from '../../history/events';
import { diffLines } from '../print/diff';
import { eventLines } from '../print/event';
import type { Screen } from '../print/screen';
import { SCENE } from './scene';
import { changesBetween, type Snapshot } from './workspace';

/** What is told after the turn. */
export interface Epilogue {
  before: Snapshot;
  after: Snapshot;
  timeline: readonly TurnEvent[];
}

/** What changed on disk, the timeline, and how to do the same by hand. */
export function epilogueLines({ before, after, timeline }: Epilogue, screen: Screen): string[] {
  const { strong } = screen.style;
  const changes = changesBetween(before, after);
  return [
    strong('What changed on disk'),
    ...(changes === '' ? ['nothing'] : diffLines(changes, screen.style)),
    '',
    strong('The timeline of the turn, read back from its history'),
    ...timeline.flatMap((event) => (event.type === 'turn_ended' ? [] : eventLines(event, screen))),
    '',
    strong('The same by hand'),
    ...byHand(screen),
  ];
}

function byHand({ style }: Screen): string[] {
  const terminals: [string, string[]][] = [
    [
      'in one terminal: server and worker, until Ctrl-C',
      [
        'cp -r examples/workspace /tmp/invoices',
        'WORKSPACE=/tmp/invoices npx countersign dev examples/my-agent.ts',
      ],
    ],
    [
      'in another: a turn, what waits, and your decision',
      [
        `npx countersign run ${SCENE.agent} '${SCENE.prompt}' --detach`,
        'npx countersign inbox',
        'npx countersign show <turn>/<call>',
        `npx countersign approve <turn>/<call> --set 'edits.0.new_text=${SCENE.edited}'`,
        'npx countersign deny <turn>/<call> --reason "not yet"',
      ],
    ],
    [
      "or with Temporal's own command line, even while no worker is up",
      [
        `temporal workflow signal --workflow-id <turn> --name approval --input '{"callId":"3.1","decision":"approved"}'`,
      ],
    ],
  ];
  return terminals.flatMap(([what, commands]) => [
    style.quiet(`# ${what}`),
    ...commands.map((command) => style.link(command)),
  ]);
}
