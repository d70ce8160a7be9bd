/**
 * Define agents and tools, start a worker. Approvers and starters use `countersign/client`, which loads nothing native.
 *
 * @module
 */
export { defineTool } from './tools/define-tool';
export { defineAgent, type Agent, type AgentOptions } from './tools/define-agent';
export { defineConfig, type Config, type ConfigOptions } from './tools/define-config';
export { createRegistry, type Registry, type ToolFilter } from './tools/registry';
export { createExecutor, type Executor } from './tools/executor';
export { ToolError, TransportError } from './tools/errors';
export type { Hooks } from './tools/hooks';
export type { Runner } from './tools/runner';
export type {
  CallContext,
  Policy,
  PolicyAnswer,
  PolicyCall,
  Tool,
  ToolOptions,
  Verification,
} from './tools/types';
export { CountersignError, type ErrorCode } from './contract/errors';
export type { Preview, FilePlan } from './contract/plan';
export type { ToolFailure, ToolResult } from './contract/result';
export type { Model, ModelReply, ModelRequest } from './models/model';
export { ModelError } from './models/model';
export { offlineModel } from './models/offline';
export { openaiCompatible, type OpenAICompatibleOptions } from './models/openai-compatible';
export { scriptedModel, type ScriptedStep } from './models/scripted';
export { createWorkspaceTools, type WorkspaceOptions } from './tools/workspace';
export { createShellTools, type ShellOptions } from './tools/shell';
export { loadEncryption, type Encryption, type EncryptionOptions } from './encryption';
export { startWorker, type RunningWorker, type WorkerSettings } from './worker';
