import Benchmark
import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

/// Actions that wait behind a suspended queue: the bytes that each one occupies.
enum PendingSuite {
  private static let bytes = BenchmarkMetric.custom(
    "Bytes per pending action", useScalingFactor: false)

  static func register() {
    for mode in [Dispatcher.Mode.serial, .async] {
      for kind in Answer.allCases {
        register("\(mode), pending \(kind.rawValue)", mode, kind)
      }
    }
  }

  private static func register(_ name: String, _ mode: Dispatcher.Mode, _ kind: Answer) {
    var configuration = Benchmark.defaultConfiguration
    configuration.metrics = [.wallClock, .throughput, .peakMemoryResident, bytes]
    configuration.maxIterations = 10
    let closure: (Benchmark) -> Void = { benchmark in
      let fixture = kind.fixture()
      let dispatcher = fixture.dispatcher
      dispatcher.queue.isSuspended = true
      let count = 10 * benchmark.scaledIterations.count
      let before = Memory.allocatedBytes
      benchmark.startMeasurement()
      for index in 0..<count { dispatcher.dispatch(action: Add(index), mode: mode) }
      benchmark.stopMeasurement()
      benchmark.measurement(bytes, (Memory.allocatedBytes - before) / count)
      dispatcher.queue.isSuspended = false
      fixture.gate.wait(forAll: count)
    }
    Benchmark(name, configuration: configuration, closure: closure)
  }
}
