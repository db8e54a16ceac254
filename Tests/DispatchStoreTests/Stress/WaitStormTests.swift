import DispatchStore
import Foundation
import Testing

/// Dispatches that others find, cancel and wait for at any moment.
@Suite("Storms of waits", .serialized, .timeLimit(.minutes(5)))
struct WaitStormTests {
  /// Each task makes so many dispatches; all of them end.
  private func storm(
    _ dispatcher: Dispatcher,
    _ step: @escaping @Sendable (inout SystemRandomNumberGenerator, Int) async -> Void
  ) async {
    await withTaskGroup { group in
      for producer in 0..<6 {
        group.addTask {
          var random = SystemRandomNumberGenerator()
          for _ in 0..<Load.count(1_000) { await step(&random, producer) }
        }
      }
    }
    let report = await dispatcher.drain()
    #expect(report.isComplete, "\(report)")
  }

  /// Also where a search for deadlocks comes to a dispatch while its task takes it to its lane.
  @Test func whatMovesToItsLaneMayBeWaitedFor() async {
    let dispatcher = Dispatcher()
    dispatcher.addStage()
    dispatcher.addStage("other")
    await storm(dispatcher) { random, producer in
      let key = Int.random(in: 0..<4, using: &random)
      let lane = Dispatcher.Mode.serial(lane: Int.random(in: 0..<4, using: &random))
      let script = Script.adds("x")
      let options: DispatchOptions =
        switch Int.random(in: 0..<3, using: &random) {
        case 0: .debounced(key, for: .microseconds(20))
        case 1: .throttled(key, per: .microseconds(20), edges: .both)
        default: .idempotencyKey(key, remembered: .zero)
        }
      switch producer % 3 {
      case 0:
        await dispatcher.send(script, to: "stage", mode: lane, options: [options, .named(key)])
      case 1:
        let waits = Script.suspends { _ in
          for handle in dispatcher.dispatches(named: key) { await handle.ended() }
        }
        await dispatcher.send(waits, to: "other", mode: .serial(lane: producer))
      default:
        await onOwnThread {
          dispatcher.dispatch(
            storeIdentifier: "stage", action: script, mode: .sync, options: options)
          for handle in dispatcher.dispatches(named: key) { handle.wait() }
        }
      }
    }
  }

  /// Also where a name finds a dispatch that its scheduler has not yet, and whose record was used in a lane that is gone.
  @Test func whatIsNamedMayBeCancelledAtAnyMoment() async {
    let limits = DispatchLimits(
      lanes: DispatchLimit(64, overflow: .dropOldest),
      queue: DispatchLimit(64, overflow: .dropOldest))
    let dispatcher = Dispatcher(limits: limits)
    dispatcher.addStage()
    await storm(dispatcher) { random, producer in
      let name = Int.random(in: 0..<3, using: &random)
      let lane = Dispatcher.Mode.serial(lane: Int.random(in: 0..<1_000, using: &random))
      let script = Script.adds("x")
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        dispatcher.cancel(named: name)
      case 1:
        let task = Task {
          await dispatcher.send(script, mode: lane, options: .named(name))
        }
        task.cancel()
        _ = await task.value
      case 2:
        await dispatcher.dispatch(action: script, mode: lane, options: .named(name)).ended()
      default:
        dispatcher.dispatch(
          action: script, mode: producer == 0 ? .async : lane, options: .named(name))
      }
    }
  }
}
