import DispatchStore
import Foundation
import Testing

/// The order that a program may rely on, per dispatch.
@Suite("Order within a dispatch", .timeLimit(.minutes(10)))
struct OrderTests {
  static let order = [
    "first will stage", "second will stage", "block", "observer sees [\"commit\"]",
    "second did stage", "first did stage", "completion", "await",
  ]

  var (dispatcher, stage) = makeStage()
  let log = Recorder<String>()

  private func script(_ kind: BlockKind) -> Script {
    let log = log
    return .answers { action, store in
      switch kind {
      case .returning:
        Script.Operation(action: action, store: store) { _, store in
          log.record("block")
          store.updateModel { $0.append("commit") }
        }
      case .controlled:
        Script.Operation(action: action, store: store) { operation, _, store in
          log.record("block")
          operation.finish()
          store.updateModel { $0.append("commit") }
        }
      case .calledBack:
        Script.Operation(action: action, store: store) { operation, _, _ in
          log.record("block")
          DispatchQueue.global().async {
            operation.updateModel { $0.append("commit") }
            operation.finish()
          }
        }
      case .suspending:
        Script.Operation(action: action, store: store) { _, store in
          log.record("block")
          await Task.yield()
          store.updateModel { $0.append("commit") }
        }
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, BlockKind.allCases)
  func isTheSameInEveryMode(_ mode: Dispatcher.Mode, _ kind: BlockKind) async {
    let (dispatcher, log) = (dispatcher, log)
    dispatcher.register(middleware: RecordingMiddleware("first", to: log))
    dispatcher.register(middleware: RecordingMiddleware("second", to: log))
    let token = stage.observe(.model) { log.record("observer sees \($0.value)") }
    let script = script(kind)
    let handle = await onOwnThread {
      let handle = dispatcher.dispatch(action: script, mode: mode) { log.record("completion") }
      if mode == .sync { #expect(log.all == Array(Self.order.dropLast())) }
      return handle
    }
    _ = await handle.result
    log.record("await")
    #expect(log.all == Self.order)
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theCompletionReadsWhatWasWritten(_ mode: Dispatcher.Mode) async {
    let (dispatcher, stage) = (dispatcher, stage)
    let read = Recorder<[String]>()
    dispatcher.dispatch(action: Script.adds("written"), mode: mode) { read.record(stage.model) }
    #expect(await read.first(1) == [["written"]])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func allStoresHaveEndedWhenTheCompletionRuns(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    dispatcher.addStage("second", waitFor: ["stage"])
    dispatcher.addStage("third")
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let script = Script.suspends { _ in await Task.yield() }
    let handle = await onOwnThread {
      dispatcher.dispatch(action: script, mode: mode) { log.record("completion") }
    }
    _ = await handle.result
    #expect(log.all.last == "completion")
    #expect(log.all.filter { $0.contains("did") }.count == 3)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aNestedDispatchDoesNotOverwriteTheOuterOne(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    let script = Script.runs { store in
      dispatcher.dispatch(action: Script.adds("nested"), mode: .sync) { log.record("nested") }
      store.updateModel { $0.append("outer") }
    }
    let handle = dispatcher.dispatch(action: script, mode: mode) { log.record("outer") }
    #expect(await handle.result.isSuccess)
    #expect(log.all == ["nested", "outer"])
    #expect(stage.model == ["nested", "outer"])
  }
}
