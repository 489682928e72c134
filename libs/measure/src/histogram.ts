import type { HistogramData } from '@roundsman/api';

/** Bucket growth: a value is known to within 1 %. */
export const gamma = 1.02020202;
const perLog = 1 / Math.log(gamma);
/** The largest bucket of the wire format; holds everything above about 3.5e17 us. */
export const maxBucket = 2000;
/** Covers 13 minutes in microseconds; only a longer value makes the array grow. */
const usualBuckets = 1024;

/** The bucket that holds `us` microseconds: `ceil(ln(us) / ln(gamma))`, 0 for everything up to 1 us. */
export function bucketOf(us: number): number {
  if (!(us > 1)) return 0;
  const bucket = Math.ceil(Math.log(us) * perLog);
  return bucket > maxBucket ? maxBucket : bucket;
}

/** The value that stands for a bucket, in microseconds: at most 1 % away from every value of the bucket. */
export function valueOf(bucket: number): number {
  return (2 * gamma ** bucket) / (gamma + 1);
}

/** Log-bucket histogram of microseconds. Adding is O(1) and allocates nothing; merging equals adding all the values. */
export class Histogram {
  #counts = new Float64Array(usualBuckets);
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(us: number): void {
    const bucket = bucketOf(us);
    if (bucket >= this.#counts.length) this.#grow();
    this.#counts[bucket]! += 1;
    this.#total += 1;
  }

  merge(other: Histogram | HistogramData): void {
    if (other instanceof Histogram) {
      if (other.#counts.length > this.#counts.length) this.#grow();
      for (let i = 0; i < other.#counts.length; i++) this.#counts[i]! += other.#counts[i]!;
      this.#total += other.#total;
      return;
    }
    if (other.b.length !== other.c.length) throw new Error(`histogram data has ${other.b.length} buckets but ${other.c.length} counts`);
    for (let i = 0; i < other.b.length; i++) {
      const bucket = Math.min(other.b[i]!, maxBucket);
      if (bucket >= this.#counts.length) this.#grow();
      this.#counts[bucket]! += other.c[i]!;
      this.#total += other.c[i]!;
    }
  }

  /**
   * The value at quantile `q` (0..1) by nearest rank, microseconds, within 1 % of the true value for values above 1 us.
   * Undefined when empty.
   */
  quantile(q: number): number | undefined {
    if (this.#total === 0) return undefined;
    const rank = Math.max(1, Math.ceil(Math.min(1, Math.max(0, q)) * this.#total));
    let seen = 0;
    for (let i = 0; i < this.#counts.length; i++) {
      seen += this.#counts[i]!;
      if (seen >= rank) return valueOf(i);
    }
    return undefined;
  }

  toData(): HistogramData {
    const data: HistogramData = { b: [], c: [] };
    for (let i = 0; i < this.#counts.length; i++) {
      const count = this.#counts[i]!;
      if (count > 0) {
        data.b.push(i);
        data.c.push(count);
      }
    }
    return data;
  }

  static fromData(data: HistogramData): Histogram {
    const histogram = new Histogram();
    histogram.merge(data);
    return histogram;
  }

  #grow(): void {
    const wider = new Float64Array(maxBucket + 1);
    wider.set(this.#counts);
    this.#counts = wider;
  }
}
