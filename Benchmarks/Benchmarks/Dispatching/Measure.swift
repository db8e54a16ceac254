import Benchmark

/// Registers a benchmark that repeats one batch of actions.
///
/// A separate batch counts allocations and retains, since counting takes time.
///
/// - Parameters:
///   - name: The name in the table.
///   - configuration: Where it differs from that of all suites.
///   - setup: Makes what the batches share, once; not measured.
///   - batch: Runs so many actions, to the end of the last.
func measure<Shared>(
  _ name: String, configuration: Benchmark.Configuration = Benchmark.defaultConfiguration,
  setup: @escaping () -> Shared, batch: @escaping (_ shared: Shared, _ count: Int) -> Void
) {
  let count = configuration.scalingFactor.rawValue
  let closure: (Benchmark, (Shared, Counts)) -> Void = { benchmark, state in
    benchmark.startMeasurement()
    batch(state.0, count)
    benchmark.stopMeasurement()
    state.1.report(to: benchmark)
  }
  let make: () async throws -> (Shared, Counts) = {
    let shared = setup()
    for _ in 0..<configuration.warmupIterations { batch(shared, count) }
    return (shared, Counts { batch(shared, count) })
  }
  Benchmark(name, configuration: configuration, closure: closure, setup: make)
}

/// Registers a benchmark whose batches run in a task.
func measureAsync<Shared>(
  _ name: String, configuration: Benchmark.Configuration = Benchmark.defaultConfiguration,
  setup: @escaping () -> Shared, batch: @escaping (_ shared: Shared, _ count: Int) async -> Void
) {
  let count = configuration.scalingFactor.rawValue
  let closure: (Benchmark, (Shared, Counts)) async -> Void = { benchmark, state in
    benchmark.startMeasurement()
    await batch(state.0, count)
    benchmark.stopMeasurement()
    state.1.report(to: benchmark)
  }
  let make: () async throws -> (Shared, Counts) = {
    let shared = setup()
    for _ in 0..<configuration.warmupIterations { await batch(shared, count) }
    return (shared, await Counts { await batch(shared, count) })
  }
  Benchmark(name, configuration: configuration, closure: closure, setup: make)
}
