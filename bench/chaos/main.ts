/**
 * `npm run bench:chaos -- --minutes 10`: kills workers, MCP servers and the server at random, freezes workers, and pauses,
 * grants, revokes and decides meanwhile. Turns of both durabilities, child turns and sessions go on under it. What really
 * ran is in a ledger outside. Exit code 1 where that breaks a promise, and where something never ended.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { connect, type Countersign, CountersignError } from '../../lib/client';
import { resolveEngine } from '../../lib/engine/resolve';
import { startServer } from '../../lib/engine/server';
import { writeLock } from '../mcp-lock';
import { Crew } from './crew';
import { judge, readLedger } from './judge';
import { People } from './people';
import { drawScript, mcpServers, QUEUE } from './script';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, open: { type: 'string', default: '16' } },
});
const WORKERS = 2;
const SESSIONS = 3;
/** Of what the faults left, once they are over. */
const ENDING_MS = 300_000;

const say = (line: string): void => void process.stderr.write(`chaos: ${line}\n`);
const directory = mkdtempSync(join(tmpdir(), 'countersign-chaos-'));
const ledger = join(directory, 'ledger');
const upTo = (ms: number): Promise<void> => delay(Math.random() * ms);

let tags = 0;
const drawTag = (): string => `tag-${(tags += 1)}`;

/** Does something again and again while `goesOn`; what fails is done again. */
async function repeat(goesOn: () => boolean, everyMs: number, work: () => Promise<unknown>): Promise<void> {
  while (goesOn()) {
    await work().catch(() => undefined);
    await upTo(2 * everyMs);
  }
}

async function startPlace() {
  const engine = await resolveEngine({ ...process.env, TEMPORAL_ADDRESS: '' }, { progress: say });
  if (engine.kind !== 'binary')
    throw new Error('it starts a server of its own, and needs the temporal command line');
  const options = { binary: engine.binary, dbFile: join(directory, 'server.db'), headless: true };
  let server = await startServer(options);
  const port = Number(server.address.split(':')[1]);
  const restart = async (): Promise<void> => {
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    await upTo(3000);
    server = await startServer({ ...options, port });
  };
  return { address: server.address, restart, stop: () => server.stop() };
}

async function main(): Promise<number> {
  mkdirSync(join(directory, 'state'), { mode: 0o700 });
  writeFileSync(ledger, '');
  const lock = join(directory, 'lock');
  await writeLock(lock, mcpServers(ledger));
  const place = await startPlace();
  const crew = new Crew(
    WORKERS,
    [place.address, ledger, join(directory, 'state'), lock],
    join(directory, 'workers.log'),
  );
  const connection = await Connection.connect({ address: place.address });
  const raw = new Client({ connection });
  const client = await connect({ client: raw });
  try {
    return await run({ place, crew, raw, client });
  } finally {
    crew.end();
    await client.close();
    await connection.close();
    await place.stop();
  }
}

interface Stage {
  place: Awaited<ReturnType<typeof startPlace>>;
  crew: Crew;
  raw: Client;
  client: Countersign;
}

async function run({ place, crew, raw, client }: Stage): Promise<number> {
  const people = new People(client, raw);
  const turns = new Set<string>();
  const sent = new Map<string, Set<string>>();
  const faults = { worker: 0, frozen: 0, program: 0, server: 0 };
  const ends = performance.now() + Number(values.minutes) * 60_000;
  const isStormy = (): boolean => performance.now() < ends;
  let isOver = false;

  const strike = async (): Promise<void> => {
    const drawn = Math.random();
    if (drawn < 0.6) {
      if (crew.kill()) faults.worker++;
    } else if (drawn < 0.72) {
      faults.frozen++;
      await crew.freeze();
    } else if (drawn < 0.92) {
      faults.program++;
      crew.killProgram();
    } else {
      faults.server++;
      await place.restart();
    }
  };
  const startTurn = async (): Promise<void> => {
    const running = await raw.workflow.count(`WorkflowType = 'agentTurn' AND ExecutionStatus = 'Running'`);
    if (running.count >= Number(values.open)) return;
    const id = `chaos-${turns.size}`;
    turns.add(id);
    const agent = Math.random() < 0.5 ? 'step' : 'gate';
    const start = { agent, id, prompt: drawScript(drawTag), taskQueue: QUEUE };
    // Where the answer was lost, it may run.
    for (let tries = 0; tries < 30; tries++)
      try {
        await client.start(start);
        return;
      } catch (error) {
        if (error instanceof CountersignError && error.code === 'exists') return;
        await delay(1000);
      }
    turns.delete(id);
  };
  const speak = async (): Promise<void> => {
    const n = Math.floor(Math.random() * SESSIONS);
    const session = client.session(`chaos-session-${n}`, {
      agent: n % 2 === 0 ? 'step' : 'gate',
      taskQueue: QUEUE,
    });
    const mode = Math.random() < 0.15 ? 'interrupt' : 'queue';
    const messageId = `message-${drawTag()}`;
    const text = drawScript(drawTag);
    for (let tries = 0; tries < 30; tries++)
      try {
        await session.send({ text, messageId, mode });
        sent.set(session.id, (sent.get(session.id) ?? new Set()).add(messageId));
        return;
      } catch {
        await delay(1000);
      }
  };

  const all = [
    repeat(isStormy, 4000, strike),
    repeat(isStormy, 500, startTurn),
    repeat(isStormy, 5000, speak),
    repeat(isStormy, 15_000, () => people.pause(Math.random() < 0.5 ? 'note' : 'pay', upTo(6000))),
    repeat(isStormy, 20_000, () => people.revoke()),
    repeat(
      () => !isOver,
      500,
      () => people.look(),
    ),
  ];
  const tell = setInterval(
    () =>
      say(
        `${turns.size} turns, ${readLedger(ledger).length} starts, ${people.decisions} decisions, ${people.doubts} doubts, ${JSON.stringify(faults)}`,
      ),
    30_000,
  );
  while (isStormy()) await delay(500);
  await people.resume();
  const open = await untilAllEnd({ raw, client }, sent);
  isOver = true;
  clearInterval(tell);
  await Promise.all(all);
  say(
    `${turns.size} turns, ${[...sent.values()].reduce((sum, one) => sum + one.size, 0)} messages, ${readLedger(ledger).length} starts, ${people.decisions} decisions, ${people.doubts} doubts, ${people.granted.size} grants, ${people.revoked.size} revoked, ${people.held.length} pauses`,
  );
  say(`faults ${JSON.stringify(faults)}, ended by themselves ${JSON.stringify(crew.ended)}`);
  const violations = await judge({ client, raw, people, crew, lines: readLedger(ledger) });
  const broken = [
    ...violations,
    ...open.map((line) => `never ended: ${line}`),
    ...(await lost(client, { turns, sent, raw })),
  ];
  for (const line of broken) say(line);
  say(`${broken.length} violations`);
  if (broken.length > 0)
    say(`kept: ${directory}\n${readFileSync(join(directory, 'workers.log'), 'utf8').slice(-4000)}`);
  else rmSync(directory, { recursive: true, force: true });
  return broken.length === 0 ? 0 : 1;
}

/** Waits until nothing waits or runs any more; gives what does not end. */
async function untilAllEnd(
  { raw, client }: Pick<Stage, 'raw' | 'client'>,
  sent: ReadonlyMap<string, unknown>,
): Promise<string[]> {
  const ends = performance.now() + ENDING_MS;
  let open: string[] = ['unknown'];
  while (open.length > 0 && performance.now() < ends) {
    await delay(2000);
    try {
      const found: string[] = [];
      for await (const { workflowId } of raw.workflow.list({
        query: `WorkflowType = 'agentTurn' AND ExecutionStatus = 'Running'`,
      }))
        found.push(workflowId);
      for (const id of sent.keys()) {
        const { waiting } = await client.session(id).history();
        if (waiting.length > 0) found.push(`${id} (${waiting.length} messages)`);
      }
      open = found;
    } catch {
      open = ['the server does not answer'];
    }
  }
  return open;
}

/** Turns that did not end with an answer, and messages that the record lacks. */
async function lost(
  client: Countersign,
  {
    turns,
    sent,
    raw,
  }: { turns: ReadonlySet<string>; sent: ReadonlyMap<string, ReadonlySet<string>>; raw: Client },
): Promise<string[]> {
  const found: string[] = [];
  for (const turn of turns) {
    const { status } = await raw.workflow.getHandle(turn).describe();
    if (status.name !== 'COMPLETED' && status.name !== 'RUNNING')
      found.push(`${turn} ended as ${status.name}`);
  }
  for (const [id, messages] of sent) {
    const view = await client.session(id).history();
    const known = new Set(view.messages.map(({ messageId }) => messageId));
    for (const message of messages) if (!known.has(message)) found.push(`${id} lost ${message}`);
  }
  return found;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
