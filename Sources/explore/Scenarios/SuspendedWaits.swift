import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Two dispatchers on one queue of width one, whose blocks wait for each other's dispatches while the queue is suspended and
  /// resumed.
  static let suspendedWaits = Scenario(
    name: "suspended-waits",
    summary: "what a thread waits for runs once the queue is resumed, whoever has queued it"
  ) { dispatcher, simulation in
    dispatcher.queue.maxConcurrentOperationCount = 1
    let other = simulation.makeDispatcher(name: "other", queue: dispatcher.queue)
    let (first, second) = (Shared([Int]()), Shared([Int]()))
    dispatcher.makeStore("here", of: Visit.self) { $0.operation(in: $1, first, other) }
    other.makeStore("there", of: Visit.self) { $0.operation(in: $1, second, dispatcher) }
    async let control: Void = {
      for _ in 0..<2 {
        dispatcher.queue.isSuspended = true
        dispatcher.queue.isSuspended = false
      }
    }()
    async let one = dispatcher.dispatch(action: Visit.blocks(1)).result
    async let two = dispatcher.dispatch(action: Visit.blocksHere(2)).result
    async let three = other.dispatch(action: Visit.waits(3), mode: .serial(lane: "x")).result
    for result in await [one, two, three] { try check(result.isSuccess, "\(result)") }
    await control
    let (here, there) = (first.now, second.now)
    try check(here.sorted() == [1, 2, 12, 13], "here: \(here)")
    try check(there.sorted() == [3, 11], "there: \(there)")
    dispatcher.unregister(storeIdentifier: "here")
    other.unregister(storeIdentifier: "there")
  }
}

private enum Visit: ActionType {
  /// Awaits a dispatch in the other dispatcher's default lane.
  case waits(Int)
  /// Waits for such a dispatch by `.sync`.
  case blocks(Int)
  /// Waits by `.sync` for a dispatch on the concurrent queue, in its own dispatcher.
  case blocksHere(Int)
  case ends(Int)

  func operation(
    in store: Store<Journal, Visit>, _ done: Shared<[Int]>, _ other: Dispatcher
  ) -> ActionOperation<Journal, Visit> {
    let here = store.dispatcher!
    switch self {
    case .waits(let number):
      return ActionOperation(action: self, store: store) { _, _ async in
        let result = await other.dispatch(action: Visit.ends(number + 10), mode: .serial).result
        done.append(result.isSuccess ? number : -number)
      }
    case .blocks(let number):
      return ActionOperation(action: self, store: store) { _, _ in
        Self.block(number, other, .serial, done)
      }
    case .blocksHere(let number):
      return ActionOperation(action: self, store: store) { _, _ in
        Self.block(number, here, .async, done)
      }
    case .ends(let number):
      return ActionOperation(action: self, store: store) { _, _ in done.append(number) }
    }
  }

  private static func block(
    _ number: Int, _ dispatcher: Dispatcher, _ mode: Dispatcher.Mode, _ done: Shared<[Int]>
  ) {
    let awaited = dispatcher.dispatch(action: Visit.ends(number + 10), mode: mode)
    let result = dispatcher.dispatch(actions: [], mode: .sync, options: .after(awaited))
    done.append(result.resultIfEnded?.isSuccess == true ? number : -number)
  }
}
