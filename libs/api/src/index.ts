export * from './round/work.ts';
export * from './round/result.ts';
