import { withFiles } from '../contract/text/bytes';
import {
  ScheduleAlreadyRunning,
  ScheduleClient,
  ScheduleNotFoundError,
  type ScheduleOverlapPolicy,
  type ScheduleSpec,
  type ScheduleSpecDescription,
  type ScheduleSummary as Listed,
} from '@temporalio/client';
import { CountersignError, errorMessage } from '../contract/errors';
import { attributeKey, MEMO, TASK_QUEUE, WORKFLOWS } from '../contract/names';
import { codecOfSchedule } from '../encryption/codec';
import { ask, STATUS, grpcStatusOf } from '../history/server-errors';
import type { ClientContext } from './context';
import { startOf } from '../contract/turn';
import { attach, checkTurnId, inputOf, priorityGiven } from './start-turn';
import type { OverlapPolicy, ScheduleSummary } from './schedule-types';
import { DAY } from '../contract/limits';
import type { ScheduleRequest, Schedules } from './types';

/** A schedule starts a turn at most this late after an outage of the server, unless the schedule sets it. */
const SCHEDULE_CATCH_UP = DAY;

const OVERLAPS: Readonly<Record<OverlapPolicy, ScheduleOverlapPolicy>> = {
  skip: 'SKIP',
  'buffer-one': 'BUFFER_ONE',
  'buffer-all': 'BUFFER_ALL',
  'cancel-other': 'CANCEL_OTHER',
  'allow-all': 'ALLOW_ALL',
};

/** The most characters of a schedule's id. Temporal adds a dash and 20 characters. */
const ID_CHARACTERS = 150;
/** The least catch-up window. The server would make a smaller window larger. */
const LEAST_CATCH_UP_MS = 10_000;

/** The schedules of a namespace. */
export function makeSchedules(context: ClientContext): Schedules {
  const handle = (id: string) => scheduleClient(context, id).getHandle(checkId(id));
  return {
    add: async (request) => {
      await create(context, request);
      const { id } = request;
      const made = summaryOf(await on(context, id, 'reading', () => handle(id).describe()));
      if (made.next.length > 0) return made;
      await handle(id).delete();
      throw usage(`${made.when} never comes`, 'there is no such day; look at the day and the month');
    },
    list: () => listSchedules(context),
    remove: (id) => on(context, id, 'removing', () => handle(id).delete()),
  };
}

async function create(context: ClientContext, request: ScheduleRequest) {
  const {
    id,
    taskQueue = TASK_QUEUE,
    overlap = 'skip',
    catchUpMs = SCHEDULE_CATCH_UP,
    paused = false,
  } = request;
  const input = { ...inputOf(request), ...withFiles(await attach(context, request.files)) };
  const shown = startOf(input, input.prompt);
  if (catchUpMs < LEAST_CATCH_UP_MS) throw usage('the catch-up window is under 10 s', 'give 10 s or more');
  const options = {
    scheduleId: checkId(id),
    spec: specOf(request),
    action: {
      type: 'startWorkflow' as const,
      workflowType: WORKFLOWS.turn,
      workflowId: id,
      taskQueue,
      args: [input],
      ...shown,
      // The SDK sends the priority, although its types do not name it here.
      priority: priorityGiven(request),
    },
    policies: { overlap: OVERLAPS[overlap], catchupWindow: catchUpMs },
    memo: { [MEMO.prompt]: shown.memo[MEMO.prompt] },
    typedSearchAttributes: [{ key: attributeKey('agent'), value: input.agent }],
    state: { paused },
  };
  await on(context, id, 'making', () => scheduleClient(context, id).create(options));
}

/**
 * A cron expression without `#`. Temporal treats text after `#` as a comment, in which we keep the expression as it was
 * given.
 */
const CRON = /^[^\p{C}#]{1,200}$/u;

function specOf({ cron, everyMs, timeZone = 'UTC', jitterMs = 0 }: ScheduleRequest): ScheduleSpec {
  const jitter = jitterMs === 0 ? {} : { jitter: checkMs(jitterMs, 'jitter') };
  if (cron !== undefined && everyMs === undefined) {
    if (!CRON.test(cron)) throw usage(`${JSON.stringify(cron)} is not a cron expression`, CRON_HINT);
    return { cronExpressions: [`${cron}#${cron}`], timezone: timeZone, ...jitter };
  }
  if (cron === undefined && everyMs !== undefined)
    return { intervals: [{ every: checkMs(everyMs, 'interval') }], timezone: timeZone, ...jitter };
  throw usage('a schedule needs a cron expression or an interval, one of them', CRON_HINT);
}

const CRON_HINT = "such as '0 8 * * 1-5': at 8:00 from Monday to Friday";

function checkMs(ms: number, what: string) {
  if (Number.isSafeInteger(ms) && ms >= 1000 && ms % 1000 === 0) return ms;
  throw usage(`the ${what} is not in whole seconds`, 'give one second or more');
}

function checkId(id: string) {
  if (id.length <= ID_CHARACTERS) return checkTurnId(id);
  throw usage('the id of a schedule has more than 150 characters', 'take a shorter one');
}

function usage(message: string, hint: string) {
  return new CountersignError('usage', message, hint);
}

/** A client whose encrypted payloads are bound to one schedule, because many turns will read them. */
function scheduleClient({ client, connection, namespace }: ClientContext, id: string): ScheduleClient {
  const { loadedDataConverter, identity } = client.options;
  const payloadCodecs = loadedDataConverter.payloadCodecs.map((codec) => codecOfSchedule(codec, id));
  const dataConverter = { ...loadedDataConverter, payloadCodecs };
  return new ScheduleClient({ connection, namespace, identity, dataConverter });
}

/** Asks the server about one schedule. */
async function on<T>(context: ClientContext, id: string, doing: string, question: () => Promise<T>) {
  return ask(context, `${doing} schedule ${id}`, async () => {
    try {
      return await question();
    } catch (error) {
      throw errorOf(error, id);
    }
  });
}

function errorOf(error: unknown, id: string) {
  if (error instanceof ScheduleAlreadyRunning)
    return new CountersignError('exists', `there is a schedule ${id}`, {
      hint: `take another id, or remove it: temporal schedule delete --schedule-id ${id}`,
      data: { schedule: id },
      cause: error,
    });
  if (error instanceof ScheduleNotFoundError || grpcStatusOf(error) === STATUS.notFound)
    return new CountersignError('not_found', `there is no schedule ${id}`, {
      hint: 'temporal schedule list shows those there are',
      data: { schedule: id },
      cause: error,
    });
  // The SDK turns the server's refusal of a wrong time into a TypeError.
  return error instanceof TypeError
    ? usage(`the schedule is refused: ${errorMessage(error)}`, CRON_HINT)
    : error;
}

async function listSchedules(context: ClientContext) {
  const query = `${attributeKey('agent').name} IS NOT NULL`;
  return ask(context, 'listing schedules', async () => {
    const found: ScheduleSummary[] = [];
    for await (const one of context.lister.schedule.list({ query })) found.push(summaryOf(one));
    return found.sort((a, b) => (a.id < b.id ? -1 : 1));
  });
}

function summaryOf(schedule: Listed): ScheduleSummary {
  const { scheduleId: id, spec, state, memo, info, typedSearchAttributes } = schedule;
  const prompt = memo?.[MEMO.prompt];
  const last = info.recentActions.at(-1);
  return {
    id,
    agent: typedSearchAttributes?.get(attributeKey('agent')) ?? '',
    prompt: typeof prompt === 'string' ? prompt : '',
    when: spec === undefined ? '' : timesOf(spec),
    timeZone: spec?.timezone || 'UTC',
    paused: state.paused,
    next: info.nextActionTimes.map((time) => time.toISOString()),
    note: state.note || undefined,
    last: last && { turn: last.action.workflow.workflowId, at: last.takenAt.toISOString() },
  };
}

/**
 * The times at which a schedule starts turns, in words. A calendar without our comment was made or changed elsewhere.
 */
function timesOf({ calendars = [], intervals = [] }: ScheduleSpecDescription) {
  const each = [
    ...calendars.map(({ comment }) => comment || 'times that were set elsewhere'),
    ...intervals.map(({ every }) => `every ${spanOf(every)}`),
  ];
  return each.join('; ');
}

/** A span of time as a person writes it, such as 90m: in the largest unit that fits. */
function spanOf(ms: number) {
  const units = [
    ['h', 3_600_000],
    ['m', 60_000],
  ] as const;
  const [unit, size] = units.find(([, one]) => ms % one === 0) ?? ['s', 1000];
  return `${ms / size}${unit}`;
}
