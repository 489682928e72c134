package podautoscaler

// Asks Kubernetes' own autoscaler what it makes of random situations (record.mjs puts this file beside its source).

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	metricsclient "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

// Ages are seconds before now.
type podCase struct {
	Phase    string  `json:"phase"`
	Deleted  bool    `json:"deleted,omitempty"`
	Ready    string  `json:"ready,omitempty"`
	Started  float64 `json:"started"`
	Changed  float64 `json:"changed"`
	Requests []int64 `json:"requests"`
	Metric   *metric `json:"metric,omitempty"`
}
type metric struct {
	Value  int64   `json:"value"`
	Age    float64 `json:"age"`
	Window float64 `json:"window"`
}
type replicasCase struct {
	Pods     []podCase `json:"pods"`
	Resource string    `json:"resource"`
	Percent  int32     `json:"percent,omitempty"`
	Average  int64     `json:"average,omitempty"`
	Current  int32     `json:"current"`
	Result   result    `json:"result"`
}
type result struct {
	Replicas int32  `json:"replicas"`
	Percent  int32  `json:"percent,omitempty"`
	Average  int64  `json:"average"`
	Error    string `json:"error,omitempty"`
}

type fakeMetrics struct {
	metricsclient.MetricsClient
	metrics metricsclient.PodMetricsInfo
}

func (f *fakeMetrics) GetResourceMetric(context.Context, v1.ResourceName, string, labels.Selector, string) (metricsclient.PodMetricsInfo, time.Time, error) {
	return f.metrics, time.Now(), nil
}

func ago(seconds float64) time.Time { return time.Now().Add(-time.Duration(seconds * float64(time.Second))) }
func pick[T any](r *rand.Rand, of ...T) T { return of[r.Intn(len(of))] }

func randomPod(r *rand.Rand) podCase {
	pod := podCase{Phase: pick(r, "Running", "Running", "Running", "Running", "Pending", "Failed"), Deleted: r.Intn(10) == 0, Ready: pick(r, "True", "True", "True", "False", "")}
	pod.Started = pick(r, 10.5, 60.5, 250.5, 400.5, 1000.5)
	pod.Changed = pick(r, 1.5, 5.5, 9.5, pod.Started-5, pod.Started-31)
	if pod.Changed < 0 {
		pod.Changed = 0.5
	}
	for i := 0; i <= r.Intn(2); i++ {
		pod.Requests = append(pod.Requests, pick(r, int64(100), 100, 250, 1000))
	}
	if r.Intn(60) == 0 {
		pod.Requests[0] = 0
	}
	if r.Intn(5) > 0 {
		pod.Metric = &metric{Value: int64(r.Intn(600)), Age: pick(r, 0.25, 3.25), Window: pick(r, 4.0, 15.0)}
	}
	return pod
}

func (c *replicasCase) ask() {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	metrics := metricsclient.PodMetricsInfo{}
	for i, given := range c.Pods {
		name := fmt.Sprintf("p%d", i)
		started := metav1.NewTime(ago(given.Started))
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Status: v1.PodStatus{Phase: v1.PodPhase(given.Phase), StartTime: &started}}
		if given.Deleted {
			pod.DeletionTimestamp = &started
		}
		if given.Ready != "" {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionStatus(given.Ready), LastTransitionTime: metav1.NewTime(ago(given.Changed))}}
		}
		for j, request := range given.Requests {
			container := v1.Container{Name: fmt.Sprintf("c%d", j)}
			if request > 0 {
				container.Resources.Requests = v1.ResourceList{v1.ResourceName(c.Resource): *resource.NewMilliQuantity(request, resource.DecimalSI)}
			}
			pod.Spec.Containers = append(pod.Spec.Containers, container)
		}
		indexer.Add(pod)
		if given.Metric != nil {
			metrics[name] = metricsclient.PodMetric{Value: given.Metric.Value, Timestamp: ago(given.Metric.Age), Window: time.Duration(given.Metric.Window * float64(time.Second))}
		}
	}
	calculator := NewReplicaCalculator(&fakeMetrics{metrics: metrics}, corelisters.NewPodLister(indexer), 0.1, 5*time.Minute, 30*time.Second)
	var err error
	if c.Percent > 0 {
		c.Result.Replicas, c.Result.Percent, c.Result.Average, _, err = calculator.GetResourceReplicas(context.TODO(), c.Current, c.Percent, v1.ResourceName(c.Resource), "default", labels.Everything(), "")
	} else {
		c.Result.Replicas, c.Result.Average, _, err = calculator.GetRawResourceReplicas(context.TODO(), c.Current, c.Average, v1.ResourceName(c.Resource), "default", labels.Everything(), "")
	}
	if err != nil {
		c.Result = result{Error: err.Error()}
	}
}

type aged struct {
	Number int32   `json:"number"`
	Age    float64 `json:"age"`
}
type paceCase struct {
	Behavior        *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
	Recommendations []aged                                         `json:"recommendations"`
	Ups             []aged                                         `json:"ups"`
	Downs           []aged                                         `json:"downs"`
	Current         int32                                          `json:"current"`
	Desired         int32                                          `json:"desired"`
	Min             int32                                          `json:"min"`
	Max             int32                                          `json:"max"`
	Replicas        int32                                          `json:"replicas"`
	Conditions      []string                                       `json:"conditions"`
}

func randomRules(r *rand.Rand, windows ...int32) *autoscalingv2.HPAScalingRules {
	selectPolicy := pick(r, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.DisabledPolicySelect)
	rules := &autoscalingv2.HPAScalingRules{SelectPolicy: &selectPolicy}
	if window := pick(r, windows...); window >= 0 {
		rules.StabilizationWindowSeconds = &window
	}
	for i := 0; i <= r.Intn(3); i++ {
		rules.Policies = append(rules.Policies, autoscalingv2.HPAScalingPolicy{Type: pick(r, autoscalingv2.PodsScalingPolicy, autoscalingv2.PercentScalingPolicy), Value: pick(r, int32(1), 2, 4, 10, 33, 50, 100, 150), PeriodSeconds: pick(r, int32(15), 60, 600)})
	}
	return rules
}

func randomAged(r *rand.Rand, most int, number func() int32) []aged {
	list := []aged{}
	for i := 0; i < r.Intn(most+1); i++ {
		list = append(list, aged{Number: number(), Age: pick(r, 2.5, 14.5, 29.5, 59.5, 100.5, 299.5, 400.5, 700.5)})
	}
	return list
}

func (c *paceCase) ask() {
	controller := &HorizontalController{downscaleStabilisationWindow: 5 * time.Minute, recommendations: map[string][]timestampedRecommendation{}, scaleUpEvents: map[string][]timestampedScaleEvent{}, scaleDownEvents: map[string][]timestampedScaleEvent{}}
	for _, one := range c.Recommendations {
		controller.recommendations["x"] = append(controller.recommendations["x"], timestampedRecommendation{one.Number, ago(one.Age)})
	}
	for _, one := range c.Ups {
		controller.scaleUpEvents["x"] = append(controller.scaleUpEvents["x"], timestampedScaleEvent{one.Number, ago(one.Age), false})
	}
	for _, one := range c.Downs {
		controller.scaleDownEvents["x"] = append(controller.scaleDownEvents["x"], timestampedScaleEvent{one.Number, ago(one.Age), false})
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: c.Max, Behavior: c.Behavior.DeepCopy()}}
	if c.Behavior == nil {
		c.Replicas = controller.normalizeDesiredReplicas(hpa, "x", c.Current, c.Desired, c.Min)
	} else {
		c.Replicas = controller.normalizeDesiredReplicasWithBehaviors(hpa, "x", c.Current, c.Desired, c.Min)
	}
	for _, one := range hpa.Status.Conditions {
		c.Conditions = append(c.Conditions, fmt.Sprintf("%s %s %s: %s", one.Type, one.Status, one.Reason, one.Message))
	}
}

func TestRecord(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	recorded := struct {
		Replicas []replicasCase `json:"replicas"`
		Pace     []paceCase     `json:"pace"`
	}{}
	for i := 0; i < 200; i++ {
		c := replicasCase{Resource: pick(r, "cpu", "cpu", "memory")}
		for j := 0; j < r.Intn(6)+boolInt(i > 0); j++ {
			c.Pods = append(c.Pods, randomPod(r))
		}
		c.Current = int32(max(1, int32(len(c.Pods))+int32(r.Intn(3))-1))
		if r.Intn(3) > 0 {
			c.Percent = pick(r, int32(20), 50, 80, 100, 150)
		} else {
			c.Average = pick(r, int64(50), 100, 250)
		}
		c.ask()
		recorded.Replicas = append(recorded.Replicas, c)
	}
	for i := 0; i < 200; i++ {
		number := func() int32 { return int32(r.Intn(14)) + 1 }
		c := paceCase{Min: pick(r, int32(1), 2, 3), Max: pick(r, int32(5), 10, 20), Desired: int32(r.Intn(25)), Recommendations: randomAged(r, 4, number), Ups: []aged{}, Downs: []aged{}}
		c.Current = c.Min + int32(r.Intn(int(c.Max-c.Min+1)))
		if r.Intn(4) > 0 {
			c.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: randomRules(r, 0, 30, 300), ScaleDown: randomRules(r, -1, 0, 30, 300)}
			small := func() int32 { return int32(r.Intn(4)) + 1 }
			c.Ups, c.Downs = randomAged(r, 2, small), randomAged(r, 2, small)
		}
		c.ask()
		recorded.Pace = append(recorded.Pace, c)
	}
	bytes, err := json.Marshal(recorded)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("RECORD_INTO"), bytes, 0o644); err != nil {
		t.Fatal(err)
	}
}

func boolInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
