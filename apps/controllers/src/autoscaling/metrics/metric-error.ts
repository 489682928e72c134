/** A metric from which no number of pods follows; its message is told to people as it is. */
export class MetricError extends Error {
  override readonly name = 'MetricError';
}
