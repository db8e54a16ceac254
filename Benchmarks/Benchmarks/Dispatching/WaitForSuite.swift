import BenchmarkSupport
import DispatchStore

/// One action to which several stores respond, in the order in which they wait for each other.
enum WaitForSuite {
  static func register() {
    for mode in [Dispatcher.Mode.sync, .serial, .async] {
      for stores in [2, 10, 100] {
        register("\(mode), waitFor chain over \(stores) stores", mode) {
          (0..<stores).map { $0 == 0 ? [] : [$0 - 1] }
        }
      }
      register("\(mode), waitFor diamond", mode) { [[], [0], [0], [1, 2]] }
    }
  }

  /// - Parameter waits: The stores that each store waits for; the last store opens the gate.
  private static func register(
    _ name: String, _ mode: Dispatcher.Mode, _ waits: @escaping () -> [[Int]]
  ) {
    measure(name) {
      Group(waits())
    } batch: { group, count in
      group.gate.produce(count) { group.dispatcher.dispatch(action: Add($0), mode: mode) }
    }
  }

  private struct Group: Sendable {
    let dispatcher = Dispatcher(name: "waitFor")
    let gate = BurstGate()

    init(_ waits: [[Int]]) {
      for (index, others) in waits.enumerated() {
        let counter = Counter(gate: index == waits.count - 1 ? gate : nil)
        dispatcher.register(
          store: Store(identifier: "\(index)", model: counter, reducer: PlainReducer()),
          waitFor: WaitFor(others.map(String.init)))
      }
    }
  }
}
