import DispatchStore

/// A program with types of its own that have the names of the library's, which it writes with a module selector.
enum ModuleSelectors {
  struct Store {}
  struct Reducer {}

  struct Action: DispatchStore::ActionType {}

  final class Counting: DispatchStore::Reducer<Int, Action> {
    override func reduce(into model: inout Int, action: Action) { model += 1 }
  }

  static func run() -> Int {
    let dispatcher = DispatchStore::Dispatcher(name: "selectors")
    let store = DispatchStore::Store<Int, Action>(
      identifier: "count", model: 0, reducer: Counting())
    dispatcher.register(store: store)
    dispatcher.dispatch(Action(), mode: .sync)
    return store.model
  }
}
