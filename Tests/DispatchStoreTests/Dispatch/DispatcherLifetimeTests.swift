import DispatchStore
import Testing

@Suite struct DispatcherLifetimeTests {
  @Test(.timeLimit(.minutes(10)), arguments: [.async, .mainThread] + [Dispatcher.Mode.serial])
  func aDispatcherThatIsDroppedLivesOnUntilItsWorkHasEnded(mode: Dispatcher.Mode) async {
    let (hasBegun, mayEnd) = (Latch(), Latch())
    weak var dropped: Dispatcher?
    let handles: [DispatchHandle]
    let store: Stage
    let held = Script.suspends { store in
      hasBegun.open()
      await mayEnd.opened()
      store.updateModel { $0.append("ended") }
    }
    do {
      let dispatcher = Dispatcher(name: "dropped")
      dropped = dispatcher
      store = dispatcher.addStage()
      handles = (0..<3).map { _ in dispatcher.dispatch(action: held, mode: mode) }
    }
    await hasBegun.opened()
    #expect(dropped != nil)
    mayEnd.open()
    for handle in handles { #expect(await handle.result.isSuccess) }
    #expect(store.model.count == 3)
  }

  @Test(
    .timeLimit(.minutes(10)),
    arguments: [Dispatcher.Mode.async, .serial, .serial(lane: 1), .mainThread])
  func aDispatcherThatIsDroppedLivesOnUntilWhatWaitsForAnotherHasEnded(mode: Dispatcher.Mode) async
  {
    let (hasBegun, mayEnd) = (Latch(), Latch())
    let other = makeStage(Dispatcher(name: "other")).dispatcher
    let first = other.dispatch(action: Script.holds(opening: hasBegun, until: mayEnd))
    let store: CounterStore
    let handles: [DispatchHandle]
    do {
      let dispatcher = Dispatcher(name: "dropped")
      store = dispatcher.register(store: .counter())
      handles = (0..<3).map { _ in
        dispatcher.dispatch(action: CounterAction.add(1), mode: mode, options: .after(first))
      }
    }
    await hasBegun.opened()
    handles[1].cancel()
    mayEnd.open()
    for (index, handle) in handles.enumerated() {
      #expect(await handle.result.isSuccess == (index != 1))
    }
    #expect(store.model.count == 2)
  }

  enum KeyUse: CaseIterable {
    case send, dispatch, list
  }

  @Test(arguments: KeyUse.allCases)
  func aLanesKeyMayDispatchWhenItIsReleased(use: KeyUse) async {
    let count = Load.count(500)
    let (dispatcher, released) = (Dispatcher(name: "lanes"), EventCount(of: 4 * count))
    dispatcher.register(.after(CounterAction.self) { _, _ in })
    let store = dispatcher.register(store: .counter())
    await withDiscardingTaskGroup { group in
      for task in 0..<4 {
        group.addTask {
          for number in 0..<count {
            let key = DispatchingKey(number: 4 * number + task, dispatcher, released)
            switch use {
            case .send: await store.send(.add(1), mode: .serial(lane: key))
            case .dispatch: await store.dispatch(.add(1), mode: .serial(lane: key)).ended()
            case .list:
              let actions = [CounterAction.add(1), .add(1)]
              await dispatcher.dispatch(actions: actions, mode: .serial(lane: key)).ended()
            }
          }
        }
      }
    }
    await released.full()
    #expect(await dispatcher.drain().isComplete)
    #expect(store.model.count == (use == .list ? 12 : 8) * count)
  }

  @Test func aSynchronousDispatchKeepsNothingOfTheLaneThatItsRecordWasUsedIn() async {
    let (waits, mayEnd, ended) = (Latch(), Latch(), Latch())
    let (dispatcher, action) = (Dispatcher(name: "dispatcher"), CounterAction.add(1))
    let store = dispatcher.register(store: .counter())
    // On the pool's thread, whose spare records have run in lanes that have gone.
    for lane in 0..<100 { dispatcher.dispatch(action: action, mode: .serial(lane: lane)) }
    let first = dispatchElsewhere(until: mayEnd)
    dispatcher.dispatch(action: action, mode: .serial(lane: "last")) {
      waits.open()
      let handle = dispatcher.dispatch(action: action, mode: .sync, options: .after(first))
      #expect(handle.resultIfEnded?.isSuccess == true)
      ended.open()
    }
    await waits.opened()
    mayEnd.open()
    await ended.opened()
    // The other lanes run beside that one.
    #expect(await dispatcher.drain().isComplete)
    #expect(store.model.count == 102)
  }
}

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
    dispatcher.dispatch(CounterAction.add(1), mode: .sync)
    released.add()
  }
}
