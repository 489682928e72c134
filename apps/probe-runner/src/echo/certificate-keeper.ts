import type { EchoCertificate } from './certificate.ts';

/** How soon after a failure it may be made again: making it is a process of 60 MiB, and anybody can knock on the port that asks for it. */
export const retryAfterMs = 30_000;

/** A certificate that is made once, for whoever asks first. After a failure those that ask get that failure until it may be made again. */
export class CertificateKeeper {
  readonly #make: () => Promise<EchoCertificate>;
  readonly #failed: (error: unknown) => void;
  #made: Promise<EchoCertificate> | undefined;
  #failedAtMs: number | undefined;

  /** `failed` is told every failure once. */
  constructor(make: () => Promise<EchoCertificate>, failed: (error: unknown) => void) {
    this.#make = make;
    this.#failed = failed;
  }

  certificate(): Promise<EchoCertificate> {
    if (this.#failedAtMs !== undefined && performance.now() - this.#failedAtMs >= retryAfterMs) this.#made = this.#failedAtMs = undefined;
    return (this.#made ??= this.#make().catch((error: unknown) => {
      this.#failedAtMs = performance.now();
      this.#failed(error);
      throw error;
    }));
  }
}
