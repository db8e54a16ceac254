import Benchmark
import BenchmarkSupport
import DispatchStore

/// Several threads that dispatch at once, none waiting for its actions: 64,000 in all.
///
/// The time goes from the threads' common start until all actions have run; creating the threads is not
/// measured.
enum ProducerSuite {
  private static let count = 64_000
  private static let lanes = 10_000
  private static let time = BenchmarkMetric.custom("Time per action (ns)", useScalingFactor: false)

  static func register() {
    for producers in [1, 2, 8, 64] {
      for mode in [Dispatcher.Mode.sync, .serial, .async] {
        for stores in [1, 8] {
          register("\(mode), \(producers) producers, \(stores) stores") {
            TaggedFixture(stores: stores)
          } run: { fixture in
            nanoseconds(producers, mode, fixture)
          }
        }
      }
      register("serial, \(producers) producers, 10000 lanes") {
        Fixture(PlainReducer())
      } run: { fixture in
        nanosecondsOnLanes(producers, fixture)
      }
    }
  }

  private static func register<Shared>(
    _ name: String, setup: @escaping () -> Shared, run: @escaping (Shared) -> Double
  ) {
    var configuration = Benchmark.defaultConfiguration
    configuration.metrics = [.wallClock, .throughput, .peakMemoryResident, time]
    configuration.scalingFactor = .one
    configuration.maxIterations = 5
    let closure: (Benchmark, Shared) -> Void = { benchmark, shared in
      benchmark.measurement(time, Int(run(shared) / Double(count)))
    }
    let make: () async throws -> Shared = { setup() }
    Benchmark(name, configuration: configuration, closure: closure, setup: make)
  }

  /// Distributes the stores over the producers, or the producers over the stores, whichever are more.
  private static func nanoseconds(
    _ producers: Int, _ mode: Dispatcher.Mode, _ fixture: TaggedFixture
  ) -> Double {
    let stores = fixture.producers.count
    return Producers.nanoseconds(producers) { producer in
      if producers >= stores {
        fixture.producers[producer % stores](count / producers, mode)
      } else {
        for store in stride(from: producer, to: stores, by: producers) {
          fixture.producers[store](count / stores, mode)
        }
      }
    } end: {
      for gate in fixture.gates { gate.wait(forAll: count / stores) }
    }
  }

  private static func nanosecondsOnLanes(_ producers: Int, _ fixture: Fixture<Add>) -> Double {
    let each = count / producers
    return Producers.nanoseconds(producers) { producer in
      for index in (producer * each)..<((producer + 1) * each) {
        fixture.dispatcher.dispatch(action: Add(index), mode: .serial(lane: index % lanes))
      }
    } end: {
      fixture.gate.wait(forAll: count)
    }
  }
}
