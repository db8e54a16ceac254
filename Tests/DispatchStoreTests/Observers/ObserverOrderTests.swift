import DispatchStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ObserverOrderTests {
  private let dispatcher = Dispatcher()

  @Test func anEqualModelIsDeliveredLikeAnyOther() {
    let store = CounterStore.counter()
    let received = Recorder<UInt64>()
    let token = store.observe(.model) { received.record($0.version) }
    store.updateModel { _ in }
    store.inject(model: store.model)
    #expect(received.all == [1, 2])
    token.cancel()
  }

  @Test func observersAreNotifiedInOrderOfRegistration() {
    let store = CounterStore.counter()
    let received = Recorder<String>()
    let tokens = ["a", "b", "c"].map { name in
      store.observe(.model) { received.record("\(name)\($0.version)") }
    }
    store.updateModel { _ in }
    store.updateModel { _ in }
    #expect(received.all == ["a1", "b1", "c1", "a2", "b2", "c2"])
    withExtendedLifetime(tokens) {}
  }

  @Test func theOrderOfRegistrationIsKeptOnceOthersHaveGone() {
    let store = CounterStore.counter()
    let received = Recorder<Int>()
    func observe(_ name: Int) -> ObserverToken {
      if name.isMultiple(of: 2) {
        store.observe(.model) { _ in received.record(name) }
      } else {
        store.observe(.part(\.count)) { _ in received.record(name) }
      }
    }
    var tokens = (0..<10).map(observe)
    for token in tokens[1..<8] { token.cancel() }
    tokens.append(observe(10))
    store.updateModel { $0.count += 1 }
    #expect(received.all == [0, 8, 9, 10])
    withExtendedLifetime(tokens) {}
  }

  @Test func commitOrderIsKeptAmongContendingThreads() async {
    let store = CounterStore.counter()
    let received = Recorder<Change<Counter, CounterAction>>()
    let late = Recorder<Int>()
    let overlapping = Recorder<Int>()
    let inside = NSLock()
    let token = store.observe(.model) { change in
      // One at a time: no other thread is in here.
      if inside.try() {
        received.record(change)
        inside.unlock()
      } else {
        overlapping.record(change.value.count)
      }
    }
    await onOwnThreads(4) { _ in
      for _ in 0..<250 {
        let count = store.updateModel { model in
          model.count += 1
          return model.count
        }
        // The thread's own change has been delivered before the update returned.
        if received.count < count { late.record(count) }
      }
    }
    #expect(received.all.map(\.version) == Array(1...1_000))
    #expect(received.all.map(\.value.count) == Array(1...1_000))
    #expect(late.all.isEmpty)
    #expect(overlapping.all.isEmpty)
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.allCases)
  func allCommitsOfAnOperationAreDeliveredBeforeDidDispatchAndThatBeforeTheCompletion(
    mode: Dispatcher.Mode, style: OperationStyle
  ) async {
    let steps = Recorder<String>()
    let store = dispatcher.register(
      store: ProbeStore(identifier: "s", model: 0, reducer: .committing(3, style)))
    dispatcher.register(middleware: RecordingMiddleware(to: steps))
    let token = store.observe(.model) { steps.record("delivered \($0.value)") }
    let handle = dispatcher.dispatch(action: Ping(), mode: mode) { steps.record("completion") }
    if mode == .sync { #expect(steps.count == 6) }
    #expect(await handle.result.isSuccess)
    #expect(
      steps.all == [
        "m will s", "delivered 1", "delivered 2", "delivered 3", "m did s", "completion",
      ])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func thatHoldsForEachOfManyContendingDispatches(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let deliveredByTransaction = Recorder<DispatchID>()
    let early = Recorder<DispatchID>()
    let ends = Recorder<Bool>()
    let store = dispatcher.register(
      store: ProbeStore(model: 0, reducer: .committing(3, .callback)))
    let versions = Recorder<UInt64>()
    let token = store.observe(.model) { change in
      versions.record(change.version)
      if let transaction = change.dispatchID { deliveredByTransaction.record(transaction) }
    }
    dispatcher.register(
      middleware: RecordingMiddleware(did: { transaction, _, _ in
        let count = deliveredByTransaction.all.count { $0 == transaction.dispatch.id }
        if count != 3 { early.record(transaction.dispatch.id) }
      }))
    await onOwnThreads(4) { _ in
      for _ in 0..<20 {
        dispatcher.dispatch(Ping(), mode: mode) { ends.record($0.isSuccess) }
      }
    }
    #expect(await ends.first(80).allSatisfy { $0 })
    #expect(early.all.isEmpty)
    #expect(versions.all == Array(1...240))
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.allCases)
  func aChangeCarriesItsActionAndTransaction(
    mode: Dispatcher.Mode, style: OperationStyle
  ) async {
    let store = dispatcher.register(
      store: ProbeStore(model: 0, reducer: .committing(2, style)))
    let received = Recorder<Change<Int, Ping>>()
    let token = store.observe(.model) { received.record($0) }
    let handle = dispatcher.dispatch(action: Ping(name: "ping"), mode: mode)
    _ = await handle.result
    store.updateModel { $0 += 1 }
    #expect(received.all.map(\.action?.name) == ["ping", "ping", nil])
    #expect(received.all.map(\.dispatchID) == [handle.dispatchID, handle.dispatchID, nil])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aCommitOfATaskThatOutlivesItsOperationCarriesNoAction(mode: Dispatcher.Mode) async {
    let (hasEnded, received) = (Latch(), Recorder<Change<Int, Ping>>())
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { _, store async in
        store.updateModel { $0 += 1 }
        Task {
          await hasEnded.opened()
          store.updateModel { $0 += 1 }
        }
      }
    }
    let store = dispatcher.register(store: ProbeStore(model: 0, reducer: reducer))
    let token = store.observe(.model) { received.record($0) }
    let handle = dispatcher.dispatch(action: Ping(name: "ping"), mode: mode)
    _ = await handle.result
    hasEnded.open()
    let changes = await received.first(2)
    #expect(changes.map(\.action?.name) == ["ping", nil])
    #expect(changes.map(\.dispatchID) == [handle.dispatchID, nil])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aCommitOfATaskThatCarriesTheActionIsDeliveredBeforeTheEnd(mode: Dispatcher.Mode) async {
    for _ in 0..<20 {
      let (dispatcher, steps, entered) = (Dispatcher(), Recorder<String>(), Latch())
      let reducer = ClosureReducer<Int, Ping> { action, store in
        ActionOperation(action: action, store: store) { _, store async in
          Task { store.updateModel { $0 += 1 } }
          await entered.opened()
        }
      }
      let store = dispatcher.register(store: ProbeStore(model: 0, reducer: reducer))
      dispatcher.register(middleware: RecordingMiddleware(did: { _, _, _ in steps.record("did") }))
      // The block returns while the second observer has not been called.
      let tokens = [
        store.observe(.model) { _ in entered.open() },
        store.observe(.model) { steps.record("delivered \($0.action?.name ?? "")") },
      ]
      // The block's task needs a thread of the cooperative pool, which `.sync` would block.
      let handle = await onOwnThread {
        dispatcher.dispatch(action: Ping(name: "ping"), mode: mode) { steps.record("completion") }
      }
      await handle.ended()
      #expect(steps.all == ["delivered ping", "did", "completion"])
      withExtendedLifetime(tokens) {}
    }
  }

  /// The task's commit is delivered by a thread that waits for the dispatch.
  @Test(arguments: Dispatcher.Mode.laneModes + [.async])
  func theObserverOfSuchACommitMayWaitForTheDispatch(mode: Dispatcher.Mode) async {
    let (dispatcher, entered, handles) = (dispatcher, Latch(), Recorder<DispatchHandle>())
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { _, store async in
        Task { store.updateModel { $0 += 1 } }
        await entered.opened()
      }
    }
    let store = dispatcher.register(store: ProbeStore(model: 0, reducer: reducer))
    let other = dispatcher.register(store: .counter("other"))
    let ends = Recorder<Bool>()
    let token = store.observe(.model) { _ in
      entered.open()
      handles.waitFor(1)
      other.dispatch(.add(1), mode: .sync, options: .after(handles.all[0])) {
        ends.record($0.isSuccess)
      }
    }
    handles.record(store.dispatch(Ping(), mode: mode))
    #expect(await ends.first(1) == [true])
    #expect(await handles.all[0].result.isSuccess)
    token.cancel()
  }
}

extension Reducer where Model == Int, Action == Ping {
  /// Makes so many commits for each action.
  fileprivate static func committing(_ count: Int, _ style: OperationStyle) -> Reducer<Int, Ping> {
    if style == .applying {
      return ApplyingReducer { _, store in
        for _ in 0..<count { store.updateModel { $0 += 1 } }
      }
    }
    return ClosureReducer { .committing(count, $0, $1, style) }
  }
}

extension ActionOperation where Model == Int, Action == Ping {
  /// An operation that makes so many commits.
  fileprivate static func committing(
    _ count: Int, _ action: Ping, _ store: ProbeStore, _ style: OperationStyle
  ) -> ActionOperation<Int, Ping> {
    switch style {
    case .returning, .applying:
      ActionOperation(action: action, store: store) { _, store in
        for _ in 0..<count { store.updateModel { $0 += 1 } }
      }
    case .callback:
      ActionOperation(action: action, store: store) { operation, _, _ in
        DispatchQueue.global().async {
          for _ in 0..<count { operation.updateModel { $0 += 1 } }
          operation.finish()
        }
      }
    case .suspending:
      ActionOperation(action: action, store: store) { _, store in
        for _ in 0..<count {
          await Task.yield()
          store.updateModel { $0 += 1 }
        }
      }
    }
  }
}
