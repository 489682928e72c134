/** Nodes. */
export const nodeMessages = {
  Taint: 'key=1:str value=2:str effect=3:str timeAdded=4:Time',
  NodeSpec: 'podCIDR=1:str podCIDRs=7:str[] providerID=3:str unschedulable=4:bool taints=5:Taint[] externalID=2:str',
  NodeCondition: 'type=1:str status=2:str lastHeartbeatTime=3:Time lastTransitionTime=4:Time reason=5:str message=6:str',
  NodeAddress: 'type=1:str address=2:str',
  DaemonEndpoint: 'Port=1:int32?',
  NodeDaemonEndpoints: 'kubeletEndpoint=1:DaemonEndpoint',
  NodeSystemInfo: 'machineID=1:str systemUUID=2:str bootID=3:str kernelVersion=4:str osImage=5:str containerRuntimeVersion=6:str kubeletVersion=7:str kubeProxyVersion=8:str operatingSystem=9:str architecture=10:str',
  ContainerImage: 'names=1:str[] sizeBytes=2:int64',
  AttachedVolume: 'name=1:str devicePath=2:str',
  NodeRuntimeHandlerFeatures: 'recursiveReadOnlyMounts=1:bool? userNamespaces=2:bool?',
  NodeRuntimeHandler: 'name=1:str features=2:NodeRuntimeHandlerFeatures',
  NodeFeatures: 'supplementalGroupsPolicy=1:bool?',
  NodeStatus: 'capacity=1:map<str,Quantity> allocatable=2:map<str,Quantity> phase=3:str conditions=4:NodeCondition[] addresses=5:NodeAddress[] daemonEndpoints=6:NodeDaemonEndpoints nodeInfo=7:NodeSystemInfo images=8:ContainerImage[] volumesInUse=9:str[] volumesAttached=10:AttachedVolume[] runtimeHandlers=12:NodeRuntimeHandler[] features=13:NodeFeatures',
  Node: 'metadata=1:ObjectMeta spec=2:NodeSpec status=3:NodeStatus',
};
