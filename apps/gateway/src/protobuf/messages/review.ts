/** Questions about who one is and what one may do. */
export const reviewMessages = {
  SelfSubjectAccessReview: 'metadata=1:ObjectMeta spec=2:SelfSubjectAccessReviewSpec',
  SelfSubjectAccessReviewSpec: 'resourceAttributes=1:ResourceAttributes nonResourceAttributes=2:NonResourceAttributes',
  ResourceAttributes: 'namespace=1:str verb=2:str group=3:str version=4:str resource=5:str subresource=6:str name=7:str fieldSelector=8:FieldSelectorAttributes labelSelector=9:LabelSelectorAttributes',
  FieldSelectorAttributes: 'rawSelector=1:str requirements=2:FieldSelectorRequirement[]',
  LabelSelectorAttributes: 'rawSelector=1:str requirements=2:LabelSelectorRequirement[]',
  NonResourceAttributes: 'path=1:str verb=2:str',
  SelfSubjectRulesReview: 'metadata=1:ObjectMeta spec=2:SelfSubjectRulesReviewSpec',
  SelfSubjectRulesReviewSpec: 'namespace=1:str',
  SelfSubjectReview: 'metadata=1:ObjectMeta',
};
