import type { Distribution } from '@roundsman/api';
import { Histogram } from './histogram.ts';

/** Collects one distribution of microseconds: exact count, sum, minimum and maximum, and a histogram for percentiles. */
export class DistributionCollector {
  count = 0;
  sumUs = 0;
  minUs = 0;
  maxUs = 0;
  readonly histogram = new Histogram();

  /** Negative values (a clock read twice in the wrong order) count as 0. */
  add(us: number): void {
    const value = us > 0 ? us : 0;
    if (this.count === 0 || value < this.minUs) this.minUs = value;
    if (value > this.maxUs) this.maxUs = value;
    this.count += 1;
    this.sumUs += value;
    this.histogram.add(value);
  }

  merge(other: Distribution | DistributionCollector): void {
    if (other.count === 0) return;
    if (this.count === 0 || other.minUs < this.minUs) this.minUs = other.minUs;
    if (other.maxUs > this.maxUs) this.maxUs = other.maxUs;
    this.count += other.count;
    this.sumUs += other.sumUs;
    this.histogram.merge(other.histogram);
  }

  /** Microseconds, never outside the exact minimum and maximum; undefined when empty. */
  quantile(q: number): number | undefined {
    const value = this.histogram.quantile(q);
    return value === undefined ? undefined : Math.min(this.maxUs, Math.max(this.minUs, value));
  }

  toData(): Distribution {
    return {
      count: this.count,
      sumUs: round3(this.sumUs),
      minUs: round3(this.minUs),
      maxUs: round3(this.maxUs),
      histogram: this.histogram.toData(),
    };
  }

  static fromData(data: Distribution): DistributionCollector {
    const collector = new DistributionCollector();
    collector.merge(data);
    return collector;
  }
}

/** Nanoseconds are the finest the clock tells; more digits would only make results longer. */
function round3(us: number): number {
  return Math.round(us * 1000) / 1000;
}

/** The percentiles reports show, in microseconds. Undefined members when nothing was counted. */
export interface Percentiles {
  p50Us: number | undefined;
  p90Us: number | undefined;
  p95Us: number | undefined;
  p99Us: number | undefined;
  meanUs: number | undefined;
}

export function percentiles(data: Distribution): Percentiles {
  const collector = DistributionCollector.fromData(data);
  return {
    p50Us: collector.quantile(0.5),
    p90Us: collector.quantile(0.9),
    p95Us: collector.quantile(0.95),
    p99Us: collector.quantile(0.99),
    meanUs: data.count === 0 ? undefined : data.sumUs / data.count,
  };
}
