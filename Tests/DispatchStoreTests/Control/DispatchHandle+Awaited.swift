@testable import DispatchStore

extension DispatchHandle {
  /// Returns once something waits for the end: its wait is in the graph of waits then.
  func waitUntilAwaited() async {
    while dispatch?.details.map({ $0.withState(\.waiterCount) }) ?? 0 == 0, !hasEnded {
      await Task.yield()
    }
  }
}
