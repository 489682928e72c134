import { imageBuildLabel, pauseImage } from '@roundsman/containers';

/** Shell commands that people may run on the daemon behind this socket, whichever their own `docker` speaks to. */
export function dockerCommands(socket: string): { readonly endPods: (cluster: string) => string; readonly removeImages: string } {
  const docker = `docker -H unix://${/^[\w./-]+$/.test(socket) ? socket : `'${socket.replaceAll("'", String.raw`'\''`)}'`}`;
  return {
    endPods: (cluster) => `${docker} rm -f $(${docker} ps -aq --filter label=roundsman.io/cluster=${cluster})`,
    // By their names: an image that has two cannot be removed by its id.
    removeImages: `${docker} image rm ${pauseImage} $(${docker} image ls --filter label=${imageBuildLabel} --format '{{.Repository}}:{{.Tag}}')`,
  };
}
