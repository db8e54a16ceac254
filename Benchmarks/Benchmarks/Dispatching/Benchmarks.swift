import Benchmark

/// All suites; the harness runs each benchmark in a separate process.
let benchmarks: @Sendable () -> Void = {
  Benchmark.defaultConfiguration = Benchmark.Configuration(
    metrics: [.wallClock, .throughput, .peakMemoryResident] + Counts.metrics,
    warmupIterations: 1, scalingFactor: .kilo, maxDuration: .milliseconds(300), maxIterations: 100)
  FloorSuite.register()
  ModeSuite.register()
  StoreSuite.register()
  HookSuite.register()
  ChainSuite.register()
  WorkSuite.register()
  ProducerSuite.register()
  WaitForSuite.register()
  PendingSuite.register()
}
