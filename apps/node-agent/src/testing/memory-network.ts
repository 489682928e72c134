import type { Pod } from '@roundsman/api';
import type { Sandbox, SandboxNetwork } from '@roundsman/containers';
import type { PodNetwork } from '../network/pod-network.ts';
import { AddressPool } from '../network/addresses/address-pool.ts';

/** Gives addresses and connects nothing. */
export class MemoryNetwork implements PodNetwork {
  readonly nodeAddresses: readonly string[] = ['127.0.0.1'];
  readonly #pool = new AddressPool();

  constructor() {
    this.#pool.use(['10.0.0.0/24']);
  }

  problem(): string | undefined {
    return undefined;
  }
  onReady(): () => void {
    return () => undefined;
  }
  adopt(): Promise<void> {
    return Promise.resolve();
  }
  fits(): boolean {
    return true;
  }
  plan({ metadata, spec }: Pod): Promise<SandboxNetwork> {
    return Promise.resolve(spec.hostNetwork === true ? { kind: 'host' } : { kind: 'none', addresses: this.#pool.take(metadata.uid) });
  }
  connect(_pod: Pod, { addresses }: Sandbox): Promise<readonly string[]> {
    return Promise.resolve(addresses);
  }
  release(podUid: string): Promise<void> {
    this.#pool.release(podUid);
    return Promise.resolve();
  }
}
