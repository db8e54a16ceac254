import DispatchStore
import Testing

@Suite struct DispatcherLifetimeTests {
  @Test(.timeLimit(.minutes(5)), arguments: [.async, .mainThread] + [Dispatcher.Mode.serial])
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
