import type { Pod } from '@roundsman/api';
import { messages, type Bus } from '@roundsman/bus';

const roundMs = 100;

/** The agent of a node without containers, with the permissions of one: heartbeats, and every pod of its node runs, or ends when it is to. */
export class ObedientAgent {
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  /** Pods whose image this is never become ready. */
  badImage = '';
  readonly problems: unknown[] = [];

  constructor(
    readonly node: string,
    readonly bus: Bus,
  ) {}

  start(): void {
    this.#timer = setInterval(() => {
      this.#beat();
      this.#looking = this.#looking.then(() => this.#look()).catch((error: unknown) => void this.problems.push(error));
    }, roundMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  #beat(): void {
    const resources = { cpu: '4', memory: '8Gi', pods: '110' };
    this.bus.publish(messages.nodeBeat, { node: this.node }, {
      node: this.node, instance: 'i', sentAt: new Date().toISOString(), addresses: [{ type: 'InternalIP', address: '10.0.0.1' }], capacity: resources, allocatable: resources,
      nodeInfo: { kubeletVersion: 'v1' }, labels: { 'kubernetes.io/hostname': this.node }, annotations: {}, conditions: [{ type: 'Ready', status: 'True', reason: 'AgentReady', message: 'fine' }],
    });
  }

  async #look(): Promise<void> {
    const { pods = [] } = await this.bus.request(messages.nodePods, { node: this.node }, {});
    for (const pod of pods as unknown as Pod[]) {
      const { namespace = '', name, uid, deletionTimestamp } = pod.metadata;
      if (deletionTimestamp !== undefined) await this.bus.request(messages.nodeWrite, { node: this.node }, { operation: 'podGone', namespace, name, uid });
      else if (pod.status?.phase !== 'Running' && pod.spec.containers[0]?.image !== this.badImage) await this.#run(pod);
    }
  }

  async #run({ metadata: { namespace = '', name, uid }, spec }: Pod): Promise<void> {
    const startedAt = new Date().toISOString().replace(/\.\d+/, '');
    const containerStatuses = spec.containers.map((one) => ({ name: one.name, ready: true, started: true, restartCount: 0, image: one.image ?? '', imageID: 'x', state: { running: { startedAt } } }));
    const conditions = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({ type, status: 'True', lastTransitionTime: startedAt }));
    await this.bus.request(messages.nodeWrite, { node: this.node }, { operation: 'podStatus', namespace, name, uid, status: { phase: 'Running', podIP: '10.0.0.1', startTime: startedAt, conditions, containerStatuses } });
  }
}
