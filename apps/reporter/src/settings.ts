import { z } from 'zod';

const count = (value: number) => z.coerce.number().int().positive().default(value);

/** Environment variables `ROUNDSMAN_REPORTER_<KEY>`. */
export const settingsSchema = z.object({
  retentionDays: count(30).describe('Results and reports are kept so many days'),
  retentionBytes: z.coerce.number().int().nonnegative().default(20 * 1024 ** 3).describe('Results may take so many bytes on disk (20 GiB), then the oldest days go, but never the current one; 0: no limit'),
  rollupDays: count(400).describe('Hourly roll-ups are kept so many days'),
  batch: count(100).describe('Result messages committed together, at most'),
  batchMs: z.coerce.number().int().nonnegative().default(50).describe('Milliseconds a result may wait for others'),
  batchRows: count(20_000).describe('Rows committed together, about'),
  cancelGraceMs: z.coerce.number().int().nonnegative().default(2500).describe('Milliseconds runners have to report after a cancel'),
  maintenanceMs: count(60_000).describe('Milliseconds between roll-ups, and looks at partitions and retention'),
});
export type Settings = z.infer<typeof settingsSchema>;
