import Benchmark
import BenchmarkSupport
import DispatchStore

/// Chains in which each completion dispatches the next action to its own lane.
///
/// The shorter ones are run one after the other, until 1,000 links have run.
enum ChainSuite {
  static func register() {
    for length in [1, 10, 100, 1000] {
      register(length, configuration: Benchmark.defaultConfiguration)
    }
    var configuration = Benchmark.defaultConfiguration
    configuration.scalingFactor = .mega
    configuration.warmupIterations = 0
    configuration.maxIterations = 1
    register(1_000_000, configuration: configuration)
  }

  private static func register(_ length: Int, configuration: Benchmark.Configuration) {
    measure("chain of \(length), serial", configuration: configuration) {
      Fixture(PlainReducer())
    } batch: { fixture, count in
      let dispatcher = fixture.dispatcher
      for _ in 0..<(count / length) {
        let chain = Chain(length) { chain, left in
          dispatcher.dispatch(action: Add(left), mode: .serial) { chain.next() }
        }
        chain.run()
      }
    }
  }
}
