@testable import DispatchStore

extension Dispatcher {
  /// Returns once no timer is left: the thread that has set or ended one may be about to remove it.
  func timersAreGone() async {
    while timers.count > 0 { await Task.yield() }
  }

  /// Returns once no lane is left: a thread of the queue leaves a lane after its last dispatch has ended.
  func lanesAreGone() async {
    while laneCount > 0 { await Task.yield() }
  }

  /// Returns once there are so many timers.
  func timersAreSet(_ count: Int) async {
    while timers.count < count { await Task.yield() }
  }
}
