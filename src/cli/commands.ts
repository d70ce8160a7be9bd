import type { Command } from 'commander';
import { addAnswer } from './commands/answer';
import { addApprove } from './commands/approve';
import { addApprovers } from './commands/approvers';
import { addAudit } from './commands/audit';
import { addCancel } from './commands/cancel';
import { addChat } from './commands/chat';
import { addAskAgain } from './commands/ask-again';
import { addDeny } from './commands/deny';
import { addDev } from './commands/dev';
import { addDeploy } from './commands/deploy';
import { addDoctor } from './commands/doctor';
import { addFork } from './commands/fork';
import { addExport } from './commands/export';
import { addGrants } from './commands/grants';
import { addHook } from './commands/hook';
import { addInbox } from './commands/inbox';
import { addInit } from './commands/init';
import { addList } from './commands/list';
import { addMcp } from './commands/mcp';
import { addPolicy } from './commands/policy';
import { addPause, addResume } from './commands/pause';
import { addReset } from './commands/reset';
import { addReplay } from './commands/replay';
import { addResolve } from './commands/resolve';
import { addReview } from './commands/review';
import { addRun, addSend } from './commands/run';
import { addShow } from './commands/show';
import { addWatch } from './commands/watch';
import { addStats } from './commands/stats';
import { addWeb } from './commands/web';
import { addWithdraw } from './commands/withdraw';
import { addWorker } from './commands/worker';
import type { Context } from './context';

/** Adds a command to the program. */
export type AddCommand = (program: Command, context: Context) => void;

/** The commands, in the order in which the help names them. A feature adds its own here. */
export const COMMANDS: readonly AddCommand[] = [
  addInit,
  addDev,
  addWorker,
  addWeb,
  addRun,
  addChat,
  addSend,
  addInbox,
  addGrants,
  addWatch,
  addShow,
  addReplay,
  addApprove,
  addDeny,
  addWithdraw,
  addAskAgain,
  addReview,
  addResolve,
  addAnswer,
  addList,
  addCancel,
  addPause,
  addResume,
  addFork,
  addReset,
  addStats,
  addExport,
  addAudit,
  addApprovers,
  addPolicy,
  addMcp,
  addHook,
  addDeploy,
  addDoctor,
];
