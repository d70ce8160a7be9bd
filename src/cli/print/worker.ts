import { relative } from 'node:path';
import type { Agent } from '../../tools/define-agent';
import type { Config } from '../../tools/define-config';
import type { Screen } from './screen';
import { factLines, type Cell } from './table';
import { visible } from './visible';

/** What is told about a worker that has started. */
export interface WorkerFacts {
  config: Config;
  file: string;
  address: string;
  namespace: string;
  queues: readonly string[];
  /** Temporal's own UI. */
  uiUrl?: string;
}

/** Where things are: server, namespace, queues, agents and their tools by safety. */
export function workerLines(facts: WorkerFacts, { width, style }: Screen): string[] {
  const { config, file, address, namespace, queues, uiUrl } = facts;
  const ui: [string, Cell][] =
    uiUrl === undefined ? [] : [['Temporal UI', { text: uiUrl, paint: style.link }]];
  const lines: [string, Cell][] = [
    ['server', { text: address }],
    ...ui,
    ['namespace', { text: visible(namespace) }],
    [queues.length === 1 ? 'task queue' : 'task queues', { text: visible(queues.join(', ')) }],
    ['config', { text: visible(shortPath(file)) }],
  ];
  const place = { width, quiet: style.quiet };
  return [
    ...factLines(lines, place),
    ...config.agents.flatMap((agent) => ['', ...factLines(agentFacts(agent), place)]),
  ];
}

function agentFacts(agent: Agent): [string, Cell][] {
  const bySafety = (safety: string): string =>
    agent.registry
      .list()
      .filter((tool) => tool.safety === safety)
      .map(({ name }) => name)
      .join(', ');
  const tools: [string, Cell][] = [
    ['runs freely', { text: bySafety('safe') }],
    ['is logged', { text: bySafety('cautious') }],
    ['asks first', { text: bySafety('dangerous') }],
  ];
  return [
    ['agent', { text: agent.name }],
    ['model', { text: visible(agent.model.id) }],
    ...tools.filter(([, { text }]) => text !== ''),
  ];
}

function shortPath(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith('..') ? file : path;
}
