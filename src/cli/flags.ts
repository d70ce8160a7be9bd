import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { defined } from '../contract/defined';
import { CountersignError, errorMessage, usageError } from '../contract/errors';
import { TASK_QUEUE } from '../contract/names';
import { isObject, type Json, type JsonObject } from '../contract/json';
import { readJson, describeIssues } from '../contract/read-json';
import { toMilliseconds } from '../tools/option-values';
import type { InboxQuery, ListQuery } from '../client';
import type { Keyboard } from './review/terminal';

/** What is typed or piped in. */
type Input = { keyboard: Keyboard | undefined };

/** The text itself. With `@` in front, the contents of the file with that name; `@-` reads stdin. */
export async function readText(value: string, option: string, stdin: Input): Promise<string> {
  if (!value.startsWith('@')) return value;
  const file = value.slice(1);
  try {
    const bytes = file === '-' ? await readStdin(stdin) : await readFile(file);
    // Bytes that are not UTF-8 would become another text.
    if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
    return bytes.toString('utf8');
  } catch (error) {
    const hint = 'After @ comes the name of a file, or - for stdin.';
    throw usageError(`${option} ${value}: the file cannot be read (${errorMessage(error)})`, hint);
  }
}

/** Reads arguments from JSON or, with `@`, from a file with JSON. */
export async function readArguments(value: string, stdin: Input): Promise<JsonObject> {
  const read = readValue(await readText(value, '--args', stdin), '--args');
  if (isObject(read)) return read;
  const hint = `Write an object with all arguments, such as --args '{"path":"a.txt"}'.`;
  throw usageError('--args is JSON but not an object', hint);
}

/** Reads a time such as `30s` or `5 minutes`, or a plain number of seconds. Returns milliseconds, at least `least`. */
export function readTime(value: string, option: string, least = 0): number {
  const hint = 'Write 30s, 5m or 2h; a plain number counts seconds.';
  try {
    const time = toMilliseconds(/^\d+$/.test(value) ? Number(value) * 1000 : value, 0);
    if (time >= least) return time;
  } catch {
    throw usageError(`${option} ${value}: this is not a time`, hint);
  }
  throw usageError(`${option} ${value}: this is too short`, hint);
}

/** Reads a moment: ISO 8601 (`2026-11-21`, `2026-11-21T08:00:00Z`), or a time ago (`7d`, `24h`). Returns ISO 8601. */
export function readMoment(value: string | undefined, option: string, now = Date.now()): string | undefined {
  if (value === undefined) return undefined;
  const ago = /^\d+ ?[a-z]+$/i.test(value) ? now - readTime(value, option) : NaN;
  const iso = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?$/.test(value) ? Date.parse(value) : ago;
  const moment = new Date(iso);
  if (!Number.isNaN(moment.getTime())) return moment.toISOString();
  const hint = 'Write a date such as 2026-11-21 or 2026-11-21T08:00:00Z, or how long ago: 24h, 7d.';
  throw usageError(`${option} ${value}: this is not a time`, hint);
}

/** A whole number of at least `least`. */
export function readCount(value: string, option: string, least = 1): number {
  const count = /^\d+$/.test(value) ? Number(value) : NaN;
  if (Number.isSafeInteger(count) && count >= least) return count;
  throw usageError(`${option} ${value}: this is not a whole number of at least ${least}`);
}

/**
 * The value of an option that is JSON.
 *
 * @throws CountersignError `usage` for text that is not JSON, or whose value would change when it is read.
 */
export function readValue(text: string, option: string): Json {
  const read = readJson(text);
  if (read.ok) return read.value;
  throw new CountersignError(
    'usage',
    `${option} cannot be taken as it is: ${describeIssues(read.issues)}`,
    `In a shell put single quotes around it, or write it to a file and say ${option} @file.json.`,
  );
}

async function readStdin({ keyboard }: Input): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of keyboard?.input ?? []) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** Adds the options that every command has, wherever they are typed. */
export function addSharedOptions(program: Command): Command {
  return program
    .option('--json', 'print JSON, where a command prints what it found or did; events as lines')
    .option('--as <name>', 'who acts (default: your name on this machine)')
    .option('--approvers <path>', 'the file that says who may decide (default: approvers.yaml)', collect);
}

/** The option `--deployment`. */
export function deploymentOption(): Option {
  return new Option('--deployment <name>', 'the deployment that builds belong to (default: countersign)');
}

/** The option `--agent`, for the agent of turns. */
export function agentOption(): Option {
  return new Option('--agent <name>', 'only turns of this agent');
}

/** The option `--tool`, for the tool of calls. */
function toolOption() {
  return new Option('--tool <name>', 'only calls of this tool');
}

/** The option `--since`, for the end of turns. `readMoment` reads it. */
export function sinceOption(): Option {
  return new Option(
    '--since <time>',
    'only turns that are open, or ended since this time: 2026-11-21, 24h, 7d',
  );
}

/** Options that choose past turns to read. */
export interface TurnFilters {
  agent?: string;
  tool?: string;
  since?: string;
  limit?: string;
}

/** Adds these options to a command. `most`: the number of turns that are read unless `--limit` says another. */
export function addTurnFilters(command: Command, most: number): Command {
  return command
    .addOption(sinceOption())
    .addOption(agentOption())
    .addOption(toolOption())
    .option('--limit <count>', `the most turns to read, newest first (default: ${most})`);
}

/** @throws CountersignError `usage` for a value that cannot be read. */
export function readTurnQuery({ agent, since, limit }: TurnFilters, most: number): ListQuery {
  return {
    agent,
    since: readMoment(since, '--since'),
    limit: limit === undefined ? most : readCount(limit, '--limit'),
  };
}

/** Adds the options of a command that starts turns. */
export function addStartOptions(command: Command): Command {
  return command
    .option(
      '--queue <name>',
      `the task queue of the worker that has the agent (default: that of the config here, or ${TASK_QUEUE})`,
    )
    .option(
      '--meta <name=value>',
      'a fact for the tools, such as tenant=acme; repeatable, never encrypted',
      collect,
    );
}

/**
 * Refuses options that would do nothing.
 *
 * @throws CountersignError `usage` for the first that was given; `why` follows its name.
 */
export function refuseOptions(given: object, why: string, hint?: string): void {
  const [option] = Object.keys(defined(given));
  if (option === undefined) return;
  const name = option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw usageError(`--${name} ${why}`, hint);
}

/** Refuses `--approvers` for a command whose config names that file: workers read no other. */
export function refuseApprovers({ approversFile: approvers }: { approversFile?: string }): void {
  refuseOptions({ approvers }, 'does nothing here: the config names the file');
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** Reads facts as `name=value`, each name once. The client checks the names and values. */
export function readFacts(given: readonly string[]): Record<string, string> {
  const facts = new Map<string, string>();
  for (const text of given) {
    const at = text.indexOf('=');
    if (at < 1)
      throw usageError(`--meta ${text}: this is not a fact`, 'Write name=value, such as tenant=acme.');
    const name = text.slice(0, at);
    if (facts.has(name)) throw usageError(`--meta ${name} is given twice`);
    facts.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(facts);
}

/** Options that choose a part of the inbox. */
export interface InboxFilters {
  tool?: string;
  agent?: string;
  olderThan?: string;
  limit?: string;
}

/** Adds these options to a command. `limit`: the description of `--limit`. */
export function addInboxFilters(command: Command, limit = 'the most items to take (default: 100)'): Command {
  return command
    .addOption(toolOption())
    .addOption(agentOption())
    .option('--older-than <time>', 'only what has waited longer than this, such as 10m')
    .option('--limit <count>', limit);
}

/** @throws CountersignError `usage` for a value that cannot be read. */
export function readInboxQuery({ tool, agent, olderThan, limit }: InboxFilters): InboxQuery {
  return {
    tool,
    agent,
    olderThanMs: olderThan === undefined ? undefined : readTime(olderThan, '--older-than'),
    limit: limit === undefined ? undefined : readCount(limit, '--limit'),
  };
}
