import { podConditionOf, type Pod, type Service } from '@roundsman/api';

interface Told {
  readonly service: string | undefined;
  readonly pods: ReadonlyMap<string, string>;
}

/** Since when a service is as it is: the earliest of what has changed since it was asked before. In memory only, as it is for measuring delays. */
export class TriggerTimes {
  readonly #told = new Map<string, Told>();

  /** RFC 3339; undefined: nothing that has a time has changed. */
  since(key: string, service: Service, pods: readonly Pod[]): string | undefined {
    const before = this.#told.get(key);
    const created = service.metadata.creationTimestamp;
    const times = new Map(pods.flatMap(timeOf));
    this.#told.set(key, { service: created, pods: times });
    const changed = [...times].flatMap(([uid, time]) => (isLater(time, before?.pods.get(uid)) ? [time] : []));
    if (isLater(created, before?.service)) changed.push(created);
    return changed.sort((a, b) => Date.parse(a) - Date.parse(b))[0];
  }

  forget(key: string): void {
    this.#told.delete(key);
  }
}

function timeOf(pod: Pod): [string, string][] {
  const time = podConditionOf(pod, 'Ready')?.lastTransitionTime;
  return time == null ? [] : [[pod.metadata.uid, time]];
}

const isLater = (time: string, than: string | undefined): boolean => than === undefined || Date.parse(time) > Date.parse(than);
