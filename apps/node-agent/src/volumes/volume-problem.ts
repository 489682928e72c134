/** A volume that cannot be had as the pod asks for it. */
export class VolumeProblem extends Error {
  override readonly name = 'VolumeProblem';
  constructor(
    /** Name of the volume in the pod. */
    readonly volume: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Message of the event FailedMount. */
export const mountFailed = ({ volume, message }: VolumeProblem): string => `MountVolume.SetUp failed for volume "${volume}" : ${message}`;
