import DispatchStoreTesting

@testable import DispatchStore

extension GateStage {
  func runs(_ name: String) -> Script {
    .runs(name) { [log] _ in log.record("runs \(name)") }
  }

  /// Begins a dispatch, and returns once it is pending.
  func pending(
    _ name: String, _ way: Way, _ options: DispatchOptions
  ) async -> Task<DispatchResult, Never> {
    let task = begin(name, way, options)
    while !dispatcher.scheduled.contains(where: { "\($0.actions[0])" == name }) {
      await Task.yield()
    }
    return task
  }

  func begin(
    _ name: String, _ way: Way, _ options: DispatchOptions
  ) -> Task<DispatchResult, Never> {
    dispatcher.begin(runs(name), way.mode, options, sends: way.sends) { [log] in
      log.record("\(name) \($0.dispatchError?.code.description ?? "\($0.isSuccess)")")
    }
  }

  /// Returns once all timers of the present time have fired.
  func comeToRest() async {
    let rest = Latch()
    _ = dispatcher.timers.add(at: dispatcher.clock.nanoseconds + 1) { rest.open() }
    clock.advance(by: .nanoseconds(1))
    await rest.opened()
  }

  var names: [String?] { dispatcher.scheduled.map(\.name) }

  /// Returns once all threads have left what they were about to do with the schedules.
  func nothingRemains() async -> Bool {
    await dispatcher.timersAreGone()
    return dispatcher.scheduled.isEmpty && dispatcher.delayedDispatches.count == 0
  }
}
