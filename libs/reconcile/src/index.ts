export { Expired, type ObjectSource } from './source.ts';
export { ChangeFeed, type FeedOptions, type Follower, type Following } from './feed.ts';
export { systemClock, ManualClock, type Clock } from './clock.ts';
export { WorkQueue, type Outcome, type Reconcile, type WorkQueueOptions } from './work-queue.ts';
export { Informer, versionOf, type Indexes, type InformerOptions, type Seen } from './informer.ts';
export { Controller, type ControllerOptions } from './controller.ts';
export { LeaderGate, type LeaderGateOptions, type LeaderWork, type Term } from './leader.ts';
export { Replica, type ReplicaOptions } from './replica.ts';
export { EventRecorder, type EventRecorderOptions, type Happening, type Tell } from './event-recorder.ts';
