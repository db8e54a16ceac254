import BenchmarkSupport
import DispatchStore

/// Operations that work for a while, on queues of several widths.
enum WorkSuite {
  static func register() {
    for microseconds in [0, 1, 10, 100] {
      for width in [1, 2, 4, 64] {
        measure("async, \(microseconds) µs work, width \(width)") {
          Fixture(WorkReducer(), width: width)
        } batch: { fixture, count in
          let action = Work(iterations: BusyWork.iterations(microseconds: microseconds))
          fixture.gate.produce(count) { _ in
            fixture.dispatcher.dispatch(action: action, mode: .async)
          }
        }
      }
    }
  }
}
