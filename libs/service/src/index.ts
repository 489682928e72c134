export type { ServiceContext, ServiceDefinition } from './definition.ts';
export { Health, type Check, type HealthReport } from './health.ts';
export { serveHealth, type HealthServer } from './health-server.ts';
export { makeLogger, NestLog, prettyLine, type LogOptions } from './log.ts';
export { ProcessMetrics } from './metrics.ts';
export { liveUntilSignal } from './process.ts';
export { runServices, type RunningServices, type RunOptions, type ServiceRun } from './run.ts';
export { processSettings, readSettings, refuseUnknownSettings, settingName, settingPrefix, SettingsError } from './settings.ts';
