import DispatchStore
import Foundation
import Testing

/// A stream that records each write.
private final class WriteLog: TextOutputStream, Sendable {
  let writes = Recorder<String>()

  func write(_ string: String) {
    writes.record(string)
  }
}

@Suite(.timeLimit(.minutes(10)))
struct LoggerMiddlewareTests {
  private let dispatcher = Dispatcher()
  private let lines = Recorder<String>()

  private func log() {
    let lines = lines
    dispatcher.register(middleware: LoggerMiddleware { lines.record($0) })
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
    let place = "→ account, \(mode), DispatchStoreTests/LoggerMiddlewareTests.swift:\(line)"
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

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStreamIsWrittenToWholeLineByWholeLine(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let sink = WriteLog()
    dispatcher.register(store: .counter("account"))
    dispatcher.register(middleware: LoggerMiddleware(to: sink))
    let ends = Recorder<Bool>()
    await onOwnThreads(4) { _ in
      for _ in 0..<50 {
        dispatcher.dispatch(CounterAction.add(1), mode: mode) {
          ends.record($0.isSuccess)
        }
      }
    }
    _ = await ends.first(200)
    let writes = sink.writes.all
    #expect(writes.count == 400)
    #expect(writes.allSatisfy { $0.firstIndex { $0.isNewline } == $0.indices.last })
    #expect(writes.count { $0.contains(" will add(1) ") } == 200)
    #expect(writes.count { $0.contains(" did add(1) ") && $0.contains(": finished, ") } == 200)
  }

  /// The logger writes to a stream from one thread at a time, so that it need not be thread-safe.
  @Test func aStreamIsNeverWrittenToByTwoThreadsAtOnce() async {
    struct Guarded: TextOutputStream {
      let inside = NSLock()
      let overlaps: Recorder<String>
      mutating func write(_ string: String) {
        guard inside.try() else { return overlaps.record(string) }
        inside.unlock()
      }
    }
    let dispatcher = dispatcher
    let overlaps = Recorder<String>()
    dispatcher.register(store: .counter("account"))
    dispatcher.register(middleware: LoggerMiddleware(to: Guarded(overlaps: overlaps)))
    await onOwnThreads(4) { _ in
      for _ in 0..<100 { dispatcher.dispatch(action: CounterAction.add(1), mode: .sync) }
    }
    #expect(overlaps.all.isEmpty)
  }

  @Test func aClosureMayDispatch() async {
    let dispatcher = dispatcher
    let store = dispatcher.register(store: .counter("account"))
    let notes = dispatcher.addProbe("notes", to: Recorder())
    dispatcher.register(
      middleware: LoggerMiddleware { line in
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
      dispatcher.register(middleware: LoggerMiddleware())
      dispatcher.dispatch(action: CounterAction.add(5), mode: .sync)
    }
    let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(text.contains(" will add(5) → account, sync, "))
    #expect(text.contains(" did add(5) → account, sync, "))
    let output = result.map { String(decoding: $0.standardOutputContent, as: UTF8.self) } ?? ""
    #expect(!output.contains("add(5)"))
  }
}
