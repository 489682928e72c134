export { migrateReports } from './migrate.ts';
export { reportPool, type PoolOptions, type ReportPool } from './pool.ts';
export { resultProblem, isRoundResult } from './check.ts';
export { Ingest, type IngestOptions, type IngestResult, type PartOutcome } from './ingest.ts';
export { registerRound, committedRounds, openRounds, type OpenRound } from './rounds.ts';
export { closeRound, type CloseRequest, type ClosedRound, type SilentOutcome, type SilentRunner } from './close.ts';
export { openReports, BadPageToken, type Page, type ReportChange, type ReportList, type Reports, type RoundFilter } from './read.ts';
export type { KdoctorReport, KdoctorTask } from './kdoctor.ts';
