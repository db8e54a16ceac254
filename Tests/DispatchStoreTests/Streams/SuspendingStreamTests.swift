import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// Producers that wait for a stream's consumer, and those that don't.
@Suite(.timeLimit(.minutes(5)))
struct SuspendingStreamTests {
  private let dispatcher = Dispatcher(name: "suspending")
  private let store: CounterStore

  init() {
    store = dispatcher.register(store: .counter("counter"))
  }

  /// An iterator that has taken the present state, so that producers wait for it.
  private func versions(
    _ bound: Int
  ) async -> StoreStream<Change<Int, CounterAction>>.Iterator {
    var changes = store.stream(.part(\.count), initial: true, buffering: .suspending(bound))
      .makeAsyncIterator()
    _ = await changes.next()
    return changes
  }

  static let scheduled: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "a"), .mainThread]

  /// The test's task consumes, and awaits nothing of the library but elements.
  @Test(arguments: scheduled)
  func aDispatchEndsOnceTheConsumerIsWithinTheBound(mode: Dispatcher.Mode) async {
    var changes = await versions(2)
    let (committed, ended) = (Recorder<UInt64>(), Recorder<Int>())
    let token = store.observe(.part(\.count)) { committed.record($0.version) }
    for number in 1...2 { store.dispatch(.add(1), mode: mode) { _ in ended.record(number) } }
    _ = await ended.first(2)
    store.dispatch(.add(1), mode: mode) { _ in ended.record(3) }
    _ = await committed.first(3)
    #expect(ended.count == 2)
    #expect(await changes.next()?.version == 1)
    #expect(await ended.first(3).last == 3)
    token.cancel()
  }

  @Test(arguments: scheduled)
  func aTaskThatSendsGoesOnOnceTheConsumerIsWithinTheBound(mode: Dispatcher.Mode) async {
    var changes = await versions(0)
    let (committed, ended) = (Recorder<UInt64>(), Recorder<Int>())
    let token = store.observe(.part(\.count)) { committed.record($0.version) }
    let sender = Task { [store] in
      for number in 1...3 {
        await store.send(.add(1), mode: mode)
        ended.record(number)
      }
    }
    for version: UInt64 in 1...3 {
      _ = await committed.first(Int(version))
      #expect(ended.count < version)
      #expect(await changes.next()?.version == version)
      _ = await ended.first(Int(version))
    }
    await sender.value
    token.cancel()
  }

  @Test(arguments: Way.all)
  func aDispatchWhoseLimitPassesBeforeTheConsumerComesTimesOut(way: Way) async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let store = dispatcher.register(store: .counter("limited"))
    var changes = store.stream(.part(\.count), initial: true, buffering: .suspending(0))
      .makeAsyncIterator()
    _ = await changes.next()
    let committed = Latch()
    let token = store.observe(.part(\.count)) { _ in committed.open() }
    let result = dispatcher.begin(
      action: CounterAction.add(1), way.mode, .timeout(.seconds(1)), sends: way.sends)
    await committed.opened()
    clock.advance(by: .seconds(1))
    #expect(await changes.next()?.version == 1)
    #expect(await result.value.errorCode == .timedOut)
    #expect(store.model.count == 1)
    token.cancel()
  }

  @Test(arguments: scheduled)
  func aCompletionThatCommitsDoesNotWait(mode: Dispatcher.Mode) async {
    let changes = await versions(0)
    let other = dispatcher.register(store: .counter("other"))
    let handle = other.dispatch(.add(1), mode: mode) { [store] _ in
      for _ in 1...10 { store.updateModel { $0.count += 1 } }
    }
    await handle.ended()
    #expect(store.version == 10)
    withExtendedLifetime(changes) {}
  }

  /// The test's task consumes, so it awaits nothing of the library.
  @Test(arguments: scheduled, OperationStyle.allCases)
  func aCommitOfAnObserverThatAnotherThreadCallsDoesNotWait(
    mode: Dispatcher.Mode, style: OperationStyle
  ) async {
    let changes = await versions(0)
    let (entered, proceed, committed, ended) = (Latch(), Latch(), Latch(), Latch())
    let source = dispatcher.register(
      store: ProbeStore(
        identifier: "source", model: 0,
        reducer: style.reducer { source in
          source.updateModel { $0 += 1 }
          committed.open()
        }))
    let token = source.observe(.model) { [store] change in
      if change.version == 1 {
        entered.open()
        proceed.wait()
      } else {
        store.updateModel { $0.count += 1 }
      }
    }
    async let notifier: Void = onOwnThread { source.updateModel { $0 += 1 } }
    await entered.opened()
    source.dispatch(Ping(), mode: mode) { _ in ended.open() }
    await committed.opened()
    proceed.open()
    await ended.opened()
    #expect(store.version == 1)
    await notifier
    withExtendedLifetime((changes, token)) {}
  }

  @Test func aLaneGoesOnAfterTheDelivery() async {
    var changes = await versions(0)
    let committed = Recorder<UInt64>()
    let token = store.observe(.part(\.count)) { committed.record($0.version) }
    for _ in 1...50 { store.dispatch(.add(1), mode: .serial) }
    for version: UInt64 in 1...50 {
      #expect(await changes.next()?.version == version)
      #expect(committed.count <= version + 1)
    }
    token.cancel()
  }

  @Test func aThreadOutsideBlocksAfterItsObserversWereNotified() async {
    var changes = await versions(1)
    let (committed, returned) = (Recorder<UInt64>(), Recorder<Int>())
    let token = store.observe(.part(\.count)) { committed.record($0.version) }
    async let thread: Void = onOwnThread { [store] in
      for number in 1...4 {
        if number % 2 == 0 {
          store.dispatch(.add(1), mode: .sync)
        } else {
          store.updateModel { $0.count += 1 }
        }
        returned.record(number)
      }
    }
    for version: UInt64 in 1...3 {
      _ = await committed.first(Int(version) + 1)
      #expect(returned.count == version)
      #expect(await changes.next()?.version == version)
      _ = await returned.first(Int(version) + 1)
    }
    await thread
    token.cancel()
  }

  @Test func noTaskBlocksItsThread() async {
    let changes = await versions(0)
    await withTaskGroup { group in
      for _ in 0..<64 {
        group.addTask { [store] in
          store.updateModel { $0.count += 1 }
          addInSync(to: store)
        }
      }
    }
    #expect(store.version == 128)
    withExtendedLifetime(changes) {}
  }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.everyMode)
  func noAsyncBlockBlocksItsThread(mode: Dispatcher.Mode) async {
    let changes = await versions(0)
    let other = registerBlock { addInSync(to: $0) }
    let handle = other.dispatch(Ping(), mode: mode)
    #expect(await handle.result.isSuccess)
    #expect(store.version == 1)
    withExtendedLifetime(changes) {}
  }

  /// The actor's job runs on the block's thread, and the consumer needs the actor.
  @Test(.timeLimit(.minutes(1)), arguments: scheduled)
  func noAsyncBlockBlocksTheActorOfAConsumer(mode: Dispatcher.Mode) async {
    let (clerk, changes) = (Clerk(), store.stream(.part(\.count), buffering: .suspending(0)))
    let consumer = Task { await clerk.follow(changes) }
    await store.streamsCaughtUp()
    let other = registerBlock { await clerk.add(to: $0) }
    let handle = other.dispatch(Ping(), mode: mode)
    #expect(await handle.result.isSuccess)
    #expect(await consumer.value?.version == 1)
  }

  /// A store that answers with an `async` block, which gets the followed one.
  private func registerBlock(
    _ body: @escaping @Sendable (CounterStore) async -> Void
  ) -> ProbeStore {
    dispatcher.register(
      store: ProbeStore(
        identifier: "block", model: 0,
        reducer: ClosureReducer { [store] action, block in
          ActionOperation(action: action, store: block) { _, _ async in await body(store) }
        }))
  }

  /// With `.sync`, which `send` does not have, it changes the model instead.
  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func aConsumerMayDispatchOrSendToItsStoreAndWait(mode: Dispatcher.Mode, sends: Bool) async {
    let goOn = Latch()
    let consumer = Task { [store] in
      var count = 0
      for await _ in store.stream(
        .part(\.self), initial: true, buffering: .suspending(sends ? 1 : 0))
      {
        count += 1
        if count == 1 { goOn.open() }
        if count <= 20 {
          if !sends {
            await store.dispatch(.add(1), mode: mode).ended()
          } else if mode == .sync {
            store.updateModel { $0.count += 1 }
          } else {
            await store.send(.add(1), mode: mode)
          }
        }
        if count == 41 { break }
      }
    }
    await goOn.opened()
    for _ in 1...20 { await store.dispatch(.add(1), mode: mode).ended() }
    await consumer.value
    #expect(store.model.count == 40)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [DispatchOptions(), .detached], [false, true])
  func aConsumerMaySendAGroupToItsStore(options: DispatchOptions, isConcurrent: Bool) async {
    var count = 0
    for await _ in store.stream(.part(\.self), initial: true, buffering: .suspending(1)) {
      count += 1
      if count > 1 { break }
      let group = ActionGroup(isConcurrent ? .concurrent : .sequence) {
        for _ in 1...3 { ActionStep(CounterAction.add(1), mode: .serial) }
      }
      #expect(await dispatcher.send(group, options: options).isSuccess)
    }
    #expect(store.model.count == 3)
  }

  @Test(.timeLimit(.minutes(1)), arguments: scheduled)
  func aConsumerForWhichADispatchWaitsMayTravelOrDrain(mode: Dispatcher.Mode) async throws {
    let recorder = DispatchRecorder()
    dispatcher.register(middleware: recorder)
    var changes = await versions(0)
    let committed = Recorder<UInt64>()
    let token = store.observe(.part(\.count)) { committed.record($0.version) }
    let first = store.dispatch(.add(1), mode: mode)
    #expect(await changes.next()?.version == 1)
    await first.ended()
    store.dispatch(.add(1), mode: mode)
    _ = await committed.first(2)
    try await recorder.travel(to: first.dispatchID.number)
    #expect(store.model.count == 1)
    try await recorder.resume()
    #expect(store.model.count == 2)
    while await changes.next()?.version != 4 {}
    store.dispatch(.add(1), mode: mode)
    _ = await committed.first(5)
    #expect(await dispatcher.drain().isComplete)
    token.cancel()
  }

  @Test func consumersThatDispatchToEachOthersStoresEnd() async {
    let other = dispatcher.register(store: .counter("other"))
    await withTaskGroup { group in
      for (mine, its) in [(store, other), (other, store)] {
        group.addTask {
          var count = 0
          for await _ in mine.stream(.part(\.self), initial: true, buffering: .suspending(0)) {
            count += 1
            if count <= 50 { await its.dispatch(.add(1), mode: .serial).ended() }
            if count == 40 { break }
          }
        }
      }
    }
    #expect(store.model.count >= 39 && other.model.count >= 39)
  }

  @Test func producersGoOnWhenTheIteratorIsReleased() async {
    let ended = Recorder<Int>()
    func leave() async {
      var changes = await versions(0)
      for number in 1...4 {
        store.dispatch(.add(1), mode: .serial(lane: number)) { _ in ended.record(number) }
      }
      _ = await changes.next()
    }
    await leave()
    #expect(await ended.first(4).sorted() == [1, 2, 3, 4])
  }

  @Test func producersGoOnWhenTheConsumerIsCancelled() async {
    let (ended, began, goOn) = (Recorder<Int>(), Latch(), Latch())
    let consumer = Task { [store] in
      for await _ in store.stream(.part(\.self), buffering: .suspending(0)) {
        began.open()
        await goOn.opened()
      }
    }
    while !began.isOpen {
      store.updateModel { $0.count += 1 }
      await Task.yield()
    }
    for number in 1...4 {
      store.dispatch(.add(1), mode: .serial(lane: number)) { _ in ended.record(number) }
    }
    consumer.cancel()
    goOn.open()
    #expect(await ended.first(4).sorted() == [1, 2, 3, 4])
    await consumer.value
  }

  /// The block's own dispatch is one that the stream has not end.
  @Test func anOperationMayConsumeTheStreamOfItsStore() async {
    let store = dispatcher.register(
      store: CounterStore(
        identifier: "self",
        reducer: ClosureReducer { action, store in
          ActionOperation(action: action, store: store) { _, store async in
            var changes = store.stream(.part(\.self), initial: true, buffering: .suspending(0))
              .makeAsyncIterator()
            _ = await changes.next()
            for _ in 1...5 { store.updateModel { $0.count += 1 } }
            for _ in 1...3 { _ = await changes.next() }
          }
        }))
    let result = await store.dispatch(.add(1), mode: .serial).result
    #expect(result.isSuccess)
    #expect(store.model.count == 5)
  }
}

private func addInSync(to store: CounterStore) { store.dispatch(.add(1), mode: .sync) }

/// Follows a store in its isolation, in which it also changes the store.
private actor Clerk {
  func follow(
    _ changes: StoreStream<Change<Int, CounterAction>>
  ) async -> Change<Int, CounterAction>? {
    for await change in changes { return change }
    return nil
  }

  func add(to store: CounterStore) { addInSync(to: store) }
}
