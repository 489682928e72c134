/** What one try of a probe found. `unknown`: it could not be tried, which counts for nothing; `warning`: a success with something to tell. */
export interface Outcome {
  readonly result: 'success' | 'warning' | 'failure' | 'unknown';
  readonly message: string;
}

export const success: Outcome = { result: 'success', message: '' };
export const failure = (message: string): Outcome => ({ result: 'failure', message });
