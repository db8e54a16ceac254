import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("What blocks pass on to what they dispatch", .timeLimit(.minutes(10)))
struct InheritanceTests {
  let clock = VirtualClock()
  let dispatcher: Dispatcher
  let log = Recorder<String>()
  let handles = Recorder<DispatchHandle>()

  init() {
    dispatcher = Dispatcher(clock: clock)
    dispatcher.addStage("outer")
    dispatcher.addStage("inner")
    dispatcher.addDesk()
  }

  /// A block that runs until it is cancelled, or the latch opens.
  private func holds(_ name: String, until free: Latch = Latch()) -> Script {
    .suspends { [log] _ in
      log.record("+\(name)")
      await free.openedOrCancelled()
      log.record("-\(name)")
      try Task.checkCancellation()
    }
  }

  /// A block that dispatches by a closure, and runs until it is cancelled, or the latch opens.
  private func outer(
    _ style: OperationStyle = .suspending, until free: Latch = Latch(),
    _ body: @escaping @Sendable () -> Void
  ) -> Script {
    switch style {
    case .returning:
      // Waits on its thread, where it began.
      return .answers { action, store in
        Script.Operation(action: action, store: store) { _, _ in
          body()
          free.wait()
        }
      }
    case .callback:
      return .controls { [log] operation, _ in
        body()
        Task.detached {
          await free.opened()
          log.record("callback \(operation.isCancelled)")
          operation.finish()
        }
      }
    default:
      return .suspends { _ in
        body()
        await free.openedOrCancelled()
      }
    }
  }

  private func dispatchInner(
    _ mode: Dispatcher.Mode, _ options: DispatchOptions = .after(), until free: Latch = Latch()
  ) {
    handles.record(
      dispatcher.dispatch(
        storeIdentifier: "inner", action: holds("inner", until: free), mode: mode,
        options: options))
  }

  /// Cancels a dispatch while its block is held after a closure, and lets it end.
  private func cancelOuter(after body: @escaping @Sendable () -> Void) async {
    let (held, go) = (Latch(), Latch())
    let handle = dispatchOuter(
      outer {
        body()
        held.open()
        go.wait()
      })
    await held.opened()
    handle.cancel()
    go.open()
    await handle.ended()
  }

  private func dispatchOuter(
    _ script: Script, _ options: DispatchOptions = .after()
  ) -> DispatchHandle {
    dispatcher.dispatch(
      storeIdentifier: "outer", action: script, mode: .serial(lane: "outer"), options: options)
  }

  /// How an outer action is dispatched.
  enum Form: CaseIterable {
    case queued, queuedList, synchronous, synchronousList

    var isSync: Bool { self == .synchronous || self == .synchronousList }
    var isList: Bool { self == .queuedList || self == .synchronousList }
    var mode: Dispatcher.Mode { isSync ? .sync : .serial(lane: "outer") }
  }

  /// Dispatches an outer action in a form, with `.sync` on a thread of its own.
  private func begin(
    _ script: Script, _ form: Form, _ options: DispatchOptions
  ) -> Task<DispatchResult, Never> {
    @Sendable func start() -> DispatchHandle {
      form.isList
        ? dispatcher.dispatch(
          storeIdentifier: "outer", actions: [script], mode: form.mode, options: options)
        : dispatcher.dispatch(
          storeIdentifier: "outer", action: script, mode: form.mode, options: options)
    }
    if form.isSync { return Task { await onOwnThread { start().resultIfEnded! } } }
    let handle = start()
    return Task { await handle.result }
  }

  private static let inner: [Dispatcher.Mode] = [
    .async, .serial, .mainThread, .serial(lane: "inner"),
  ]

  @Test(arguments: inner, OperationStyle.operations)
  func cancellingADispatchCancelsWhatItsBlockHasDispatched(
    _ mode: Dispatcher.Mode, _ style: OperationStyle
  ) async {
    let free = Latch()
    let handle = dispatchOuter(outer(style, until: free) { dispatchInner(mode) })
    let inner = await handles.first(1)[0]
    _ = await log.first(1)
    handle.cancel()
    #expect(await inner.result["inner"].isCancelled == true)
    free.open()
    await handle.ended()
  }

  @Test(arguments: inner)
  func alsoThroughADispatchInBetweenWhichHasEnded(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    let handle = dispatchOuter(
      outer {
        let errand = Errand { _ in dispatchInner(mode) }
        dispatcher.dispatch(action: errand, mode: .serial(lane: "middle")) {
          log.record("middle")
        }
      })
    let inner = await handles.first(1)[0]
    #expect(await log.first(2).sorted() == ["+inner", "middle"])
    handle.cancel()
    #expect(await inner.result["inner"].isCancelled == true)
    #expect(await handle.result.stores.count == 1)
  }

  /// At any moment of its way to the end, its completion and what comes after that included.
  @Test(arguments: inner, [true, false])
  func alsoThroughOneThatIsAboutToEnd(_ mode: Dispatcher.Mode, completes: Bool) async {
    let (dispatcher, cancelled) = (dispatcher, Recorder<Int>())
    let cancel: @Sendable () -> Void = {
      cancelled.record(dispatcher.cancel(named: "outer"))
    }
    let handle = dispatchOuter(
      outer {
        let errand = Errand { _ in
          dispatchInner(mode)
          guard !completes else { return }
          dispatcher.dispatches(named: "middle")[0].dispatch?.at(.beforeResult, cancel)
        }
        dispatcher.dispatch(
          action: errand, mode: .serial(lane: "middle"), options: .named("middle")
        ) {
          if completes { cancel() }
        }
      }, .named("outer"))
    let inner = await handles.first(1)[0]
    #expect(await inner.result["inner"].isCancelled == true)
    #expect(await cancelled.first(1) == [1])
    await handle.ended()
  }

  @Test(arguments: inner)
  func alsoOfAnEarlierActionOfASequence(_ mode: Dispatcher.Mode) async {
    let log = log
    let sequence = dispatcher.dispatch(
      storeIdentifier: "outer",
      actions: [Script.runs { _ in dispatchInner(mode) }, holds("second")],
      mode: .serial(lane: "outer"))
    let inner = await handles.first(1)[0]
    _ = await log.first(2)
    sequence.cancel()
    #expect(await inner.result["inner"].isCancelled == true)
    #expect(!(await sequence.result.isSuccess))
  }

  @Test(arguments: inner)
  func afterItsEndItIsNotCancelled(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let handle = dispatchOuter(.runs { _ in dispatchInner(mode, until: free) })
    let inner = await handles.first(1)[0]
    #expect(await handle.result.isSuccess)
    handle.cancel()
    #expect(!inner.hasEnded)
    free.open()
    #expect(await inner.result.isSuccess)
  }

  @Test(arguments: inner)
  func whatIsDetachedIsNotCancelled(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let handle = dispatchOuter(
      outer { dispatchInner(mode, .detached, until: free) }, .timeout(.seconds(1)))
    let inner = await handles.first(1)[0]
    handle.cancel()
    await handle.ended()
    clock.advance(by: .seconds(2))
    #expect(!inner.hasEnded)
    free.open()
    #expect(await inner.result.isSuccess)
  }

  /// Reductions and blocks, behind a busy lane too, in a block that was cancelled or has timed out.
  @Test(arguments: Dispatcher.Mode.queuedModes, [true, false])
  func whatIsSentDetachedRunsToItsEnd(_ mode: Dispatcher.Mode, timesOut: Bool) async {
    let (dispatcher, log, clock) = (dispatcher, log, clock)
    let (began, isBusy, free) = (Latch(), Latch(), Latch())
    let limit = DispatchLimit(1, overflow: .wait)
    let handle = dispatchOuter(
      .suspends { _ in
        began.open()
        await Latch().openedOrCancelled()
        await isBusy.opened()
        for script in [
          Script.adds("block"),
          .suspends { stage in
            try await Task.sleep(for: .milliseconds(1))
            await Task.yield()
            stage.updateModel { $0.append("async \(Task.isCancelled)") }
          },
        ] {
          let result = await dispatcher.send(
            script, to: "inner", mode: mode, options: [.detached, .limited(by: limit)]
          ) { _ in log.record("completion") }
          log.record("\(result.isSuccess)")
        }
        log.record("\(await dispatcher.send(Script.adds("plain"), to: "inner").isSuccess)")
        let late = await dispatcher.send(
          Script.suspends { _ in try await waits(for: Latch()) }, to: "inner", mode: mode,
          options: [.detached, .timeout(.seconds(0))])
        log.record("\(late.dispatchError?.code == .timedOut)")
      }, .timeout(.seconds(1)))
    await began.opened()
    if timesOut {
      await clock.pass(.seconds(1))
    } else {
      handle.cancel()
    }
    let holder = dispatcher.dispatch(
      storeIdentifier: "outer", action: holds("holder", until: free), mode: mode,
      options: .limited(by: limit))
    _ = await log.first(1)
    isBusy.open()
    free.open()
    await holder.ended()
    let ended = await log.first(8)
    #expect(
      ended.dropFirst(2) == ["completion", "true", "completion", "true", "false", "true"])
    #expect((dispatcher.store(with: "inner") as! Stage).model == ["block", "async false"])
    await handle.ended()
  }

  /// The wait of the block that sends it is seen.
  @Test func whatIsSentDetachedInItsOwnLaneIsRefused() async {
    let (dispatcher, log) = (dispatcher, log)
    let handle = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        let result = await dispatcher.send(
          Script.adds("x"), to: "inner", mode: .serial(lane: "outer"), options: .detached)
        log.record("\(result.dispatchError?.code == .wouldDeadlock)")
      }, mode: .serial(lane: "outer"))
    #expect(await log.first(1) == ["true"])
    await handle.ended()
    #expect((dispatcher.store(with: "inner") as! Stage).model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Form.allCases)
  func whatACancelledBlockDispatchesDoesNotBegin(_ mode: Dispatcher.Mode, _ form: Form) async {
    let (dispatcher, log, handles) = (dispatcher, log, handles)
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let (began, free) = (Latch(), Latch())
    let outer = begin(
      .controls { operation, _ in
        began.open()
        free.wait()
        for _ in 0..<2 {
          handles.record(
            dispatcher.dispatch(action: Errand.adds("ran"), mode: mode) {
              log.record("completion")
            })
        }
        operation.finish()
      }, form, .named("outer"))
    await began.opened()
    #expect(dispatcher.cancel(named: "outer") == 1)
    free.open()
    for inner in await handles.first(2) {
      let result = await inner.result
      #expect(result.error is CancellationError)
      #expect(result["desk"].isCancelled == true)
    }
    #expect(await log.first(4).filter { $0.hasSuffix("desk") }.isEmpty)
    #expect(log.all.filter { $0 == "completion" }.count == 2)
    _ = await outer.value
  }

  /// It starts nothing, and so it cancels nothing and takes no unit.
  @Test(arguments: GroupForm.allCases)
  func aGroupOfACancelledBlockLeavesOthersAlone(_ form: GroupForm) async {
    let dispatcher = dispatcher
    await expectOthersGoOn { group, options in
      let (results, begun, cancelled) = (Recorder<ActionGroupResult>(), Latch(), Latch())
      let block = dispatchOuter(
        .suspends { _ in
          begun.open()
          await cancelled.openedOrCancelled()
          results.record(await form.runHere(group, by: dispatcher, options: options))
        })
      await begun.opened()
      block.cancel()
      #expect(await results.first(1)[0].error is CancellationError)
      await block.ended()
    }
  }

  /// Expects of another group that it goes on while a closure runs a group with options that would end it.
  private func expectOthersGoOn(
    while run: (_ group: ActionGroup, _ options: DispatchOptions) async -> Void
  ) async {
    let limit = DispatchLimit(1, overflow: .reject)
    for options in [.cancelsPrevious("sync"), .limited(by: limit)] as [DispatchOptions] {
      let (free, held) = (Latch(), Recorder<String>())
      let first = dispatcher.dispatch(
        ActionGroup { ActionStep(Script.holds(in: held, until: free), to: "inner") },
        options: options)
      _ = await held.first(1)
      await run(ActionGroup { ActionStep(Script.adds("x"), to: "inner") }, options)
      free.open()
      #expect(await first.result.isSuccess)
    }
    #expect(limit.statistics.rejected == 0)
  }

  @Test func aGroupSentInACancelledTaskLeavesOthersAlone() async {
    let dispatcher = dispatcher
    await expectOthersGoOn { group, options in
      let result = await Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return await dispatcher.send(group, options: options)
      }.value
      #expect(result.error is CancellationError)
    }
  }

  /// Options by which a dispatch ends others, or keeps them from beginning.
  enum Displacing: CaseIterable { case cancelsPrevious, dropOldest, debounced, throttled, delayed }

  @Test(arguments: Dispatcher.Mode.queuedModes, Displacing.allCases)
  func whatACancelledTaskSendsLeavesOthersAlone(
    _ mode: Dispatcher.Mode, _ option: Displacing
  ) async {
    let options: DispatchOptions =
      switch option {
      case .cancelsPrevious: .cancelsPrevious("k")
      case .dropOldest: .limited(by: DispatchLimit(1, overflow: .dropOldest))
      case .debounced: .debounced("k", for: .seconds(1))
      case .throttled: .throttled("k", per: .seconds(1))
      case .delayed: .delayed(by: .seconds(1), name: "k")
      }
    let (dispatcher, log, free, started) = (dispatcher, log, Latch(), Latch())
    let held = dispatchOuter(.holds(opening: started, until: free))
    await started.opened()
    // It waits behind the one that holds the lane, and so it may be dropped.
    func dispatchOther() -> DispatchHandle {
      dispatcher.dispatch(
        storeIdentifier: "inner", action: Script.adds("other"), mode: .serial(lane: "outer"),
        options: options)
    }
    let before = option == .throttled ? nil : dispatchOther()
    let sent = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await dispatcher.send(
        Script.adds("x"), to: "inner", mode: mode, options: options
      ) { _ in log.record("completion") }
    }.value
    #expect(sent.error is CancellationError)
    #expect(log.all == ["completion"])
    let other = before ?? dispatchOther()
    if option == .debounced || option == .delayed {
      await clock.pass(.seconds(1))
    }
    free.open()
    #expect(await other.result.isSuccess)
    await held.ended()
    #expect((dispatcher.store(with: "inner") as? Stage)?.model == ["other"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whatABlockSendsIsCancelledWithItsTask(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log, script) = (dispatcher, log, holds("inner"))
    let handle = dispatchOuter(
      .suspends { _ in
        let result = await dispatcher.send(script, to: "inner", mode: mode)
        log.record("\(result["inner"])")
      })
    _ = await log.first(1)
    handle.cancel()
    #expect(await log.first(3) == ["+inner", "-inner", "cancelled"])
    await handle.ended()
  }

  /// Whatever its options, that is, in the caller's task or in one of its own; or as a step of a group, for nil.
  @Test(
    arguments: inner, [.after(), .exclusive("key"), .named("outer"), nil] as [DispatchOptions?])
  func cancellingTheTaskThatSendsCancelsWhatItsBlockHasDispatched(
    _ mode: Dispatcher.Mode, _ options: DispatchOptions?
  ) async {
    let (dispatcher, log, handles) = (dispatcher, log, handles)
    let sender = Task {
      let script = Script.suspends { _ in
        dispatchInner(mode)
        _ = await handles.all[0].result
        let late = dispatcher.dispatch(action: Errand.adds("ran"), mode: mode)
        log.record("late \(await late.result["desk"])")
      }
      if let options {
        await dispatcher.send(script, to: "outer", options: options)
      } else {
        await dispatcher.send(ActionGroup { ActionStep(script, to: "outer") })
      }
    }
    _ = await log.first(1)
    sender.cancel()
    #expect(await handles.first(1)[0].result["inner"].isCancelled == true)
    await sender.value
    #expect(log.all == ["+inner", "-inner", "late cancelled"])
    #expect((dispatcher.store(with: "desk") as! Desk).model.isEmpty)
  }

  /// In the caller's task, or in one of its own.
  @Test(
    arguments: Dispatcher.Mode.everyMode, [.after(), .named("outer")] as [DispatchOptions])
  func onceItsTaskIsCancelledNothingBeginsThatASentBlockDispatches(
    _ mode: Dispatcher.Mode, _ options: DispatchOptions
  ) async {
    let (dispatcher, log, handles) = (dispatcher, log, handles)
    let script = Script.suspends { _ in
      log.record("began")
      await Latch().openedOrCancelled()
      for options in [.after(), .named("inner")] as [DispatchOptions] {
        handles.record(
          dispatcher.dispatch(action: Errand.adds("ran"), mode: mode, options: options))
      }
    }
    let sender = Task { await dispatcher.send(script, to: "outer", options: options) }
    _ = await log.first(1)
    sender.cancel()
    for inner in await handles.first(2) {
      #expect(await inner.result["desk"].isCancelled == true)
    }
    _ = await sender.value
    #expect((dispatcher.store(with: "desk") as! Desk).model.isEmpty)
  }

  @Test(arguments: [false, true])
  func whatABlockSendsInAnUnstructuredTaskIsNotCancelledWithIt(isLaneBusy: Bool) async {
    let (dispatcher, log, free, results) = (dispatcher, log, Latch(), Recorder<Bool>())
    let counter = dispatcher.register(store: .counter("counter"))
    if isLaneBusy {
      dispatcher.dispatch(
        storeIdentifier: "inner", action: holds("inner", until: free), mode: .serial(lane: "busy"))
      _ = await log.first(1)
    }
    let handle = dispatchOuter(
      .suspends { _ in
        log.record("+outer")
        await Latch().openedOrCancelled()
        let sent = Task.immediate {
          await dispatcher.send(CounterAction.add(1), to: "counter", mode: .serial(lane: "busy"))
        }
        // The task has suspended once it waits for its lane.
        free.open()
        results.record(await sent.value.isSuccess)
      })
    _ = await log.first(isLaneBusy ? 2 : 1)
    handle.cancel()
    await handle.ended()
    #expect(results.all == [true] && counter.model.count == 1)
  }

  @Test(arguments: OperationStyle.operations)
  func aSynchronousDispatchThatWaitsInABlockIsCancelledWithIt(_ style: OperationStyle) async {
    let (dispatcher, log, script) = (dispatcher, log, holds("inner"))
    let done = Latch()
    done.open()
    let handle = dispatchOuter(
      outer(style, until: done) {
        let result = dispatcher.dispatch(storeIdentifier: "inner", action: script, mode: .sync)
          .resultIfEnded!
        log.record("\(result["inner"])")
      })
    _ = await log.first(1)
    handle.cancel()
    #expect(await log.first(3).prefix(3) == ["+inner", "-inner", "cancelled"])
    await handle.ended()
  }

  /// Ends the sent dispatch "outer" from inside, and returns once the current block is cancelled.
  ///
  /// So a test needs no other task while a block keeps its thread.
  private func endOuter(timesOut: Bool) async {
    if timesOut {
      await clock.pass(.seconds(1))
    } else {
      dispatcher.cancel(named: "outer")
    }
    await Latch().openedOrCancelled()
  }

  private func sendOuter(_ script: Script) async {
    await dispatcher.send(
      script, to: "outer", options: [.named("outer"), .timeout(.seconds(1))])
  }

  /// Its block runs in a task of its own, on a thread of the system.
  @Test(arguments: [true, false])
  func aSynchronousDispatchThatWaitsInASentBlockEndsWithIt(timesOut: Bool) async {
    let (dispatcher, handles) = (dispatcher, handles)
    let script = Script.suspends { _ in
      await endOuter(timesOut: timesOut)
      try Task.checkCancellation()
    }
    await sendOuter(
      .suspends { _ in
        handles.record(
          dispatcher.dispatch(storeIdentifier: "inner", action: script, mode: .sync))
      })
    let result = handles.all[0].resultIfEnded
    #expect(result?["inner"].isCancelled == true)
    #expect((result?.dispatchError?.code == .timedOut) == timesOut)
  }

  @Test(arguments: [true, false])
  func whatAnEndedSentBlockDispatchesSynchronouslyDoesNotBegin(timesOut: Bool) async {
    let (dispatcher, handles) = (dispatcher, handles)
    await sendOuter(
      .suspends { _ in
        await endOuter(timesOut: timesOut)
        handles.record(dispatcher.dispatch(action: Errand.adds("ran"), mode: .sync))
      })
    let result = handles.all[0].resultIfEnded
    #expect(result?["desk"].isCancelled == true)
    #expect((result?.dispatchError?.code == .timedOut) == timesOut)
    #expect((dispatcher.store(with: "desk") as! Desk).model.isEmpty)
  }

  @Test(arguments: inner)
  func whatObserversHooksAndCompletionsDispatchIsNotCancelled(_ mode: Dispatcher.Mode) async {
    let (dispatcher, handles, free) = (dispatcher, handles, Latch())
    let desk = dispatcher.store(with: "desk") as! Desk
    let errand = Errand.adds("ran")
    let inner: @Sendable () -> Void = { dispatchInner(mode, until: free) }
    let observer = desk.observe(.model) { _ in inner() }
    let middleware = RecordingMiddleware(
      will: { _, action, _ in
        if action is Errand { inner() }
        return .pass
      },
      did: { _, action, _ in if action is Errand { inner() } })
    dispatcher.register(middleware: middleware)
    await cancelOuter { dispatcher.dispatch(action: errand, mode: .sync) { inner() } }
    let dispatched = await handles.first(4)
    #expect(dispatched.allSatisfy { !$0.hasEnded })
    free.open()
    for inner in dispatched { #expect(await inner.result.isSuccess) }
    observer.cancel()
  }

  /// Also if the list is accepted once the block has left an exclusive section.
  @Test(arguments: inner, [false, true])
  func whatTheHookOfAListDispatchesIsNotCancelled(
    _ mode: Dispatcher.Mode, inSection: Bool
  ) async {
    let (dispatcher, free) = (dispatcher, Latch())
    let desk = dispatcher.store(with: "desk") as! Desk
    dispatcher.register(middleware: ListHook { _ in dispatchInner(mode, until: free) })
    await cancelOuter {
      let list: @Sendable () -> Void = {
        dispatcher.dispatch(actions: [Errand.adds("a")], mode: .serial(lane: "list"))
      }
      if inSection { desk.updateModel { _ in list() } } else { list() }
    }
    let made = await handles.first(1)[0]
    #expect(!made.hasEnded)
    free.open()
    #expect(await made.result.isSuccess)
  }

  @Test(arguments: inner)
  func aCompletionsDispatchIsNotCancelledWithWhatItCompletes(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let handle = dispatcher.dispatch(storeIdentifier: "outer", action: outer {}, mode: mode) {
      dispatchInner(.async, until: free)
    }
    handle.cancel()
    let inner = await handles.first(1)[0]
    await handle.ended()
    handle.cancel()
    free.open()
    #expect(await inner.result.isSuccess)
  }

  @Test(arguments: OperationStyle.operations, [false, true])
  func whatAGroupsCompletionDispatchesIsNotCancelledWithTheBlockAround(
    _ style: OperationStyle, isRefused: Bool
  ) async {
    let (groups, free) = (Dispatcher(), Latch())
    if isRefused { groups.close() }
    let handle = dispatchOuter(
      outer(style, until: free) {
        // An empty group ends within the call.
        groups.dispatch(ActionGroup {}) { _ in dispatchInner(.async, until: free) }
      })
    let made = await handles.first(1)[0]
    handle.cancel()
    free.open()
    #expect(await made.result.isSuccess)
    await handle.ended()
  }

  @Test func whatAStoreThatRunsRegardlessDispatchesIsNotCancelled() async {
    let (dispatcher, log, free) = (dispatcher, log, Latch())
    dispatcher.addStage("audit", waitFor: WaitFor(["outer"], runsRegardless: true))
    let script = Script.answers { action, store in
      Script.Operation(action: action, store: store) { _, store async throws in
        if store.identifier == "outer" {
          log.record("began")
          await free.opened()
        } else if store.identifier == "audit" {
          let inner = dispatcher.dispatch(action: Errand.adds("audited"), mode: .serial)
          log.record("audited \(await inner.result.isSuccess)")
        }
      }
    }
    let handle = dispatcher.dispatch(action: script, mode: .serial(lane: "outer"))
    _ = await log.first(1)
    handle.cancel()
    free.open()
    await handle.ended()
    #expect(log.all == ["began", "audited true"])
  }

  // MARK: Deadlines

  @Test(arguments: inner, OperationStyle.operations)
  func theSoonerDeadlineWins(_ mode: Dispatcher.Mode, _ style: OperationStyle) async {
    for (own, passes) in [(Duration.seconds(9), Duration.seconds(2)), (.seconds(1), .seconds(1))] {
      let count = handles.count
      let free = Latch()
      let handle = dispatchOuter(
        outer(style, until: free) { dispatchInner(mode, .timeout(own)) }, .timeout(.seconds(2)))
      let inner = await handles.first(count + 1)[count]
      await clock.pass(passes)
      let result = await inner.result
      #expect(result.dispatchError?.code == .timedOut, "\(result)")
      #expect(result.dispatchError?.timeLimit == passes)
      clock.advance(by: .seconds(2))
      #expect(await handle.result.dispatchError?.code == .timedOut)
      free.open()
      await dispatchOuter(.adds("next")).ended()
    }
  }

  /// Where a block dispatches.
  enum Place: CaseIterable {
    /// The lock of the store is held: an action on its caller's thread can't be linked to what is around it.
    case update
    case block, list
  }

  @Test(arguments: inner, Form.allCases)
  func aDeadlineIsInheritedThroughOneThatHasEnded(_ mode: Dispatcher.Mode, _ form: Form) async {
    let dispatcher = dispatcher
    for (index, place) in Place.allCases.enumerated() {
      let outer = begin(
        .runs { store in
          switch place {
          case .block: dispatchInner(mode)
          case .update: store.updateModel { _ in dispatchInner(mode) }
          case .list:
            _ = dispatcher.dispatch(
              storeIdentifier: "inner", actions: [Script.runs { _ in dispatchInner(mode) }],
              mode: .serial(lane: "middle"))
          }
        }, form, .timeout(.seconds(2)))
      let inner = await handles.first(index + 1)[index]
      #expect(await outer.value.isSuccess)
      await clock.pass(.seconds(2))
      let result = await inner.result
      #expect(result.dispatchError?.code == .timedOut, "\(place): \(result)")
      #expect(result.dispatchError?.timeLimit == .seconds(2))
    }
  }

  /// The list still runs the action; for one that has ended, see above.
  @Test(arguments: inner)
  func aDeadlineOfAListIsInheritedByWhatItsActionsDispatch(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let list = dispatcher.dispatch(
      storeIdentifier: "outer",
      actions: [
        Script.runs { _ in
          dispatchInner(mode)
          free.wait()
        }
      ], mode: .serial(lane: "outer"), options: .timeout(.seconds(2)))
    let inner = await handles.first(1)[0]
    await clock.pass(.seconds(2))
    let result = await inner.result
    #expect(result.dispatchError?.code == .timedOut, "\(result)")
    #expect(result.dispatchError?.timeLimit == .seconds(2))
    #expect(await !list.result.isSuccess)
    free.open()
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Form.allCases)
  func whatABlockDispatchesAfterItsDeadlineHasTimedOut(
    _ mode: Dispatcher.Mode, _ form: Form
  ) async {
    let (dispatcher, handles, began, free) = (dispatcher, handles, Latch(), Latch())
    let outer = begin(
      .runs { _ in
        began.open()
        free.wait()
        handles.record(dispatcher.dispatch(action: Errand.adds("ran"), mode: mode))
      }, form, .timeout(.seconds(1)))
    await began.opened()
    await clock.pass(.seconds(1))
    // With `.sync` the result follows the block.
    if !form.isSync { _ = await outer.value }
    free.open()
    #expect(await handles.first(1)[0].result.dispatchError?.code == .timedOut)
    #expect(await outer.value.dispatchError?.code == .timedOut)
    #expect((dispatcher.store(with: "desk") as! Desk).model.isEmpty)
  }

  /// Each dispatcher's clock counts from when that dispatcher was made, here 1,000 seconds apart.
  @Test(arguments: [Dispatcher.Mode.async, .sync], [true, false])
  func aDeadlineIsTheSameMomentForAnotherDispatcher(
    _ mode: Dispatcher.Mode, isOlder: Bool
  ) async {
    for (hasClock, otherHasClock) in [(true, true), (true, false), (false, true)] {
      let (clock, limits, ready) = (VirtualClock(), Recorder<Duration?>(), Latch())
      let older = Dispatcher(clock: (isOlder ? hasClock : otherHasClock) ? clock : nil)
      clock.advance(by: .seconds(1_000))
      let newer = Dispatcher(clock: (isOlder ? otherHasClock : hasClock) ? clock : nil)
      let (dispatcher, other) = isOlder ? (older, newer) : (newer, older)
      dispatcher.addStage("outer")
      other.addStage("inner")
      let script = Script.suspends { _ in
        if mode == .sync { ready.open() }
        try await waits(for: Latch())
      }
      let handle = dispatcher.dispatch(
        storeIdentifier: "outer",
        action: Script.suspends { _ in
          let inner = other.dispatch(
            storeIdentifier: "inner", action: script, mode: mode, options: .timeout(.seconds(900)))
          ready.open()
          limits.record(await inner.result.dispatchError?.timeLimit)
        }, mode: .async, options: .timeout(.seconds(100)))
      await ready.opened()
      clock.advance(by: .seconds(100))
      let limit = await limits.first(1)[0] ?? .zero
      #expect(limit > .zero && limit <= .seconds(100), "\(hasClock) \(otherHasClock)")
      await handle.ended()
    }
  }

  @Test func aDeadlineIsExactlyTheSameForTwoDispatchersWithTheSystemsClock() {
    let (clock, other) = (Dispatcher().clock, Dispatcher().clock)
    let deadline = InheritedDeadline(time: 1_000, clock: clock)
    #expect(deadline.time(by: other, at: 0) == 1_000)
  }

  @Test func aDeadlineIsTheSameMomentAlsoThroughABlockThatAnotherDispatcherWasSent() async {
    let other = Dispatcher(clock: clock)
    other.addStage("middle")
    other.addDesk()
    clock.advance(by: .seconds(1_000))
    let dispatcher = Dispatcher(clock: clock)
    dispatcher.addStage("outer")
    let handle = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        await other.send(
          Script.suspends { _ in
            handles.record(other.dispatch(action: Errand.adds("ran"), mode: .async))
          }, to: "middle")
      }, mode: .async, options: .timeout(.seconds(100)))
    #expect(await handles.first(1)[0].result.isSuccess)
    await handle.ended()
  }

  // MARK: What is left

  @Test func nothingIsKeptOfWhatHasEnded() async {
    let (dispatcher, deaths) = (dispatcher, EventCount(of: 2_000))
    let free = Latch()
    let handle = dispatchOuter(
      outer(until: free) {
        for _ in 0..<2_000 {
          let mortal = Mortal(deaths)
          dispatcher.dispatch(
            action: Errand { desk in
              withExtendedLifetime(mortal) { desk.updateModel { $0 = [] } }
            }, mode: .serial)
        }
      })
    await deaths.full()
    // The block still runs.
    #expect(!handle.hasEnded)
    free.open()
    await handle.ended()
  }
}
