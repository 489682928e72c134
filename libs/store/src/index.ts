export { migrateStore } from './migrate.ts';
export { openStore, Store, type ObjectPage } from './store.ts';
export type { ListQuery } from './query.ts';
export { acquireLeadership, type Leadership, type LeaderOptions } from './leader.ts';
export { commitChanges, loadState, objectKey, recentChanges, trimHistory, type KeepHistory, type StoredState } from './writer.ts';
