import Benchmark

/// Registers a benchmark that repeats one batch of actions.
///
/// - Parameters:
///   - name: What the table calls it.
///   - configuration: Where it differs from that of all suites.
///   - setup: Makes what the batches share, once; not measured.
///   - batch: Runs so many actions, to the end of the last.
func measure<Shared>(
  _ name: String, configuration: Benchmark.Configuration = Benchmark.defaultConfiguration,
  setup: @escaping () -> Shared, batch: @escaping (_ shared: Shared, _ count: Int) -> Void
) {
  let closure: (Benchmark, Shared) -> Void = { benchmark, shared in
    batch(shared, benchmark.scaledIterations.count)
  }
  let make: () async throws -> Shared = { setup() }
  Benchmark(name, configuration: configuration, closure: closure, setup: make)
}

/// Registers a benchmark whose batches run in a task.
func measureAsync<Shared>(
  _ name: String, configuration: Benchmark.Configuration = Benchmark.defaultConfiguration,
  setup: @escaping () -> Shared, batch: @escaping (_ shared: Shared, _ count: Int) async -> Void
) {
  let closure: (Benchmark, Shared) async -> Void = { benchmark, shared in
    await batch(shared, benchmark.scaledIterations.count)
  }
  let make: () async throws -> Shared = { setup() }
  Benchmark(name, configuration: configuration, closure: closure, setup: make)
}
