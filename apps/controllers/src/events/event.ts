import type { KubeObject } from '@roundsman/api';

/** core/v1 Event, as far as it is written here. */
export interface EventObject {
  apiVersion: 'v1';
  kind: 'Event';
  metadata: Partial<KubeObject['metadata']> & { name: string; namespace: string };
  involvedObject: { apiVersion: string; kind: string; name: string; namespace?: string; uid: string };
  reason: string;
  message: string;
  type: 'Normal' | 'Warning';
  source: { component: string };
  reportingComponent: string;
  firstTimestamp: string;
  lastTimestamp: string;
  count: number;
}

/** Of the object's name in the name of an Event, leaving room for the rest. */
export const nameLimit = 180;
