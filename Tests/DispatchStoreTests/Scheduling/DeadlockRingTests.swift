import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// Rings of waits that pass through hooks, deliveries and tasks are refused.
@Suite("Rings of waits", .timeLimit(.minutes(30)))
struct DeadlockRingTests {
  let dispatcher = Dispatcher()
  let results = Recorder<DispatchResult>()

  init() {
    dispatcher.addStage()
  }

  /// Dispatches `.sync` after a dispatch on a lane; the result.
  private static func waitsBehind(
    _ dispatcher: Dispatcher, _ mode: Dispatcher.Mode
  ) -> DispatchResult? {
    let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: mode)
    let after = dispatcher.dispatch(
      action: Script.adds("after"), mode: .sync, options: .after(behind))
    return after.resultIfEnded
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aHookOfWhatAnAsyncBlockDispatches(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, action, _ in
        if (action as? Script)?.description == "hooked",
          let result = Self.waitsBehind(dispatcher, mode)
        {
          results.record(result)
        }
        return .pass
      }))
    let script = Script.suspends { _ in
      await Task.yield()
      for inner in [Dispatcher.Mode.async, .sync, .serial(lane: "other")] {
        dispatcher.dispatch(action: Script.runs("hooked") { _ in }, mode: inner)
      }
    }
    #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    let codes = results.all.map(\.errorCode)
    #expect(codes == [.wouldDeadlock, .wouldDeadlock, .wouldDeadlock])
  }

  @Test func aThreadThatDeliversForOthers() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      let observed = dispatcher.addStage("observed")
      let stage = dispatcher.addStage("stage")
      let refused = Recorder<DispatchResult?>()
      let waits: @Sendable () -> Void = {
        refused.record(Self.waitsBehind(dispatcher, .serial))
      }
      let token = observed.observe { change in
        guard change.model.last == "first" else { return }
        dispatcher.dispatch(
          storeIdentifier: "observed", action: Script.adds("left"), mode: .sync)
      }
      async let first = dispatcher.dispatch(
        storeIdentifier: "observed", action: Script.adds("first"), mode: .sync
      ).result
      let block = Script.suspends { _ in
        observed.updateModel { $0.append("second") }
        waits()
      }
      async let second = dispatcher.dispatch(
        storeIdentifier: "stage", action: block, mode: .serial
      ).result
      for result in await [first, second] where !result.isSuccess { throw StageFright() }
      if refused.all.map({ $0?.errorCode }) != [.wouldDeadlock] { throw StageFright(place: 1) }
      withExtendedLifetime((token, stage)) {}
    }
  }

  /// The commit of a dispatch is left to a thread whose block holds a lane: its completion waits for that.
  @Test func aCompletionOnAThreadThatDeliversForOthers() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      let observed = dispatcher.addStage("observed")
      dispatcher.addStage("stage")
      let token = observed.observe { change in
        guard change.model.last == "first" else { return }
        dispatcher.dispatch(
          storeIdentifier: "observed", action: Script.adds("left"), mode: .sync
        ) {
          _ = Self.waitsBehind(dispatcher, .serial)
        }
      }
      async let first = dispatcher.dispatch(
        storeIdentifier: "observed", action: Script.adds("first"), mode: .sync
      ).result
      let block = Script.suspends { _ in observed.updateModel { $0.append("second") } }
      async let second = dispatcher.dispatch(
        storeIdentifier: "stage", action: block, mode: .serial
      ).result
      for result in await [first, second] where !result.isSuccess { throw StageFright() }
      withExtendedLifetime(token) {}
    }
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func awaitingItWithATaskExecutorPreference(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    let script = Script.suspends { _ in
      await withTaskExecutorPreference(globalConcurrentExecutor) {
        results.record(
          await dispatcher.dispatch(action: Script.adds("inner"), mode: mode).result)
      }
      results.record(await dispatcher.dispatch(action: Script.adds("inner"), mode: mode).result)
    }
    #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aSyncWaitInAnImmediateTask(_ mode: Dispatcher.Mode) async {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let (dispatcher, results) = (dispatcher, results)
    let waits: @Sendable () -> Void = {
      _ = Task.immediate {
        if let result = Self.waitsBehind(dispatcher, mode) { results.record(result) }
      }
    }
    let scripts = [Script.runs { _ in waits() }, Script.suspends { _ in waits() }]
    for script in scripts {
      #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    }
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
  }
}
