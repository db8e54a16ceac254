@testable import DispatchStore

extension Dispatcher {
  /// Returns once no timer is left: the thread that has set or ended one may be about to remove it.
  func timersAreGone() async {
    while timers.count > 0 { await Task.yield() }
  }
}
