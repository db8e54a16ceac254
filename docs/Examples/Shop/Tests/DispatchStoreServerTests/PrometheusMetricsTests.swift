import DispatchStoreServer
import Metrics
import Testing

@Suite struct PrometheusMetricsTests {
  private let prometheus = PrometheusMetrics(buckets: [0.001, 1])

  @Test func metricsAreRenderedInTheTextFormat() {
    let labels = [("http.route", "/a"), ("quote", "\"\\\n")]
    Counter(label: "http.requests", dimensions: labels, factory: prometheus).increment(by: 3)
    Gauge(label: "open", factory: prometheus).record(2)
    Meter(label: "lag", factory: prometheus).increment(by: 1.5)
    let timer = Timer(label: "run.duration", factory: prometheus)
    timer.recordMilliseconds(1)
    timer.recordMilliseconds(500)
    timer.recordSeconds(2)
    #expect(
      prometheus.render() == """
        # TYPE http_requests_total counter
        http_requests_total{http_route="/a",quote="\\"\\\\\\n"} 3
        # TYPE lag gauge
        lag 1.5
        # TYPE open gauge
        open 2.0
        # TYPE run_duration_seconds histogram
        run_duration_seconds_bucket{le="0.001"} 1
        run_duration_seconds_bucket{le="1.0"} 2
        run_duration_seconds_bucket{le="+Inf"} 3
        run_duration_seconds_sum 2.501
        run_duration_seconds_count 3

        """)
  }

  @Test func handlesOfOneLabelSetAreTheSame() {
    for _ in 1...2 { Counter(label: "a", factory: prometheus).increment() }
    #expect(prometheus.render().contains("a_total 2\n"))
  }

  @Test func seriesOfOneMetricShareItsTypeLine() {
    for route in ["/b", "/a"] {
      Counter(label: "a", dimensions: [("route", route)], factory: prometheus).increment()
    }
    #expect(
      prometheus.render() == """
        # TYPE a_total counter
        a_total{route="/a"} 1
        a_total{route="/b"} 1

        """)
  }

  @Test func aDestroyedMetricIsNotRendered() {
    let counter = Counter(label: "a", factory: prometheus)
    counter.destroy()
    #expect(prometheus.render().isEmpty)
  }
}
