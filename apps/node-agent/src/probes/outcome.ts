/** What one try of a probe found. `unknown`: it could not be tried, which counts for nothing; `warning`: a success with something to tell. */
export interface Outcome {
  readonly result: 'success' | 'warning' | 'failure' | 'unknown';
  readonly message: string;
  /** Nobody listens at its port: the container does not know of this try. */
  readonly refused?: boolean;
}

export const success: Outcome = { result: 'success', message: '' };
export const failure = (message: string, refused = false): Outcome => ({ result: 'failure', message, ...(refused ? { refused } : {}) });
export const isRefusal = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNREFUSED';
