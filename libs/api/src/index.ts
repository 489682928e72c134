export * from './meta.ts';
export * from './kind.ts';
export * from './kinds/task.ts';
export * from './kinds/spec.ts';
export * from './round/work.ts';
export * from './round/result.ts';
export * from './round/verdict.ts';
export * from './kinds/report.ts';
