import DispatchStore
import Testing

@Suite("A store that runs regardless", .timeLimit(.minutes(10)))
struct RunsRegardlessTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()
  private let handles = Recorder<DispatchHandle>()

  /// How the store ends during whose run the dispatch is cancelled.
  enum First: CaseIterable {
    case returning, throwing, callback, suspending

    /// The block cancels its own dispatch, whose handle is recorded once `dispatch` has returned.
    func answer(
      _ action: Ping, _ store: ProbeStore, _ cancel: @escaping @Sendable () -> Void
    ) -> ActionOperation<Int, Ping> {
      switch self {
      case .returning:
        ActionOperation(action: action, store: store) { _, _ in cancel() }
      case .throwing:
        ActionOperation(action: action, store: store) { _, _ in
          cancel()
          throw PingFailure()
        }
      case .callback:
        ActionOperation(action: action, store: store) { operation, _, _ in
          cancel()
          operation.finish(throwing: CancellationError())
        }
      case .suspending:
        ActionOperation(action: action, store: store) { _, _ async throws in
          cancel()
          try Task.checkCancellation()
        }
      }
    }
  }

  /// Registers store "first", in whose block the dispatch is cancelled.
  private func addFirst(_ first: First) {
    let handles = handles
    let reducer = ClosureReducer<Int, Ping> { action, store in
      first.answer(action, store) {
        handles.waitFor(1)
        handles.all[0].cancel()
      }
    }
    dispatcher.register(store: ProbeStore(identifier: "first", model: 0, reducer: reducer))
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, First.allCases)
  func runsWhereItsDispatchIsCancelledMeanwhile(mode: Dispatcher.Mode, first: First) async {
    addFirst(first)
    dispatcher.addProbe("plain", waitFor: ["first"], to: steps)
    for style in OperationStyle.allCases {
      dispatcher.addProbe(
        "audit \(style)", waitFor: WaitFor(["first"], runsRegardless: true), style: style, to: steps
      )
    }
    dispatcher.addProbe("after audit", waitFor: ["audit suspending"], to: steps)
    let handle = dispatcher.dispatch(action: Ping(), mode: mode)
    handles.record(handle)
    let result = await handle.result
    for style in OperationStyle.allCases {
      #expect(result["audit \(style)"].isFinished == true)
      #expect(steps.all.contains("-audit \(style)"))
    }
    #expect(result["after audit"].isCancelled == true)
    #expect(result["plain"].isCancelled == true)
    #expect(!steps.all.contains("+plain"))
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func isNotCancelledItselfWhereItStartsAfterwards(mode: Dispatcher.Mode) async {
    addFirst(.returning)
    let seen = Recorder<Bool>()
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { operation, _, _ in
        seen.record(operation.isCancelled)
        operation.finish()
      }
    }
    dispatcher.register(
      store: ProbeStore(identifier: "audit", model: 0, reducer: reducer),
      waitFor: WaitFor(["first"], runsRegardless: true))
    let handle = dispatcher.dispatch(action: Ping(), mode: mode)
    handles.record(handle)
    #expect(await handle.result["audit"].isFinished == true)
    #expect(seen.all == [false])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func isCancelledAsAnyOtherOnceItRuns(mode: Dispatcher.Mode) async {
    let running = Latch()
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { _, _ async throws in
        running.open()
        try await Task.sleep(for: .seconds(3_600))
      }
    }
    dispatcher.register(
      store: ProbeStore(identifier: "audit", model: 0, reducer: reducer),
      waitFor: WaitFor([], runsRegardless: true))
    let handle = dispatcher.dispatch(action: Ping(), mode: mode)
    await running.opened()
    handle.cancel()
    #expect(await handle.result["audit"].isCancelled == true)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func doesNotRunWhereItsDispatchWasCancelledBeforeItsStart(mode: Dispatcher.Mode) async {
    dispatcher.addProbe("first", to: steps)
    dispatcher.addProbe(
      "audit", waitFor: WaitFor(["first"], runsRegardless: true), to: steps)
    let latch = Latch()
    let other = Dispatcher()
    let before = other.addStage().dispatch(.suspends { _ in await latch.opened() }, mode: .async)
    let handle = dispatcher.dispatch(action: Ping(), mode: mode, options: .after(before))
    handle.cancel()
    let result = await handle.result
    latch.open()
    #expect(result["first"].isCancelled == true)
    #expect(result["audit"].isCancelled == true)
    #expect(steps.all.isEmpty)
    _ = await before.result
  }
}
