import DispatchStoreTesting
import Testing

@testable import DispatchStore

/// A dispatcher on a virtual clock, with a stage whose scripts note when they begin.
struct PacingStage: Sendable {
  let it = GateStage()

  var clock: VirtualClock { it.clock }
  var dispatcher: Dispatcher { it.dispatcher }
  /// The names of what has begun, with the second in which it did.
  var log: Recorder<String> { it.log }

  func notes(_ name: String) -> Script {
    .runs(name) { [clock, log] _ in log.record("\(name) at \(clock.now.offset.components.seconds)")
    }
  }

  func fails(_ name: String = "fails") -> Script {
    .runs(name) { _ in throw StageFright() }
  }

  func run(_ script: Script, _ way: Way, _ options: DispatchOptions) -> Task<DispatchResult, Never>
  {
    it.run(script, way.mode, options, sends: way.sends)
  }
}

extension RateLimit {
  /// Returns once so many dispatches wait.
  func waiting(_ count: Int) async {
    while statistics.waiting != count { await Task.yield() }
  }

  /// Returns once all buckets are full.
  func isFull() async {
    while statistics.keys > 0 { await Task.yield() }
  }
}

extension Way {
  /// All but `.sync`.
  static let queued = all.filter { $0.mode != .sync }
}
