import DispatchStoreTesting
import Testing

@testable import DispatchStore

/// Makes a stage that a dispatcher on a virtual clock has.
func makeClockedStage() -> (clock: VirtualClock, dispatcher: Dispatcher, stage: Stage) {
  let clock = VirtualClock()
  let (dispatcher, stage) = makeStage(Dispatcher(clock: clock))
  return (clock, dispatcher, stage)
}

func expectTimedOut(
  _ result: DispatchResult, after limit: Duration = .seconds(1),
  _ location: SourceLocation = #_sourceLocation
) {
  #expect(result.dispatchError?.code == .timedOut, "\(result)", sourceLocation: location)
  #expect(result.dispatchError?.timeLimit == limit, sourceLocation: location)
  #expect(!result.isSuccess, sourceLocation: location)
}

/// A dispatcher on a virtual clock, with a stage and a log, for tests of what dispatches wait for before they start.
struct GateStage: Sendable {
  /// In which a task that sends begins on its own thread.
  static let inlineModes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "named")]

  var (clock, dispatcher, stage) = makeClockedStage()
  let log = Recorder<String>()

  /// A block that notes its begin and its end, and waits for a latch between them.
  func holds(_ name: String, until free: Latch) -> Script {
    .suspends(name) { [log] _ in
      log.record("+\(name)")
      await free.opened()
      log.record("-\(name)")
    }
  }

  func notes(_ name: String) -> Script {
    .runs(name) { [log] _ in log.record(name) }
  }

  /// Runs in a mode: `.sync` on a thread of its own; or sends, as far as that comes on this thread.
  func run(
    _ script: Script, _ mode: Dispatcher.Mode = .async, _ options: DispatchOptions,
    sends: Bool = false
  ) -> Task<DispatchResult, Never> {
    guard sends, mode != .sync else { return dispatcher.begin(script, mode, options) }
    return Task.immediate { [dispatcher] in
      (await dispatcher.send(script, mode: mode, options: options)).result
    }
  }

  /// Dispatches one that has begun, and goes on until the latch opens.
  func begin(
    _ name: String, until free: Latch, _ mode: Dispatcher.Mode = .async, _ options: DispatchOptions,
    sends: Bool = false
  ) async -> Task<DispatchResult, Never> {
    let begun = Latch()
    let script = Script.suspends(name) { [log] _ in
      log.record("+\(name)")
      begun.open()
      await free.opened()
      log.record("-\(name)")
    }
    let task = run(script, mode, options, sends: sends)
    await begun.opened()
    return task
  }

  /// Makes a lane one with priorities, and dispatches "holder", which has it until the latch opens.
  func holdPrioritized(
    _ mode: Dispatcher.Mode, until free: Latch
  ) async -> Task<DispatchResult, Never> {
    dispatcher.usePriorities(in: mode)
    return await begin("holder", until: free, mode, .init())
  }

  /// Whether no dispatch has a key or waits for one.
  var isClean: Bool { dispatcher.exclusionTable.isEmpty }
}
