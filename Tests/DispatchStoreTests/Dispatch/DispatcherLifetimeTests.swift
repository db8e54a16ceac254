import DispatchStore
import Testing

@Suite struct DispatcherLifetimeTests {
  @Test(.timeLimit(.minutes(10)), arguments: [.async, .mainThread] + [Dispatcher.Mode.serial])
  func aDispatcherThatIsDroppedLivesOnUntilItsWorkHasEnded(mode: Dispatcher.Mode) async {
    let (hasBegun, mayEnd) = (Latch(), Latch())
    weak var dropped: Dispatcher?
    let handles: [DispatchHandle]
    let store: Store<Int, LifetimeAction>
    do {
      let dispatcher = Dispatcher(name: "dropped")
      dropped = dispatcher
      store = dispatcher.register(
        store: Store(model: 0, reducer: LifetimeReducer(hasBegun: hasBegun, mayEnd: mayEnd)))
      handles = (0..<3).map { _ in dispatcher.dispatch(action: LifetimeAction(), mode: mode) }
    }
    await hasBegun.opened()
    #expect(dropped != nil)
    mayEnd.open()
    for handle in handles { #expect(await handle.result.isSuccess) }
    #expect(store.model == 3)
  }

  @Test(
    .timeLimit(.minutes(10)),
    arguments: [Dispatcher.Mode.async, .serial, .serial(lane: 1), .mainThread])
  func aDispatcherThatIsDroppedLivesOnUntilWhatWaitsForAnotherHasEnded(mode: Dispatcher.Mode) async
  {
    let (hasBegun, mayEnd) = (Latch(), Latch())
    let other = Dispatcher(name: "other")
    other.register(
      store: Store(model: 0, reducer: LifetimeReducer(hasBegun: hasBegun, mayEnd: mayEnd)))
    let first = other.dispatch(action: LifetimeAction())
    let store: Store<Int, PlainAction>
    let handles: [DispatchHandle]
    do {
      let dispatcher = Dispatcher(name: "dropped")
      store = dispatcher.register(store: Store(model: 0, reducer: PlainReducer()))
      handles = (0..<3).map { _ in
        dispatcher.dispatch(action: PlainAction(), mode: mode, options: .after(first))
      }
    }
    await hasBegun.opened()
    handles[1].cancel()
    mayEnd.open()
    for (index, handle) in handles.enumerated() {
      #expect(await handle.result.isSuccess == (index != 1))
    }
    #expect(store.model == 2)
  }

  enum KeyUse: CaseIterable {
    case send, dispatch, list
  }

  @Test(arguments: KeyUse.allCases)
  func aLanesKeyMayDispatchWhenItIsReleased(use: KeyUse) async {
    let count = Load.count(500)
    let (dispatcher, released) = (Dispatcher(name: "lanes"), EventCount(of: 4 * count))
    dispatcher.register(.after(PlainAction.self) { _, _ in })
    let store = dispatcher.register(store: Store(model: 0, reducer: PlainReducer()))
    await withDiscardingTaskGroup { group in
      for task in 0..<4 {
        group.addTask {
          for number in 0..<count {
            let key = DispatchingKey(number: 4 * number + task, dispatcher, released)
            switch use {
            case .send: await store.send(PlainAction(), mode: .serial(lane: key))
            case .dispatch: await store.dispatch(PlainAction(), mode: .serial(lane: key)).ended()
            case .list:
              let actions = [PlainAction(), PlainAction()]
              await dispatcher.dispatch(actions: actions, mode: .serial(lane: key)).ended()
            }
          }
        }
      }
    }
    await released.full()
    #expect(await dispatcher.drain().isComplete)
    #expect(store.model == (use == .list ? 12 : 8) * count)
  }

  @Test func aSynchronousDispatchKeepsNothingOfTheLaneThatItsRecordWasUsedIn() async {
    let (hasBegun, mayEnd) = (Latch(), Latch())
    let other = Dispatcher(name: "other")
    other.register(
      store: Store(model: 0, reducer: LifetimeReducer(hasBegun: hasBegun, mayEnd: mayEnd)))
    let dispatcher = Dispatcher(name: "dispatcher")
    let store = dispatcher.register(store: Store(model: 0, reducer: PlainReducer()))
    let waits = Latch()
    // On the pool's thread, whose spare records have run in lanes that have gone.
    for lane in 0..<100 { dispatcher.dispatch(action: PlainAction(), mode: .serial(lane: lane)) }
    let first = other.dispatch(action: LifetimeAction())
    let ended = Latch()
    dispatcher.dispatch(action: PlainAction(), mode: .serial(lane: "last")) {
      waits.open()
      let handle = dispatcher.dispatch(
        action: PlainAction(), mode: .sync, options: .after(first))
      #expect(handle.resultIfEnded?.isSuccess == true)
      ended.open()
    }
    await waits.opened()
    mayEnd.open()
    await ended.opened()
    // The other lanes run beside that one.
    #expect(await dispatcher.drain().isComplete)
    #expect(store.model == 102)
  }
}

private struct PlainAction: ActionType {}

/// A key whose release dispatches.
private final class DispatchingKey: Hashable, Sendable {
  private let number: Int
  private let dispatcher: Dispatcher
  private let released: EventCount

  init(number: Int, _ dispatcher: Dispatcher, _ released: EventCount) {
    (self.number, self.dispatcher, self.released) = (number, dispatcher, released)
  }

  static func == (left: DispatchingKey, right: DispatchingKey) -> Bool {
    left.number == right.number
  }

  func hash(into hasher: inout Hasher) { hasher.combine(number) }

  deinit {
    dispatcher.dispatch(PlainAction(), mode: .sync)
    released.add()
  }
}

private final class PlainReducer: Reducer<Int, PlainAction> {
  override func reduce(into model: inout Int, action: PlainAction) {
    model += 1
  }
}

private struct LifetimeAction: ActionType {}

private final class LifetimeReducer: Reducer<Int, LifetimeAction> {
  private let hasBegun: Latch
  private let mayEnd: Latch

  init(hasBegun: Latch, mayEnd: Latch) {
    self.hasBegun = hasBegun
    self.mayEnd = mayEnd
  }

  override func operation(
    for action: LifetimeAction, in store: Store<Int, LifetimeAction>
  ) -> ActionOperation<Int, LifetimeAction> {
    ActionOperation(action: action, store: store) { [hasBegun, mayEnd] _, store in
      hasBegun.open()
      await mayEnd.opened()
      store.updateModel { $0 += 1 }
    }
  }
}
