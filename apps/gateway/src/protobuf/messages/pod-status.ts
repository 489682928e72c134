/** The state of pods. */
export const podStatusMessages = {
  PodCondition: 'type=1:str status=2:str lastProbeTime=3:Time lastTransitionTime=4:Time reason=5:str message=6:str',
  HostIP: 'ip=1:str',
  PodIP: 'ip=1:str',
  ContainerStateWaiting: 'reason=1:str message=2:str',
  ContainerStateRunning: 'startedAt=1:Time',
  ContainerStateTerminated: 'exitCode=1:int32? signal=2:int32 reason=3:str message=4:str startedAt=5:Time finishedAt=6:Time containerID=7:str',
  ContainerState: 'waiting=1:ContainerStateWaiting running=2:ContainerStateRunning terminated=3:ContainerStateTerminated',
  VolumeMountStatus: 'name=1:str mountPath=2:str readOnly=3:bool recursiveReadOnly=4:str?',
  LinuxContainerUser: 'uid=1:int64? gid=2:int64? supplementalGroups=3:int64[]',
  ContainerUser: 'linux=1:LinuxContainerUser',
  ContainerStatus: 'name=1:str state=2:ContainerState lastState=3:ContainerState ready=4:bool? restartCount=5:int32? image=6:str imageID=7:str containerID=8:str started=9:bool? allocatedResources=10:map<str,Quantity> resources=11:ResourceRequirements volumeMounts=12:VolumeMountStatus[] user=13:ContainerUser',
  PodResourceClaimStatus: 'name=1:str resourceClaimName=2:str?',
  PodStatus: 'phase=1:str conditions=2:PodCondition[] message=3:str reason=4:str nominatedNodeName=11:str hostIP=5:str hostIPs=16:HostIP[] podIP=6:str podIPs=12:PodIP[] startTime=7:Time initContainerStatuses=10:ContainerStatus[] containerStatuses=8:ContainerStatus[] qosClass=9:str ephemeralContainerStatuses=13:ContainerStatus[] resize=14:str resourceClaimStatuses=15:PodResourceClaimStatus[]',
};
