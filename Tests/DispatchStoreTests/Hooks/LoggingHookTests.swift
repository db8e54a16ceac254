import DispatchStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct LoggingHookTests {
  private let dispatcher = Dispatcher()
  private let lines = Recorder<String>()

  private func log() {
    let lines = lines
    dispatcher.register(.logging { lines.record($0) })
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func linesCarryTransactionActionStoreModeCallSiteOutcomeAndDuration(mode: Dispatcher.Mode) async {
    dispatcher.register(store: .counter("account"))
    log()
    let handle = dispatcher.dispatch(action: CounterAction.add(5), mode: mode)
    let line = #line - 1
    _ = await handle.result
    #expect(lines.count == 2)
    let start = "\(handle.dispatchID)"
    let place = "→ account, \(mode), DispatchStoreTests/LoggingHookTests.swift:\(line)"
    #expect(lines.all.first == "\(start) will add(5) \(place)\n")
    let end = lines.all.last ?? ""
    #expect(end.hasPrefix("\(start) did add(5) \(place): finished, "))
    #expect(end.wholeMatch(of: /.*: finished, [0-9]+ µs, queued [0-9]+ µs\n/) != nil)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theParentIsNamed(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let inner = Recorder<DispatchHandle>()
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { _, _ in
        inner.record(dispatcher.dispatch(action: CounterAction.add(1), mode: mode))
      }
    }
    dispatcher.register(store: ProbeStore(identifier: "p", model: 0, reducer: reducer))
    dispatcher.register(store: .counter("account"))
    log()
    let outer = dispatcher.dispatch(action: Ping(), mode: mode)
    let nested = await inner.first(1)[0]
    _ = await (outer.result, nested.result)
    let ofNested = lines.all.filter { $0.contains("account") }
    #expect(ofNested.count == 2)
    for line in ofNested {
      #expect(line.hasPrefix("\(nested.dispatchID) in \(outer.dispatchID) "))
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theOutcomeIsLoggedForStoresThatDidNotFinish(mode: Dispatcher.Mode) async {
    dispatcher.register(store: .counter("account"))
    log()
    _ = await dispatcher.dispatch(action: CounterAction.fail(3), mode: mode).result
    #expect(lines.all.last?.contains(": failed: CounterFailure(amount: 3), ") == true)
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, _ in .veto(reason: "closed") }))
    _ = await dispatcher.dispatch(action: CounterAction.add(3), mode: mode).result
    #expect(lines.all.last?.contains(": vetoed by RecordingMiddleware: closed, ") == true)
  }

  @Test func newlinesWithinALineAreEscaped() async {
    dispatcher.register(store: .counter("two\nlines"))
    log()
    _ = await dispatcher.dispatch(action: CounterAction.note("a\r\n\nb"), mode: .sync).result
    #expect(lines.count == 2)
    for line in lines.all {
      #expect(line.last == "\n")
      #expect(line.split(omittingEmptySubsequences: false) { $0.isNewline }.count == 2)
      #expect(line.contains("→ two\\nlines, sync"))
    }
  }

  @Test func aClosureMayDispatch() async {
    let dispatcher = dispatcher
    let store = dispatcher.register(store: .counter("account"))
    let notes = dispatcher.addProbe("notes", to: Recorder())
    dispatcher.register(
      .logging { line in
        if line.contains("account") { notes.dispatch(Ping(), mode: .sync) }
      })
    _ = await store.dispatch(.add(1), mode: .serial).result
    #expect(notes.model == 2)
  }

  @Test func standardErrorIsTheDefault() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent, \.standardOutputContent]
    ) {
      let dispatcher = Dispatcher()
      dispatcher.register(store: .counter("account"))
      dispatcher.register(.logging())
      dispatcher.dispatch(action: CounterAction.add(5), mode: .sync)
    }
    #expect(result.message.contains(" will add(5) → account, sync, "))
    #expect(result.message.contains(" did add(5) → account, sync, "))
    let output = result.map { String(decoding: $0.standardOutputContent, as: UTF8.self) } ?? ""
    #expect(!output.contains("add(5)"))
  }
}
